#include "server/net/tls.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "features/read_file.h"
#include "features/status_macros.h"
#include "server/net/certificate.h"
#include "server/net/handshake.h"

namespace glint {
namespace {

constexpr absl::string_view kCertificateFlag = "tls-certificate", kKeyFlag = "tls-key", kClientCaFlag = "tls-client-ca";

absl::StatusOr<std::string> Read(absl::string_view flag, const std::string& path) {
  auto text = ReadWholeFile(path);
  if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat(flag, ": ", text.status().message()));
  return text;
}

// The earliest end of the certificates in a file, which is after `now`.
absl::StatusOr<absl::Time> Expiry(const PemFile& file, absl::Time now) {
  const auto expiry = CertificateExpiry(file.text);
  const std::string where = absl::StrCat(file.flag, ": ", file.path);
  if (!expiry.ok()) return absl::InvalidArgumentError(absl::StrCat(where, ": ", expiry.status().message()));
  if (*expiry > now) return *expiry;
  return absl::InvalidArgumentError(
      absl::StrCat(where, " has expired at ", absl::FormatTime(*expiry, absl::UTCTimeZone())));
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

absl::StatusOr<TlsTexts> ReadTlsFiles(const TlsFiles& files) {
  TlsTexts texts;
  GLINT_ASSIGN_OR_RETURN(texts.key, Read(kKeyFlag, files.key));
  GLINT_ASSIGN_OR_RETURN(texts.certificate, Read(kCertificateFlag, files.certificate));
  if (files.client_ca.empty()) return texts;
  GLINT_ASSIGN_OR_RETURN(texts.client_ca, Read(kClientCaFlag, files.client_ca));
  return texts;
}

absl::StatusOr<absl::Time> CheckTlsTexts(const TlsFiles& files, const TlsTexts& texts, absl::Time now) {
  const PemFile certificate = {kCertificateFlag, files.certificate, texts.certificate};
  const PemFile key = {kKeyFlag, files.key, texts.key};
  if (!absl::StrContains(key.text, "PRIVATE KEY-----")) {
    return absl::InvalidArgumentError(absl::StrCat("tls-key: ", files.key, ": no \"PRIVATE KEY\" in it"));
  }
  GLINT_ASSIGN_OR_RETURN(const absl::Time expiry, Expiry(certificate, now));
  GLINT_RETURN_IF_ERROR(CheckHandshake(certificate, key, now));
  if (files.client_ca.empty()) return expiry;
  const PemFile authorities = {kClientCaFlag, files.client_ca, texts.client_ca};
  GLINT_RETURN_IF_ERROR(Expiry(authorities, now).status());
  GLINT_RETURN_IF_ERROR(CheckAuthorities(authorities));
  return expiry;
}

absl::StatusOr<absl::Time> CheckTlsFiles(const TlsFiles& files, absl::Time now) {
  GLINT_ASSIGN_OR_RETURN(const TlsTexts texts, ReadTlsFiles(files));
  return CheckTlsTexts(files, texts, now);
}

}  // namespace glint
