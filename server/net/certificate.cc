#include "server/net/certificate.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace glint {
namespace {

constexpr absl::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr absl::string_view kEnd = "-----END CERTIFICATE-----";

// Tags of X.690.
constexpr uint8_t kSequence = 0x30;
constexpr uint8_t kUtcTime = 0x17;
constexpr uint8_t kGeneralizedTime = 0x18;
constexpr uint8_t kVersion = 0xa0;  // [0], explicit

// Reader of the elements of a DER sequence.
class Der {
 public:
  explicit Der(absl::string_view bytes) : rest_(bytes) {}

  // Reads the next element's content and tag; false at the end, or if its length exceeds the sequence.
  bool Next(uint8_t* tag, absl::string_view* content) {
    if (rest_.size() < 2) return false;
    *tag = static_cast<uint8_t>(rest_[0]);
    size_t length = static_cast<uint8_t>(rest_[1]);
    size_t header = 2;
    if (length >= 0x80) {
      const size_t digits = length & 0x7f;
      if (digits == 0 || digits > 4 || rest_.size() < header + digits) return false;
      length = 0;
      for (size_t i = 0; i < digits; ++i) length = length << 8 | static_cast<uint8_t>(rest_[header + i]);
      header += digits;
    }
    if (length > rest_.size() - header) return false;
    *content = rest_.substr(header, length);
    rest_.remove_prefix(header + length);
    return true;
  }
  // Reads the next element if it has this tag.
  bool Expect(uint8_t wanted, absl::string_view* content) {
    uint8_t tag;
    return Next(&tag, content) && tag == wanted;
  }

 private:
  absl::string_view rest_;
};

// YYMMDDhhmmssZ or YYYYMMDDhhmmssZ.
bool ParseTime(uint8_t tag, absl::string_view text, absl::Time* time) {
  const size_t year_digits = tag == kUtcTime ? 2 : 4;
  if ((tag != kUtcTime && tag != kGeneralizedTime) || text.size() != year_digits + 11 || text.back() != 'Z')
    return false;
  if (!std::all_of(text.begin(), text.end() - 1, [](unsigned char c) { return absl::ascii_isdigit(c); })) return false;
  int field[6];
  size_t at = 0;
  for (int i = 0; i < 6; ++i) {
    const size_t digits = i == 0 ? year_digits : 2;
    if (!absl::SimpleAtoi(text.substr(at, digits), &field[i])) return false;
    at += digits;
  }
  if (tag == kUtcTime) field[0] += field[0] < 50 ? 2000 : 1900;
  *time = absl::FromCivil(absl::CivilSecond(field[0], field[1], field[2], field[3], field[4], field[5]),
                          absl::UTCTimeZone());
  return true;
}

// Certificate { tbsCertificate { [0] version, serialNumber, signature, issuer, validity { notBefore, notAfter } ... } }
bool ParseExpiry(absl::string_view der, absl::Time* expiry) {
  absl::string_view certificate, body, skipped, validity, time;
  uint8_t tag;
  if (!Der(der).Expect(kSequence, &certificate) || !Der(certificate).Expect(kSequence, &body)) return false;
  Der fields(body);
  if (!fields.Next(&tag, &skipped)) return false;
  if (tag == kVersion && !fields.Next(&tag, &skipped)) return false;
  if (!fields.Next(&tag, &skipped) || !fields.Next(&tag, &skipped)) return false;  // signature, issuer
  if (!fields.Expect(kSequence, &validity)) return false;
  Der times(validity);
  return times.Next(&tag, &skipped) && times.Next(&tag, &time) && ParseTime(tag, time, expiry);
}

}  // namespace

absl::StatusOr<absl::Time> CertificateExpiry(absl::string_view pem) {
  absl::Time earliest = absl::InfiniteFuture();
  int count = 0;
  for (size_t begin; (begin = pem.find(kBegin)) != absl::string_view::npos;) {
    pem.remove_prefix(begin + kBegin.size());
    const size_t end = pem.find(kEnd);
    if (end == absl::string_view::npos && count > 0) {  // a file that was cut off, or is being written
      return absl::InvalidArgumentError(absl::StrCat("certificate ", count + 1, " has no end"));
    }
    if (end == absl::string_view::npos) break;
    ++count;
    std::string der;
    absl::Time expiry;
    if (!absl::Base64Unescape(pem.substr(0, end), &der) || !ParseExpiry(der, &expiry)) {
      return absl::InvalidArgumentError(absl::StrCat("certificate ", count, " cannot be read"));
    }
    earliest = std::min(earliest, expiry);
    pem.remove_prefix(end + kEnd.size());
  }
  if (count == 0) return absl::InvalidArgumentError("no \"BEGIN CERTIFICATE\" with its end");
  return earliest;
}

}  // namespace glint
