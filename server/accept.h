// Taking connections in a process that may have no descriptors left: those that it cannot have are refused, so that
// their clients get an end instead of silence and try again.
#ifndef GLINT_SERVER_ACCEPT_H_
#define GLINT_SERVER_ACCEPT_H_

#include <sys/socket.h>

namespace glint {

// accept4(2), but: a connection that ended before it was taken is passed over, and without free descriptors
// connections are closed, with the help of one descriptor that the process keeps in reserve. -1 with EAGAIN also where
// not even that could be done. Thread-safe.
int AcceptOrRefuse(int listener, sockaddr* address, socklen_t* length, int flags);

// The next connection of a non-blocking listener that poll() found ready: non-blocking, closed on exec. -1: none, and
// if that is for want of descriptors or memory, some time has passed, since poll() would find the listener ready again
// at once. Thread-safe.
int AcceptPolled(int listener);

}  // namespace glint

#endif  // GLINT_SERVER_ACCEPT_H_
