// Unix sockets whose connections this process accepts itself and passes to gRPC, because gRPC does not report the user
// at the other end of a connection that it accepted.
#ifndef GLINT_SERVER_NET_UNIX_LISTENER_H_
#define GLINT_SERVER_NET_UNIX_LISTENER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint {

class UnixListener {
 public:
  // Accepts connections at `path` on a thread of its own, replacing a stale socket file. `take` receives connected,
  // non-blocking descriptors and owns them. UNAVAILABLE names the path and the reason; RESOURCE_EXHAUSTED: no thread
  // can be made.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Start(const std::string& path, std::function<void(int fd)> take);
  // Stops accepting and removes the socket.
  ~UnixListener();
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

 private:
  UnixListener(std::string path, int listener, int stop, std::function<void(int fd)> take);
  void Main();

  const std::string path_;
  const int listener_;
  const int stop_;  // an eventfd
  const std::function<void(int fd)> take_;
  std::thread thread_;
};

// User id of the process at the other end of a connection of a UnixListener, whose peer gRPC names by its descriptor
// ("fd:7"); empty for other peers. The descriptor stays open as long as a call of the connection exists, because the
// calls keep the transport and gRPC closes the descriptor with the transport.
std::optional<uint32_t> UserOfPeer(absl::string_view grpc_peer);

// User id of the process at the other end of any connected unix socket.
std::optional<uint32_t> UserOf(int fd);

}  // namespace glint

#endif  // GLINT_SERVER_NET_UNIX_LISTENER_H_
