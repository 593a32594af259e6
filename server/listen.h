// Addresses to listen on.
#ifndef GLINT_SERVER_LISTEN_H_
#define GLINT_SERVER_LISTEN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace glint {

// INVALID_ARGUMENT unless `address` is "HOST:PORT" with a port in 0..65535 (HOST may be "[::1]").
absl::Status CheckTcpAddress(absl::string_view flag, absl::string_view address);
// The same, and "unix:PATH" is good too.
absl::Status CheckListenAddress(absl::string_view flag, absl::string_view address);

// UNAVAILABLE, with the reason, if `address` can't be listened on at this moment; asked because gRPC tells a log only.
// A unix socket that nobody listens on any more is no obstacle: gRPC replaces it.
absl::Status CheckCanListen(const std::string& address);

bool IsUnixAddress(absl::string_view address);
// PATH of "unix:PATH".
absl::string_view UnixPathOf(absl::string_view unix_address);
// Whether only this machine can reach it: a unix socket, "localhost", or a loopback address in numbers.
bool IsLoopbackAddress(absl::string_view address);
// Whether a peer, in gRPC's words, came through a unix socket.
bool IsUnixPeer(absl::string_view peer);
// Whether it is on this machine: through a unix socket, a loopback address, or in this process.
bool IsLoopbackPeer(absl::string_view peer);
// Beside a "unix:PATH": the path of the socket where clients hand memory over.
std::string HandoffPath(absl::string_view unix_address);
// "HOST:PORT" with another port.
std::string WithPort(const std::string& address, int port);

}  // namespace glint

#endif  // GLINT_SERVER_LISTEN_H_
