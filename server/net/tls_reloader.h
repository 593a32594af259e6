// TLS of a server whose certificate is renewed while it runs.
#ifndef GLINT_SERVER_NET_TLS_RELOADER_H_
#define GLINT_SERVER_NET_TLS_RELOADER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/net/tls.h"

namespace grpc {
class ServerCredentials;
}

namespace glint {

// New connections are served by the files as they were when they last passed CheckTlsTexts() together: while one is
// renewed and the other is not yet, what was there before stays. Files are looked at when a connection arrives or
// Metrics() is asked for, at most once a second. Thread-safe.
class TlsReloader {
 public:
  // Gets the end of a renewed certificate; or why changed files are not taken, once for each reason.
  using Report = std::function<void(const absl::StatusOr<absl::Time>& expiry)>;

  // INVALID_ARGUMENT: as of CheckTlsFiles().
  static absl::StatusOr<std::unique_ptr<TlsReloader>> Open(const TlsFiles& files, Report report);
  ~TlsReloader();
  TlsReloader(const TlsReloader&) = delete;
  TlsReloader& operator=(const TlsReloader&) = delete;

  // For any number of ports. Servers that have them must end before this object.
  std::shared_ptr<grpc::ServerCredentials> Credentials();

  // Lines of /metrics about the certificate that is served.
  std::string Metrics();

 private:
  class PortCredentials;
  struct Port;

  TlsReloader(TlsFiles files, Report report, TlsTexts texts, absl::Time expiry);
  // Takes the files if they have changed and pass; the mutex is held.
  void Look();

  const TlsFiles files_;
  const Report report_;

  std::mutex mutex_;  // of all below
  TlsTexts texts_;    // that are served
  absl::Time expiry_;
  int64_t generation_ = 1;  // of what is served
  absl::Time next_look_;    // of SteadyNow()
  absl::Status reported_;   // of the files that are there now
  std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace glint

#endif  // GLINT_SERVER_NET_TLS_RELOADER_H_
