// Accepts connections when the process may be out of file descriptors. A connection that cannot be kept is closed at
// once, so that its client sees an error and retries instead of waiting.
#ifndef GLINT_SERVER_NET_ACCEPT_H_
#define GLINT_SERVER_NET_ACCEPT_H_

#include <sys/socket.h>

namespace glint {

// Like accept4(2), except that connections which ended before they were accepted are skipped, and connections are
// closed when no descriptor is free (the process keeps one in reserve for this). Returns -1 with EAGAIN if even that
// fails. Thread-safe.
int AcceptOrRefuse(int listener, sockaddr* address, socklen_t* length, int flags);

// Accepts the next connection of a non-blocking listener that poll() reported ready. The descriptor is non-blocking and
// close-on-exec. Returns -1 if there is none. If the reason is a lack of descriptors or memory, the call first waits a
// moment, because poll() would report the listener ready again at once. Thread-safe.
int AcceptPolled(int listener);

}  // namespace glint

#endif  // GLINT_SERVER_NET_ACCEPT_H_
