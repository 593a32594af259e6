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
//  * any of 127.0.0.0/8, ::1 -> "loopback", since each process of this machine may use all of them;
//  * "unix:...", "fd:7" (UnixListener) -> "unix sockets"; Gate names their users;
//  * anything else is this process itself: "".
std::string PeerOf(absl::string_view grpc_peer);

// The network that all peers of one site may come from: "2001:db8:1::/48" of "2001:db8:1:2::/64", since a site may have
// as many /64 as it likes. Any other name is a site by itself.
std::string SiteOf(const std::string& peer);

}  // namespace glint

#endif  // GLINT_SERVER_RPC_PEER_H_
