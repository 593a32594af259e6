// Takes regions of memory from clients, by the protocol in proto/handoff.h. What comes in is not trusted.
#ifndef GLINT_SERVER_SHM_HANDOFF_H_
#define GLINT_SERVER_SHM_HANDOFF_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/shm/shared_memory.h"

namespace glint {

// One thread serves all connections; it never waits for one of them.
class Handoff {
 public:
  // Listens at `path`, where a socket that nobody listens on any more is replaced. At most `max_connections` at a time;
  // others are refused, and those of users whom `admit` refuses, by its status; it is called on a thread of this.
  // UNAVAILABLE names the path and the reason. `memory` must outlive this.
  using Admit = std::function<absl::Status(int fd)>;
  static absl::StatusOr<std::unique_ptr<Handoff>> Start(const std::string& path, int max_connections,
                                                        SharedMemory* memory, Admit admit = nullptr);
  // Closes all connections, so that their regions are dropped, and removes the socket.
  ~Handoff();
  Handoff(const Handoff&) = delete;
  Handoff& operator=(const Handoff&) = delete;

  const std::string& path() const { return path_; }

 private:
  struct Connection {
    int fd;
    absl::Time deadline;  // for its request
    std::string token;    // once it has handed over
  };

  Handoff(std::string path, int listener, int stop, int max_connections, SharedMemory* memory, Admit admit);
  void Main();
  void Accept();
  // False when the connection has to be closed.
  bool Serve(Connection* connection);
  void Close(Connection* connection);

  const std::string path_;
  const int listener_;
  const int stop_;  // an eventfd
  const size_t max_connections_;
  SharedMemory* const memory_;
  const Admit admit_;                    // may be null
  std::vector<Connection> connections_;  // the thread's
  std::thread thread_;
};

}  // namespace glint

#endif  // GLINT_SERVER_SHM_HANDOFF_H_
