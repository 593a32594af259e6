// Parsing and checking of listen addresses.
#ifndef GLINT_SERVER_NET_LISTEN_H_
#define GLINT_SERVER_NET_LISTEN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace glint {

// INVALID_ARGUMENT unless `address` is "HOST:PORT" with a port in 0..65535 (HOST may be "[::1]").
absl::Status CheckTcpAddress(absl::string_view flag, absl::string_view address);
// CheckTcpAddress() that also accepts "unix:PATH".
absl::Status CheckListenAddress(absl::string_view flag, absl::string_view address);

// UNAVAILABLE, with the reason, if `address` cannot be bound now; gRPC itself reports the reason only in its log. A
// stale unix socket file is not an error, because gRPC replaces it.
absl::Status CheckCanListen(const std::string& address);

bool IsUnixAddress(absl::string_view address);
// PATH of "unix:PATH".
absl::string_view UnixPathOf(absl::string_view unix_address);
// True if the address is local to this machine: a unix socket, "localhost", or a numeric loopback address.
bool IsLoopbackAddress(absl::string_view address);
// True if a peer, in gRPC's notation, is connected through a unix socket.
bool IsUnixPeer(absl::string_view peer);
// True if the peer is on this machine: unix socket, loopback address, or in process.
bool IsLoopbackPeer(absl::string_view peer);
// Path of the socket for the hand-off of shared memory, for "unix:PATH".
std::string HandoffPath(absl::string_view unix_address);
// `address`, a "HOST:PORT", with another port.
std::string WithPort(const std::string& address, int port);

}  // namespace glint

#endif  // GLINT_SERVER_NET_LISTEN_H_
