#include "server/net/handshake.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "features/status_macros.h"

namespace glint {
namespace {

template <auto kFree>
struct Freed {
  template <typename Object>
  void operator()(Object* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using TlsContext = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using TlsSide = std::unique_ptr<SSL, Freed<SSL_free>>;

absl::Status Refused(const PemFile& file, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(file.flag, ": ", file.path, ": ", why));
}

// Takes the first error of OpenSSL's queue of this thread, and empties the queue.
std::string OpensslReason() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(error);
  return reason == nullptr ? absl::StrCat("OpenSSL's error ", error) : reason;
}

Bio Reader(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// An empty password, in place of OpenSSL's question on the terminal.
void* NoPassword() { return const_cast<char*>(""); }

absl::StatusOr<std::vector<Certificate>> ReadCertificates(const PemFile& file) {
  ERR_clear_error();
  const Bio bio = Reader(file.text);
  std::vector<Certificate> certificates;
  for (;;) {
    Certificate next(PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, NoPassword()));
    if (next == nullptr) break;
    certificates.push_back(std::move(next));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = OpensslReason();
  if (!at_end) return Refused(file, absl::StrCat("certificate ", certificates.size() + 1, " cannot be read: ", reason));
  if (certificates.empty()) return Refused(file, "no certificate in it");
  return certificates;
}

absl::StatusOr<PrivateKey> ReadKey(const PemFile& file) {
  ERR_clear_error();
  const Bio bio = Reader(file.text);
  PrivateKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, NoPassword()));
  if (key != nullptr) return key;
  const std::string reason = OpensslReason();
  if (absl::StrContains(file.text, "ENCRYPTED")) {
    return Refused(file, "the key has a password, and nobody is there to give it; openssl pkey writes it without one");
  }
  return Refused(file, absl::StrCat("the key cannot be read: ", reason));
}

absl::Status CheckKeyOf(const std::vector<Certificate>& chain, EVP_PKEY* key, const PemFile& certificate,
                        const PemFile& key_file) {
  for (size_t i = 0; i < chain.size(); ++i) {
    if (X509_check_private_key(chain[i].get(), key) == 1) {
      if (i == 0) return absl::OkStatus();
      return Refused(certificate, absl::StrCat("the key in ", key_file.path, " belongs to certificate ", i + 1,
                                               "; the server's own has to be the first, then its authorities"));
    }
  }
  ERR_clear_error();
  return Refused(key_file, absl::StrCat("is not the key of the certificate in ", certificate.path));
}

// False when the handshake has failed.
bool Advance(SSL* side) {
  ERR_clear_error();
  const int done = SSL_do_handshake(side);
  if (done == 1) return true;
  const int error = SSL_get_error(side, done);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

absl::Status Handshake(SSL* server, SSL* client, const PemFile& certificate) {
  BIO *of_server = nullptr, *of_client = nullptr;
  if (BIO_new_bio_pair(&of_server, 0, &of_client, 0) != 1) return absl::ResourceExhaustedError(OpensslReason());
  SSL_set_bio(server, of_server, of_server);
  SSL_set_bio(client, of_client, of_client);
  SSL_set_accept_state(server);
  SSL_set_connect_state(client);
  while (SSL_is_init_finished(server) == 0 || SSL_is_init_finished(client) == 0) {
    if (Advance(client) && Advance(server)) continue;
    const long verified = SSL_get_verify_result(client);
    const std::string reason = OpensslReason();
    return Refused(certificate, absl::StrCat("no client can connect: ",
                                             verified == X509_V_OK ? reason : X509_verify_cert_error_string(verified)));
  }
  ERR_clear_error();
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckHandshake(const PemFile& certificate, const PemFile& key, absl::Time now) {
  GLINT_ASSIGN_OR_RETURN(const auto private_key, ReadKey(key));
  GLINT_ASSIGN_OR_RETURN(const auto chain, ReadCertificates(certificate));
  GLINT_RETURN_IF_ERROR(CheckKeyOf(chain, private_key.get(), certificate, key));

  const TlsContext server_context(SSL_CTX_new(TLS_method())), client_context(SSL_CTX_new(TLS_method()));
  if (server_context == nullptr || client_context == nullptr) return absl::ResourceExhaustedError(OpensslReason());
  if (SSL_CTX_use_certificate(server_context.get(), chain[0].get()) != 1 ||
      SSL_CTX_use_PrivateKey(server_context.get(), private_key.get()) != 1) {
    return Refused(certificate, OpensslReason());  // such as a key that is too short for the system's policy
  }
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(server_context.get(), chain[i].get()) != 1) {
      return Refused(certificate, absl::StrCat("certificate ", i + 1, ": ", OpensslReason()));
    }
  }
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(client_context.get()), chain[0].get()) != 1) {
    return absl::ResourceExhaustedError(OpensslReason());
  }
  SSL_CTX_set_verify(client_context.get(), SSL_VERIFY_PEER, nullptr);
  X509_VERIFY_PARAM* const verify = SSL_CTX_get0_param(client_context.get());
  X509_VERIFY_PARAM_set_flags(verify, X509_V_FLAG_PARTIAL_CHAIN);  // a certificate is trusted that is no root
  X509_VERIFY_PARAM_set_time(verify, absl::ToTimeT(now));

  const TlsSide server(SSL_new(server_context.get())), client(SSL_new(client_context.get()));
  if (server == nullptr || client == nullptr) return absl::ResourceExhaustedError(OpensslReason());
  return Handshake(server.get(), client.get(), certificate);
}

absl::Status CheckAuthorities(const PemFile& authorities) { return ReadCertificates(authorities).status(); }

}  // namespace glint
