// accept4() of glint-server, in place of the C library's: a process without free descriptors refuses connections and
// goes on. gRPC 1.51 stops listening for good at the first error that it does not expect, and "too many open files" is
// one. So one descriptor is kept in reserve, to take a connection with and close it: its client gets an end instead of
// silence, and tries again.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

namespace {

int Reserve() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

std::mutex mutex;
int reserve = Reserve();  // guarded by mutex; -1: there was none to be had

int Accept(int fd, sockaddr* address, socklen_t* length, int flags) {
  return static_cast<int>(syscall(SYS_accept4, fd, address, length, flags));
}

// Takes the next connection by the reserve and closes it. False if there was none, or no reserve.
bool RefuseOne(int fd) {
  std::lock_guard<std::mutex> lock(mutex);
  if (reserve >= 0) close(reserve);
  const int refused = Accept(fd, nullptr, nullptr, SOCK_CLOEXEC);
  if (refused >= 0) close(refused);
  reserve = Reserve();
  return refused >= 0;
}

// Errors of one connection, which ended before it was taken: accept(2) says to try again.
bool IsOfTheConnection(int error) {
  switch (error) {
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EPERM:
      return true;
    default:
      return false;
  }
}

}  // namespace

extern "C" int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  for (;;) {
    const int accepted = Accept(fd, address, length, flags);
    if (accepted >= 0) return accepted;
    if (IsOfTheConnection(errno)) continue;
    if ((errno == EMFILE || errno == ENFILE) && RefuseOne(fd)) continue;
    // Not even that: the next connection wakes the caller again.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) errno = EAGAIN;
    return -1;
  }
}
