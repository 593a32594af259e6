// Checks of certificates and keys by OpenSSL, up to a TLS handshake of a server with itself in memory. Thread-safe.
#ifndef GLINT_SERVER_NET_HANDSHAKE_H_
#define GLINT_SERVER_NET_HANDSHAKE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace glint {

// A text of PEM blocks, and what errors call it.
struct PemFile {
  absl::string_view flag;
  absl::string_view path;
  const std::string& text;
};

// Tries what every client does: INVALID_ARGUMENT, with flag, path and reason, unless `key` can be read without a
// password and belongs to the first certificate, and a client that trusts this certificate completes a handshake at
// `now`. Whether clients trust it, and the names in it, are up to them.
absl::Status CheckHandshake(const PemFile& certificate, const PemFile& key, absl::Time now);

// INVALID_ARGUMENT unless OpenSSL reads every certificate of the file, of which there is at least one.
absl::Status CheckAuthorities(const PemFile& authorities);

}  // namespace glint

#endif  // GLINT_SERVER_NET_HANDSHAKE_H_
