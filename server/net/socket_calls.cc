// recvmsg(), sendmsg() and close() of glint-server, in place of the C library's: gRPC 1.51 reads, writes and closes its
// sockets by them alone.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "server/net/connections.h"

namespace {

[[maybe_unused]] const bool watched = glint::ConnectionsAreWatched();

}  // namespace

extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const ssize_t count = syscall(SYS_recvmsg, fd, message, flags);
  if ((flags & MSG_ERRQUEUE) != 0 || glint::ReceivedOn(fd, *message, count)) return count;
  errno = ECONNRESET;
  return -1;
}

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const ssize_t count = syscall(SYS_sendmsg, fd, message, flags);
  glint::SentOn(fd, *message, count);
  return count;
}

extern "C" int close(int fd) {
  glint::ClosingConnection(fd);
  return static_cast<int>(syscall(SYS_close, fd));
}
