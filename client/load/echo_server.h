// A bare gRPC server: what moving the bytes costs, with nothing done to them. The floor under a Glint server.
#ifndef GLINT_CLIENT_LOAD_ECHO_SERVER_H_
#define GLINT_CLIENT_LOAD_ECHO_SERVER_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace glint::load {

inline constexpr char kEchoMethod[] = "/glint.Echo/Stream";

// Answers every message of a stream but the first with the bytes of the first: replies of the size that the
// client chooses, so that they cost as much as those of the server that it is compared with. Transport, window, threads
// and completion queues are those of a Glint server; messages are neither copied nor parsed. Thread-safe.
class EchoServer {
 public:
  // `listen` as --listen of a server. UNAVAILABLE when that is not to be had. A thread computes for `work` before each
  // reply.
  static absl::StatusOr<std::unique_ptr<EchoServer>> Start(const std::string& listen,
                                                           absl::Duration work = absl::ZeroDuration());
  ~EchoServer();  // ends all calls
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  // Addresses that clients can use.
  const std::string& address() const { return address_; }

 private:
  EchoServer() = default;

  grpc::AsyncGenericService service_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::vector<std::thread> threads_;
};

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_ECHO_SERVER_H_
