// accept4() of glint-server, in place of the C library's: gRPC 1.51 stops listening for good at the first error that it
// does not expect, and "too many open files" is one; and it has no limit for connections.
#include <unistd.h>

#include "server/net/accept.h"
#include "server/net/connections.h"

extern "C" int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  const socklen_t room = length == nullptr ? 0 : *length;
  for (;;) {
    if (length != nullptr) *length = room;
    const int accepted = glint::AcceptOrRefuse(fd, address, length, flags);
    if (accepted < 0 || glint::AdmitConnection(accepted)) return accepted;
    close(accepted);
  }
}
