#include "server/net/tls.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <fstream>
#include <iterator>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/status_macros.h"
#include "server/base/names.h"
#include "server/net/certificate.h"

namespace glint {
namespace {

constexpr unsigned kLookEverySeconds = 1;  // at files that may have changed

absl::StatusOr<std::string> Read(absl::string_view flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::InvalidArgumentError(absl::StrCat(flag, ": cannot read ", path));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Earliest expiry of the certificates in the file of `flag`.
absl::StatusOr<absl::Time> Expiry(absl::string_view flag, const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(const auto pem, Read(flag, path));
  auto expiry = CertificateExpiry(pem);
  if (expiry.ok()) return expiry;
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", path, ": ", expiry.status().message()));
}

}  // namespace

absl::Status ValidateTlsFiles(const TlsFiles& files) {
  if (files.certificate.empty() != files.key.empty()) {
    return absl::InvalidArgumentError("tls-certificate and tls-key: neither goes without the other");
  }
  if (!files.client_ca.empty() && !files.enabled()) {
    return absl::InvalidArgumentError("tls-client-ca: needs tls-certificate and tls-key");
  }
  return absl::OkStatus();
}

absl::Status CheckTlsFiles(const TlsFiles& files, absl::Time now) {
  GLINT_ASSIGN_OR_RETURN(const auto key, Read("tls-key", files.key));
  if (!absl::StrContains(key, "PRIVATE KEY-----")) {
    return absl::InvalidArgumentError(absl::StrCat("tls-key: ", files.key, ": no \"PRIVATE KEY\" in it"));
  }
  const std::tuple<const char*, const std::string&> certificates[] = {{"tls-certificate", files.certificate},
                                                                      {"tls-client-ca", files.client_ca}};
  for (const auto& [flag, path] : certificates) {
    if (path.empty()) continue;
    GLINT_ASSIGN_OR_RETURN(const auto expiry, Expiry(flag, path));
    if (expiry <= now) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": ", path, " has expired at ", absl::FormatTime(expiry, absl::UTCTimeZone())));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Time> TlsExpiry(const TlsFiles& files) { return Expiry("tls-certificate", files.certificate); }

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsFiles& files) {
  namespace tls = grpc::experimental;
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.client_ca, kLookEverySeconds));
  options.watch_identity_key_cert_pairs();
  if (!files.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(options);
}

std::string TlsMetrics(const TlsFiles& files) {
  if (!files.enabled()) return "";
  const metric::Name& name = metric::kTlsCertificateExpiry;
  std::string text = absl::StrCat("# HELP ", name.name, " ", name.help, "\n# TYPE ", name.name, " gauge\n");
  if (const auto expiry = TlsExpiry(files); expiry.ok()) {
    absl::StrAppendFormat(&text, "%s %d\n", name.name, absl::ToUnixSeconds(*expiry));
  }
  return text;
}

}  // namespace glint
