#include "server/net/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace glint {
namespace {

using ::testing::HasSubstr;

// An element of DER; long contents have their length in two bytes.
std::string Element(int tag, const std::string& content) {
  std::string out(1, static_cast<char>(tag));
  if (content.size() < 0x80) {
    out += static_cast<char>(content.size());
  } else {
    out += "\x82";
    out += static_cast<char>(content.size() >> 8);
    out += static_cast<char>(content.size());
  }
  return out + content;
}

// A certificate as far as its validity, and something behind it.
std::string Certificate(int tag, const std::string& not_after, bool version = true, size_t issuer = 20) {
  const std::string validity = Element(0x30, Element(0x17, "200102030405Z") + Element(tag, not_after));
  const std::string body = (version ? Element(0xa0, Element(0x02, "\x02")) : "") + Element(0x02, "\x17") +
                           Element(0x30, Element(0x06, "sig")) + Element(0x30, std::string(issuer, 'i')) + validity +
                           Element(0x30, "subject and more");
  return Element(0x30, Element(0x30, body) + Element(0x30, "algorithm") + Element(0x03, "signature"));
}

std::string Pem(const std::string& der) {
  return absl::StrCat("text before\n-----BEGIN CERTIFICATE-----\n", absl::Base64Escape(der),
                      "\n-----END CERTIFICATE-----\n");
}

absl::Time At(int year, int month, int day, int hour, int minute, int second) {
  return absl::FromCivil(absl::CivilSecond(year, month, day, hour, minute, second), absl::UTCTimeZone());
}

TEST(CertificateExpiry, ReadsBothKindsOfTime) {
  EXPECT_EQ(*CertificateExpiry(Pem(Certificate(0x17, "270809101112Z"))), At(2027, 8, 9, 10, 11, 12));
  EXPECT_EQ(*CertificateExpiry(Pem(Certificate(0x17, "491231235959Z"))), At(2049, 12, 31, 23, 59, 59));
  EXPECT_EQ(*CertificateExpiry(Pem(Certificate(0x17, "500101000000Z"))), At(1950, 1, 1, 0, 0, 0));
  EXPECT_EQ(*CertificateExpiry(Pem(Certificate(0x18, "20500101000000Z"))), At(2050, 1, 1, 0, 0, 0));
}

TEST(CertificateExpiry, ReadsOldVersionsAndLongFields) {
  EXPECT_EQ(*CertificateExpiry(Pem(Certificate(0x17, "270809101112Z", false))), At(2027, 8, 9, 10, 11, 12));
  EXPECT_EQ(*CertificateExpiry(Pem(Certificate(0x17, "270809101112Z", true, 3000))), At(2027, 8, 9, 10, 11, 12));
}

TEST(CertificateExpiry, IsTheEarliestOfAChain) {
  const std::string late = Pem(Certificate(0x18, "20600101000000Z")), early = Pem(Certificate(0x17, "270809101112Z"));
  EXPECT_EQ(*CertificateExpiry(late + early + late), At(2027, 8, 9, 10, 11, 12));
}

TEST(CertificateExpiry, RefusesWhatIsNoCertificate) {
  EXPECT_THAT(CertificateExpiry("").status().message(), HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_THAT(CertificateExpiry("-----BEGIN CERTIFICATE-----\nAAAA").status().message(), HasSubstr("with its end"));
  const std::string good = Pem(Certificate(0x17, "270809101112Z"));
  for (const std::string& bad : {Pem("!"), Pem(""), Pem(Certificate(0x17, "2708091011Z")),
                                 Pem(Certificate(0x17, "27080910111xZ")), Pem(Certificate(0x17, "270809101112+")),
                                 Pem(Certificate(0x04, "270809101112Z")), Pem(Certificate(0x18, "270809101112Z")),
                                 std::string("-----BEGIN CERTIFICATE-----\n(\n-----END CERTIFICATE-----")}) {
    EXPECT_EQ(CertificateExpiry(bad).status(), absl::InvalidArgumentError("certificate 1 cannot be read")) << bad;
    EXPECT_EQ(CertificateExpiry(good + bad).status(), absl::InvalidArgumentError("certificate 2 cannot be read"));
  }
}

// Found by fuzz_text: the last one may be the first that ends.
TEST(CertificateExpiry, RefusesAChainThatWasCutOff) {
  const std::string late = Pem(Certificate(0x18, "20600101000000Z")), early = Pem(Certificate(0x17, "270809101112Z"));
  const std::string chain = late + early;
  ASSERT_TRUE(CertificateExpiry(chain).ok());
  EXPECT_EQ(CertificateExpiry(chain.substr(0, chain.size() - 12)).status(),
            absl::InvalidArgumentError("certificate 2 has no end"));
}

TEST(CertificateExpiry, ReadsNothingBehindTheEnd) {
  const std::string der = Certificate(0x17, "270809101112Z");
  for (size_t length = 0; length < der.size(); ++length) {
    EXPECT_FALSE(CertificateExpiry(Pem(der.substr(0, length))).ok()) << length;  // the outermost length is too long
  }
  for (size_t at = 0; at < der.size(); ++at) {
    for (const int value : {0x00, 0x7f, 0x80, 0x81, 0x84, 0x85, 0xff}) {
      std::string damaged = der;
      damaged[at] = static_cast<char>(value);
      (void)CertificateExpiry(Pem(damaged));  // the sanitizers look on
    }
  }
}

}  // namespace
}  // namespace glint
