// How a client hands a region of memory to a server on the same machine, which gRPC cannot do: over a unix socket of
// type SOCK_SEQPACKET whose path is that of the server's gRPC socket with ".shm" behind it.
//
//   client -> server   HandoffRequest, with one descriptor (SCM_RIGHTS) of a memfd that is sealed with
//                      F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_SEAL
//   server -> client   HandoffReply
//
// One region a connection. The token then registers the region under a name (RegisterSharedMemory); the region is the
// server's until the connection is closed, by whichever end or by a process that dies. Numbers are in the machine's
// byte order.
#ifndef GLINT_PROTO_HANDOFF_H_
#define GLINT_PROTO_HANDOFF_H_

#include <cstdint>

namespace glint {

inline constexpr char kHandoffMagic[8] = {'G', 'l', 'i', 'n', 't', 'S', 'M', '1'};
inline constexpr char kHandoffSuffix[] = ".shm";
inline constexpr int kTokenBytes = 16;

struct HandoffRequest {
  char magic[8];
  uint64_t bytes;  // the memfd's size
};
static_assert(sizeof(HandoffRequest) == 16, "as on the wire");

struct HandoffReply {
  char magic[8];
  int32_t code;  // a canonical gRPC status code
  uint8_t token[kTokenBytes];
  char message[228];  // of an error, with a 0 behind it
};
static_assert(sizeof(HandoffReply) == 256, "as on the wire");

}  // namespace glint

#endif  // GLINT_PROTO_HANDOFF_H_
