// Where a view listens, and whose requests it answers.
#ifndef GLINT_CLIENT_VIEW_BASE_ADDRESS_H_
#define GLINT_CLIENT_VIEW_BASE_ADDRESS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint::view {

struct Address {
  std::string name;               // as given, without brackets; "127.0.0.1" if none was
  std::string ip;                 // numeric, without brackets
  int port = 0;                   // 0: any that is free
  std::string option = "--view";  // that it was given by, for errors

  // "127.0.0.1:8017", "[::1]:8017"
  std::string text() const;
};

// Of `option`: "HOST:PORT", "[IPV6]:PORT", ":PORT" or "PORT"; without a host, loopback. INVALID_ARGUMENT says what is
// wrong.
absl::StatusOr<Address> ParseAddress(absl::string_view option, absl::string_view text);

// A socket that listens there, and the port that it got. ALREADY_EXISTS: another program listens there; else
// INVALID_ARGUMENT. Both say what to do.
absl::StatusOr<int> Listen(Address* address);

// Whether a request with this Host header may be answered. A page of another site can reach a view on loopback under a
// name of its own that it resolves to 127.0.0.1 (DNS rebinding), but it cannot make the browser send a numeric host, or
// "localhost", or the name that the view was given.
bool IsAllowedHost(const Address& address, absl::string_view host);

// Whether a WebSocket with this Origin header may be opened by a request to `host`: of the same site, or without one,
// as programs send it.
bool IsAllowedOrigin(absl::string_view origin, absl::string_view host);

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_BASE_ADDRESS_H_
