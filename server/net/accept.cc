#include "server/net/accept.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "absl/time/clock.h"

namespace glint {
namespace {

// Pause of a process without free descriptors.
constexpr absl::Duration kBreath = absl::Milliseconds(50);

int OpenReserve() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

std::mutex reserve_mutex;
int reserve = OpenReserve();  // guarded by reserve_mutex; -1: there was none to be had

// Not the function of that name, which in glint-server is AcceptOrRefuse().
int SystemAccept(int listener, sockaddr* address, socklen_t* length, int flags) {
  return static_cast<int>(syscall(SYS_accept4, listener, address, length, flags));
}

// Accepts the next connection with the reserve and closes it. False if there was none, or no reserve.
bool RefuseOne(int listener) {
  std::lock_guard<std::mutex> lock(reserve_mutex);
  if (reserve >= 0) close(reserve);
  const int refused = SystemAccept(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (refused >= 0) close(refused);
  reserve = OpenReserve();
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

int AcceptOrRefuse(int listener, sockaddr* address, socklen_t* length, int flags) {
  for (;;) {
    const int accepted = SystemAccept(listener, address, length, flags);
    if (accepted >= 0) return accepted;
    if (IsOfTheConnection(errno)) continue;
    if ((errno == EMFILE || errno == ENFILE) && RefuseOne(listener)) continue;
    // Even the reserve failed: the next connection wakes the caller again.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) errno = EAGAIN;
    return -1;
  }
}

int AcceptPolled(int listener) {
  const int accepted = AcceptOrRefuse(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  pollfd again = {listener, POLLIN, 0};
  if (accepted < 0 && poll(&again, 1, 0) != 0) absl::SleepFor(kBreath);
  return accepted;
}

}  // namespace glint
