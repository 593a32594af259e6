// Why a server cannot be reached, for the errors of Client::Connect(). Internal to the library.
#ifndef GLINT_CLIENT_CONNECT_ERROR_H_
#define GLINT_CLIENT_CONNECT_ERROR_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/client.h"

namespace glint::client {

// INVALID_ARGUMENT, which begins with `field`, unless `address` is "HOST:PORT" with a port in 1..65535, "unix:PATH", or
// one of gRPC's that names its kind ("dns:", "ipv4:", "ipv6:", "unix-abstract:", "vsock:", "xds:").
absl::Status CheckAddress(absl::string_view field, absl::string_view address);

// Looks, by a connection of its own, at the server to which gRPC has failed to connect, and says what is wrong:
// "Connection refused", or "the server's certificate is not for \"localhost\"". gRPC 1.51 tells no reason of failed
// handshakes. Of several servers the first is looked at. Takes two seconds at most once the name is resolved. Empty:
// nothing is seen.
std::string WhyNotConnected(const std::string& address, const std::optional<TlsOptions>& tls);

}  // namespace glint::client

#endif  // GLINT_CLIENT_CONNECT_ERROR_H_
