// Unix sockets whose connections this process accepts itself and hands to gRPC, which does not say which user is at the
// other end of one that it has accepted.
#ifndef GLINT_SERVER_ACCESS_UNIX_LISTENER_H_
#define GLINT_SERVER_ACCESS_UNIX_LISTENER_H_

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
  // Accepts connections at `path`, where a socket that nobody listens on any more is replaced, and passes them to
  // `take`, on a thread of its own: connected, non-blocking descriptors that are the taker's. UNAVAILABLE names the
  // path and the reason.
  static absl::StatusOr<std::unique_ptr<UnixListener>> Start(const std::string& path, std::function<void(int fd)> take);
  // No more connections; removes the socket.
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

// The user of the process that connected, for a peer that gRPC calls by its descriptor ("fd:7"), as it does with those
// of a UnixListener; nothing for others. The descriptor is that of the connection as long as a call of it exists: gRPC
// closes it with the transport, which its calls keep.
std::optional<uint32_t> UserOfPeer(absl::string_view grpc_peer);

// The same for any connected unix socket.
std::optional<uint32_t> UserOf(int fd);

}  // namespace glint

#endif  // GLINT_SERVER_ACCESS_UNIX_LISTENER_H_
