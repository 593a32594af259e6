// TLS of the server's TCP addresses. Unix sockets have none: permissions of their folder control access.
#ifndef GLINT_SERVER_NET_TLS_H_
#define GLINT_SERVER_NET_TLS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace grpc {
class ServerCredentials;
}

namespace glint {

// Names of PEM files. The files are reloaded when they change, so that certificates are renewed without a restart.
struct TlsFiles {
  std::string certificate;  // with the chain up to the root, if it needs one; empty: no TLS
  std::string key;
  std::string client_ca;  // empty: clients need no certificate; else one that this authority has signed

  bool enabled() const { return !certificate.empty(); }
};

// INVALID_ARGUMENT unless the names go together.
absl::Status ValidateTlsFiles(const TlsFiles& files);

// Checks that a server can start with these files. The error says why not: unreadable, no certificate in it, expired.
absl::Status CheckTlsFiles(const TlsFiles& files, absl::Time now);

// Expiry of the server's certificate in the current file.
absl::StatusOr<absl::Time> TlsExpiry(const TlsFiles& files);

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsFiles& files);

// Lines of /metrics about the certificate; none without TLS, and no value while the file cannot be read.
std::string TlsMetrics(const TlsFiles& files);

}  // namespace glint

#endif  // GLINT_SERVER_NET_TLS_H_
