// Certificates that tests make for themselves.
#ifndef GLINT_TESTS_SUPPORT_CERTIFICATES_H_
#define GLINT_TESTS_SUPPORT_CERTIFICATES_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace glint::testing {

// A certificate and its private key as PEM texts, on the curve P-256.
struct CertifiedKey {
  std::string certificate, key;
};

struct CertificateOptions {
  std::string names = "IP:127.0.0.1";  // as OpenSSL writes them: "DNS:a.example,IP:127.0.0.1"
  std::string usage;                   // extended: "clientAuth"; empty: any
  absl::Duration begins = -absl::Hours(1), ends = absl::Hours(24);  // from now
};

class Authority {
 public:
  explicit Authority(const std::string& name);

  const std::string& certificate() const { return certificate_; }
  CertifiedKey Issue(const CertificateOptions& options = {}) const;

 private:
  struct FreeKey {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  };
  struct FreeCertificate {
    void operator()(X509* certificate) const { X509_free(certificate); }
  };

  std::unique_ptr<EVP_PKEY, FreeKey> key_;
  std::unique_ptr<X509, FreeCertificate> own_;
  std::string certificate_;
};

// The private key as a PEM text with this password, as of the key in another PEM text.
std::string WithPassword(const std::string& key, const std::string& password);

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_CERTIFICATES_H_
