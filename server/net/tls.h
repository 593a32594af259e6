// The files of a server's TLS: what they are, and whether clients could connect with them.
#ifndef GLINT_SERVER_NET_TLS_H_
#define GLINT_SERVER_NET_TLS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace glint {

// Names of PEM files, for the server's TCP addresses. Unix sockets have no TLS: permissions of their folder control
// access. The files may change while the server runs (server/net/tls_reloader.h).
struct TlsFiles {
  std::string certificate;  // the server's own, then the chain up to the root, if it needs one; empty: no TLS
  std::string key;
  std::string client_ca;  // empty: clients need no certificate; else one that this authority has signed

  bool enabled() const { return !certificate.empty(); }
};

// What the files hold.
struct TlsTexts {
  std::string certificate, key, client_ca;
};
inline bool operator==(const TlsTexts& a, const TlsTexts& b) {
  return a.certificate == b.certificate && a.key == b.key && a.client_ca == b.client_ca;
}

// INVALID_ARGUMENT unless the names go together.
absl::Status ValidateTlsFiles(const TlsFiles& files);

// INVALID_ARGUMENT names the flag and the file that cannot be read.
absl::StatusOr<TlsTexts> ReadTlsFiles(const TlsFiles& files);

// Checks that clients can connect to a server with these texts, the certificate together with its key, and returns the
// earliest end of the certificate and its chain. INVALID_ARGUMENT names flag, file and reason: no certificate in it,
// expired, the key of another certificate, or what makes a handshake fail. `files`: where the texts are from.
absl::StatusOr<absl::Time> CheckTlsTexts(const TlsFiles& files, const TlsTexts& texts, absl::Time now);

// Both.
absl::StatusOr<absl::Time> CheckTlsFiles(const TlsFiles& files, absl::Time now);

}  // namespace glint

#endif  // GLINT_SERVER_NET_TLS_H_
