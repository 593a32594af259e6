#include "client/connect_error.h"

#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "features/error.h"
#include "features/steady_time.h"

namespace glint::client {
namespace {

constexpr absl::Duration kLongestLook = absl::Seconds(2);
constexpr absl::string_view kSchemes[] = {"unix:", "unix-abstract:", "vsock:", "dns:", "ipv4:", "ipv6:", "xds:"};
// Types of TLS records with which a server may begin (RFC 8446, 5.1).
constexpr char kAlertRecord = 0x15, kHandshakeRecord = 0x16;

template <auto kFree>
struct Freed {
  template <typename Object>
  void operator()(Object* object) const {
    kFree(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Addresses = std::unique_ptr<addrinfo, Freed<freeaddrinfo>>;

// Splits "HOST:PORT" or "[HOST]:PORT".
bool SplitHostPort(absl::string_view address, std::string* host, std::string* port) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return false;
  *port = std::string(address.substr(colon + 1));
  absl::string_view name = address.substr(0, colon);
  if (absl::ConsumePrefix(&name, "[") && !absl::ConsumeSuffix(&name, "]")) return false;
  *host = std::string(name);
  return true;
}

// The first server of an address.
struct Place {
  std::string path;  // of a unix socket; else
  std::string host, port;
};

bool FindPlace(absl::string_view address, Place* place) {
  if (absl::ConsumePrefix(&address, "unix:")) {
    absl::ConsumePrefix(&address, "//");  // unix:///PATH
    place->path = std::string(address);
    return true;
  }
  if (absl::ConsumePrefix(&address, "dns:")) {
    if (absl::ConsumePrefix(&address, "//")) address.remove_prefix(std::min(address.find('/'), address.size() - 1) + 1);
  } else if (absl::ConsumePrefix(&address, "ipv4:") || absl::ConsumePrefix(&address, "ipv6:")) {
    address = address.substr(0, address.find(','));
  } else if (std::any_of(std::begin(kSchemes), std::end(kSchemes),
                         [address](absl::string_view scheme) { return absl::StartsWith(address, scheme); })) {
    return false;
  }
  return SplitHostPort(address, &place->host, &place->port);
}

class Socket {
 public:
  explicit Socket(int family) : fd_(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // 0, or an error as in errno.
  int Connect(const sockaddr* address, socklen_t size, absl::Time deadline) {
    if (fd_ < 0) return errno;
    if (connect(fd_, address, size) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    if (!Wait(POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof(error);
    return getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
  }
  // Without SIGPIPE. That the peer has gone, Receive() tells.
  void Send(const char* bytes, size_t size) { (void)!send(fd_, bytes, size, MSG_NOSIGNAL); }
  // Bytes that came; 0 at the end of the connection or `deadline`, which sets *late.
  size_t Receive(char* bytes, size_t size, absl::Time deadline, bool* late) {
    for (;;) {
      *late = !Wait(POLLIN, deadline);
      if (*late) return 0;
      const ssize_t count = recv(fd_, bytes, size, 0);
      if (count >= 0) return static_cast<size_t>(count);
      if (errno != EAGAIN && errno != EINTR) return 0;
    }
  }

 private:
  bool Wait(short events, absl::Time deadline) const {
    for (;;) {
      const int64_t left_ms = absl::ToInt64Milliseconds(deadline - SteadyNow());
      pollfd waited = {fd_, events, 0};
      const int ready = left_ms <= 0 ? 0 : poll(&waited, 1, static_cast<int>(left_ms));
      if (ready >= 0) return ready > 0;
      if (errno != EINTR) return true;  // what follows has the error
    }
  }

  const int fd_;
};

std::string OpensslReason() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "" : reason;
}

// A client's side of TLS, as gRPC has it.
class TlsSide {
 public:
  // What a server did when it was spoken to in TLS.
  struct Outcome {
    std::string first;          // bytes that came first; empty: none
    bool late = false;          // nothing more came in time
    bool ended = false;         // the server has ended the connection
    bool connected = false;     // the handshake is complete
    bool http2 = false;         // and HTTP/2 was agreed on
    bool wants_client = false;  // it asked for a certificate, which the client has not
    long verified = X509_V_OK;  // of the server's certificate
    std::string error;          // OpenSSL's

    bool tls() const { return !first.empty() && (first[0] == kAlertRecord || first[0] == kHandshakeRecord); }
  };

  TlsSide() : context_(SSL_CTX_new(TLS_client_method())) { ERR_clear_error(); }

  // To be called before Try(): servers need a certificate for `host` of an authority. The reason why the client's own
  // files are no good, or empty.
  std::string Require(const std::string& host, const TlsOptions& options) {
    host_ = host;
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_client_cert_cb(context_.get(), CertificateIsWanted);
    if (options.server_ca.empty()) {
      SSL_CTX_set_default_verify_paths(context_.get());
    } else if (Certificates(options.server_ca, [this](X509* authority) {
                 X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), authority);
               }) == 0) {
      return "there is no certificate in the text of the authorities (server_ca)";
    }
    if (options.certificate.empty()) return "";
    std::string unusable;
    const int count = Certificates(options.certificate, [this, &unusable, own = true](X509* certificate) mutable {
      const auto use = own ? SSL_CTX_use_certificate(context_.get(), certificate)
                           : SSL_CTX_add1_chain_cert(context_.get(), certificate);
      if (use != 1 && unusable.empty()) unusable = OpensslReason();
      own = false;
    });
    if (count == 0) return "there is no certificate in the text of the client's certificate";
    const Bio text(BIO_new_mem_buf(options.key.data(), static_cast<int>(options.key.size())));
    const std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key(
        PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, const_cast<char*>("")));
    if (unusable.empty() && key != nullptr && SSL_CTX_use_PrivateKey(context_.get(), key.get()) == 1) return "";
    if (unusable.empty()) unusable = OpensslReason();
    return absl::StrCat("the client's certificate and key cannot be used: ", unusable);
  }

  Outcome Try(Socket* socket, absl::Time deadline) {
    Outcome outcome;
    const std::unique_ptr<SSL, Freed<SSL_free>> ssl(SSL_new(context_.get()));
    if (ssl == nullptr) return outcome;
    BIO *const received = BIO_new(BIO_s_mem()), *const to_send = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl.get(), received, to_send);
    SSL_set_connect_state(ssl.get());
    SSL_set_ex_data(ssl.get(), 0, &outcome.wants_client);
    constexpr unsigned char kHttp2[] = {2, 'h', '2'};
    SSL_set_alpn_protos(ssl.get(), kHttp2, sizeof(kHttp2));
    if (!host_.empty() && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host_.c_str()) != 1) {
      SSL_set1_host(ssl.get(), host_.c_str());
      SSL_set_tlsext_host_name(ssl.get(), host_.c_str());
    }
    char bytes[4096];
    for (;;) {
      ERR_clear_error();
      // In TLS 1.3 a server refuses the client after the client's side of the handshake is complete.
      const int done = outcome.connected ? SSL_read(ssl.get(), bytes, 1) : SSL_do_handshake(ssl.get());
      const int error = SSL_get_error(ssl.get(), done);
      for (int count; (count = BIO_read(to_send, bytes, sizeof(bytes))) > 0;) {
        socket->Send(bytes, static_cast<size_t>(count));
      }
      if (done > 0) {
        if (outcome.connected) return outcome;
        outcome.connected = true;
        const unsigned char* agreed = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(ssl.get(), &agreed, &size);
        outcome.http2 = size > 0;
        continue;
      }
      if (error != SSL_ERROR_WANT_READ) {
        outcome.ended = error == SSL_ERROR_ZERO_RETURN;
        outcome.verified = SSL_get_verify_result(ssl.get());
        outcome.error = OpensslReason();
        return outcome;
      }
      const size_t count = socket->Receive(bytes, sizeof(bytes), deadline, &outcome.late);
      outcome.ended = count == 0 && !outcome.late;
      if (outcome.first.empty()) outcome.first.assign(bytes, std::min<size_t>(count, 5));
      if (count == 0 || !outcome.tls()) return outcome;
      BIO_write(received, bytes, static_cast<int>(count));
    }
  }

 private:
  static int CertificateIsWanted(SSL* ssl, X509**, EVP_PKEY**) {
    *static_cast<bool*>(SSL_get_ex_data(ssl, 0)) = true;
    return 0;
  }

  // Calls `use` with each certificate of a PEM text, and returns their number.
  template <typename Use>
  static int Certificates(const std::string& pem, Use use) {
    const Bio text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    for (int count = 0;; ++count) {
      const std::unique_ptr<X509, Freed<X509_free>> next(
          PEM_read_bio_X509_AUX(text.get(), nullptr, nullptr, const_cast<char*>("")));
      if (next == nullptr) {
        ERR_clear_error();  // it says that there are no more
        return count;
      }
      use(next.get());
    }
  }

  const std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>> context_;
  std::string host_;
};

std::string WhyNotVerified(long verified, const std::string& host) {
  const char* const reason = X509_verify_cert_error_string(verified);
  switch (verified) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return absl::StrCat("the server's certificate is not for \"", host, "\" (", reason, ")");
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return absl::StrCat("the server's certificate is of no authority that this client believes (", reason, ")");
    default:
      return absl::StrCat("the server's certificate is refused: ", reason);
  }
}

std::string WhyNoTls(const TlsSide::Outcome& outcome, const std::string& host) {
  if (!outcome.first.empty() && !outcome.tls()) return "the server has no TLS there, and this connection wants it";
  if (outcome.verified != X509_V_OK) return WhyNotVerified(outcome.verified, host);
  const bool refused = outcome.ended || !outcome.error.empty();
  const std::string said = outcome.error.empty() ? "" : absl::StrCat(" (", outcome.error, ")");
  if (refused && outcome.wants_client) return absl::StrCat("the server wants a certificate of the client", said);
  if (refused && outcome.connected) return absl::StrCat("the server ends the connection after the handshake", said);
  if (refused) return absl::StrCat("the server ends the TLS handshake", said);
  if (outcome.late && !outcome.connected) return "the server does not answer in TLS";
  if (outcome.connected && !outcome.http2) return "the server has TLS there, but not HTTP/2, as gRPC has";
  return "";
}

std::string WhyNoHttp2(const TlsSide::Outcome& outcome) {
  if (outcome.tls()) return "the server has TLS there, and this connection has none (glint --tls, ClientOptions::tls)";
  if (absl::StartsWith(outcome.first, "HTTP/")) return "what answers there is HTTP/1, not gRPC";
  if (outcome.ended && outcome.first.empty()) return "the server ends the connection without an answer";
  if (outcome.late && outcome.first.empty()) return "what listens there does not answer";
  return "";
}

std::string Look(Socket* socket, const std::string& host, const std::optional<TlsOptions>& tls, absl::Time deadline) {
  TlsSide side;
  if (!tls.has_value()) return WhyNoHttp2(side.Try(socket, deadline));
  std::string why = side.Require(host, *tls);
  return why.empty() ? WhyNoTls(side.Try(socket, deadline), host) : why;
}

}  // namespace

absl::Status CheckAddress(absl::string_view field, absl::string_view address) {
  const auto wrong = [field, address](absl::string_view hint) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": \"", Echo(address), "\" is not HOST:PORT or unix:PATH", hint));
  };
  for (const absl::string_view scheme : kSchemes) {
    if (absl::StartsWith(address, scheme)) return address.size() > scheme.size() ? absl::OkStatus() : wrong("");
  }
  if (const size_t end = address.find("://"); end != absl::string_view::npos) {
    return wrong(absl::StrCat(": leave \"", Echo(address.substr(0, end + 3)), "\" out; TLS is a setting of its own"));
  }
  std::string host, port;
  if (!SplitHostPort(address, &host, &port)) return wrong("");
  if (absl::StrContains(host, ':') && address.front() != '[') {
    return wrong(": an address of IPv6 has brackets, [::1]:50051");
  }
  if (host.empty() || host.find_first_of(" \t\r\n/@[]") != std::string::npos) return wrong("");
  int number = 0;
  const bool digits = port.size() <= 5 && std::all_of(port.begin(), port.end(), absl::ascii_isdigit);
  if (!digits || !absl::SimpleAtoi(port, &number) || number < 1 || number > 65535) {
    return wrong(" with a port in 1..65535");
  }
  return absl::OkStatus();
}

std::string WhyNotConnected(const std::string& address, const std::optional<TlsOptions>& tls) {
  Place place;
  if (!FindPlace(address, &place)) return "";
  if (!place.path.empty()) {
    sockaddr_un unix_address = {};
    unix_address.sun_family = AF_UNIX;
    if (place.path.size() >= sizeof(unix_address.sun_path)) {
      return absl::StrCat("the path is longer than ", sizeof(unix_address.sun_path) - 1, " bytes");
    }
    place.path.copy(unix_address.sun_path, place.path.size());
    const absl::Time deadline = SteadyNow() + kLongestLook;
    Socket socket(AF_UNIX);
    const int error = socket.Connect(reinterpret_cast<const sockaddr*>(&unix_address), sizeof(unix_address), deadline);
    return error == 0 ? Look(&socket, "", tls, deadline) : std::strerror(error);
  }
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(place.host.c_str(), place.port.c_str(), &wanted, &found); error != 0) {
    return absl::StrCat("the name \"", place.host, "\" cannot be resolved: ", gai_strerror(error));
  }
  const Addresses addresses(found);
  const absl::Time deadline = SteadyNow() + kLongestLook;
  int error = 0;
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    Socket socket(next->ai_family);
    error = socket.Connect(next->ai_addr, next->ai_addrlen, deadline);
    if (error == 0) return Look(&socket, place.host, tls, deadline);
  }
  return std::strerror(error);
}

}  // namespace glint::client
