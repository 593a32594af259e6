// Reads expiry dates from certificates, without a TLS library.
#ifndef GLINT_SERVER_NET_CERTIFICATE_H_
#define GLINT_SERVER_NET_CERTIFICATE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace glint {

// The earliest end of validity (RFC 5280, notAfter) of the certificates in a PEM text, which may be a chain.
// INVALID_ARGUMENT: there is none, or one that cannot be read.
absl::StatusOr<absl::Time> CertificateExpiry(absl::string_view pem);

}  // namespace glint

#endif  // GLINT_SERVER_NET_CERTIFICATE_H_
