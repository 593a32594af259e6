// accept4() of glint-server, in place of the C library's: gRPC 1.51 stops listening for good at the first error that it
// does not expect, and "too many open files" is one.
#include "server/net/accept.h"

extern "C" int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  return glint::AcceptOrRefuse(fd, address, length, flags);
}
