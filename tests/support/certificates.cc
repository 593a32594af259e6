#include "tests/support/certificates.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdlib>

namespace glint::testing {
namespace {

// Ends the test program where OpenSSL fails.
template <typename Result>
Result Checked(Result result) {
  if (!result) std::abort();
  return result;
}

// What `write` writes into a BIO.
template <typename Write>
std::string Pem(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(Checked(BIO_new(BIO_s_mem())), BIO_free_all);
  Checked(write(bio.get()));
  std::string text(BIO_ctrl_pending(bio.get()), '\0');
  Checked(BIO_read(bio.get(), text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size()));
  return text;
}

std::string PemOf(X509* certificate) {
  return Pem([certificate](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

EVP_PKEY* NewKey() { return Checked(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")); }

void AddExtension(int kind, const std::string& value, X509* certificate) {
  X509V3_CTX context = {};
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = Checked(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  Checked(X509_add_ext(certificate, extension, -1));
  X509_EXTENSION_free(extension);
}

// Without extensions and signature.
X509* NewCertificate(const std::string& name, absl::Duration begins, absl::Duration ends, EVP_PKEY* key) {
  static std::atomic<int> serial{1};
  X509* const certificate = Checked(X509_new());
  Checked(X509_set_version(certificate, 2));
  Checked(ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++));
  Checked(X509_gmtime_adj(X509_getm_notBefore(certificate), static_cast<long>(absl::ToInt64Seconds(begins))));
  Checked(X509_gmtime_adj(X509_getm_notAfter(certificate), static_cast<long>(absl::ToInt64Seconds(ends))));
  Checked(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                     reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0));
  Checked(X509_set_pubkey(certificate, key));
  return certificate;
}

}  // namespace

Authority::Authority(const std::string& name) : key_(NewKey()) {
  own_.reset(NewCertificate(name, -absl::Hours(1), absl::Hours(24), key_.get()));
  Checked(X509_set_issuer_name(own_.get(), X509_get_subject_name(own_.get())));
  AddExtension(NID_basic_constraints, "critical,CA:TRUE", own_.get());
  Checked(X509_sign(own_.get(), key_.get(), EVP_sha256()));
  certificate_ = PemOf(own_.get());
}

CertifiedKey Authority::Issue(const CertificateOptions& options) const {
  const std::unique_ptr<EVP_PKEY, FreeKey> key(NewKey());
  const std::unique_ptr<X509, FreeCertificate> certificate(
      NewCertificate("issued", options.begins, options.ends, key.get()));
  Checked(X509_set_issuer_name(certificate.get(), X509_get_subject_name(own_.get())));
  AddExtension(NID_subject_alt_name, options.names, certificate.get());
  if (!options.usage.empty()) AddExtension(NID_ext_key_usage, options.usage, certificate.get());
  Checked(X509_sign(certificate.get(), key_.get(), EVP_sha256()));
  return {PemOf(certificate.get()), Pem([&key](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

std::string WithPassword(const std::string& key, const std::string& password) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(
      Checked(BIO_new_mem_buf(key.data(), static_cast<int>(key.size()))), BIO_free_all);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> read(
      Checked(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr)), EVP_PKEY_free);
  return Pem([&read, &password](BIO* out) {
    return PEM_write_bio_PrivateKey(out, read.get(), EVP_aes_128_cbc(),
                                    reinterpret_cast<const unsigned char*>(password.data()),
                                    static_cast<int>(password.size()), nullptr, nullptr);
  });
}

}  // namespace glint::testing
