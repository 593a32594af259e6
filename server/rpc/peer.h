// Identifies the peer of a call for per-peer limits.
#ifndef GLINT_SERVER_RPC_PEER_H_
#define GLINT_SERVER_RPC_PEER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace glint {

// Identity of the peer in grpc::ServerContext::peer(), without the parts that a client can choose:
//  * "ipv4:192.0.2.7:40000" -> "192.0.2.7";
//  * "ipv6:[2001:db8::7]:40000" (brackets may be percent-encoded) -> "2001:db8::/64", since a host may use any address
//    of its network;
//  * "unix:...", "fd:7" (UnixListener) -> "unix sockets";
//  * anything else is this process itself: "".
std::string PeerOf(absl::string_view grpc_peer);

}  // namespace glint

#endif  // GLINT_SERVER_RPC_PEER_H_
