// TLS of the server's TCP addresses. Unix sockets have none: who may open them is the folder's business.
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

// Names of PEM files. They are read again when they change, so that a certificate is renewed without a restart.
struct TlsFiles {
  std::string certificate;  // with the chain up to the root, if it needs one; empty: no TLS
  std::string key;
  std::string client_ca;  // empty: clients need no certificate; else one that this authority has signed

  bool enabled() const { return !certificate.empty(); }
};

// INVALID_ARGUMENT unless the names go together.
absl::Status ValidateTlsFiles(const TlsFiles& files);

// OK, or why a server cannot begin with these files: unreadable, no certificate in it, expired.
absl::Status CheckTlsFiles(const TlsFiles& files, absl::Time now);

// When the server's certificate ends, as its file is now.
absl::StatusOr<absl::Time> TlsExpiry(const TlsFiles& files);

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsFiles& files);

// The lines of /metrics about it; none without TLS, and no value while the file cannot be read.
std::string TlsMetrics(const TlsFiles& files);

}  // namespace glint

#endif  // GLINT_SERVER_NET_TLS_H_
