#include "server/net/unix_listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/status_macros.h"
#include "features/thread.h"
#include "server/net/accept.h"
#include "server/net/connections.h"
#include "server/net/listen.h"

namespace glint {

absl::StatusOr<std::unique_ptr<UnixListener>> UnixListener::Start(const std::string& path,
                                                                  std::function<void(int fd)> take) {
  GLINT_RETURN_IF_ERROR(CheckCanListen(absl::StrCat("unix:", path)));
  unlink(path.c_str());  // what is there is a socket that nobody listens on
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0 || bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener, SOMAXCONN) != 0) {
    const absl::Status status =
        absl::UnavailableError(absl::StrCat("listen: cannot listen on unix:", path, ": ", std::strerror(errno)));
    if (listener >= 0) close(listener);
    return status;
  }
  const int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop < 0) {
    const absl::Status status =
        absl::UnavailableError(absl::StrCat("listen: cannot listen on unix:", path, ": ", std::strerror(errno)));
    close(listener);
    return status;
  }
  std::unique_ptr<UnixListener> started(new UnixListener(path, listener, stop, std::move(take)));
  GLINT_ASSIGN_OR_RETURN(started->thread_, StartThread("listen", [s = started.get()] { s->Main(); }));
  return started;
}

UnixListener::UnixListener(std::string path, int listener, int stop, std::function<void(int fd)> take)
    : path_(std::move(path)), listener_(listener), stop_(stop), take_(std::move(take)) {}

UnixListener::~UnixListener() {
  const uint64_t one = 1;
  (void)!write(stop_, &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
  close(listener_);
  close(stop_);
  unlink(path_.c_str());
}

void UnixListener::Main() {
  pollfd polled[] = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
  for (;;) {
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    const int fd = AcceptPolled(listener_);
    if (fd < 0) continue;
    if (AdmitConnection(fd)) {
      take_(fd);
    } else {
      close(fd);
    }
  }
}

std::optional<uint32_t> UserOf(int fd) {
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return std::nullopt;
  return credentials.uid;
}

std::optional<uint32_t> UserOfPeer(absl::string_view grpc_peer) {
  int fd = -1;
  if (!absl::ConsumePrefix(&grpc_peer, "fd:") || !absl::SimpleAtoi(grpc_peer, &fd)) return std::nullopt;
  return UserOf(fd);
}

}  // namespace glint
