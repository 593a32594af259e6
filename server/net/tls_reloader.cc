#include "server/net/tls_reloader.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/version_info.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "features/status_macros.h"
#include "features/steady_time.h"
#include "server/base/names.h"

namespace glint {
namespace {

constexpr absl::Duration kLookAtTlsFilesEvery = absl::Seconds(1);

}  // namespace

// A port that gRPC listens on. gRPC asks before each handshake whether there is something new for it, and goes on with
// what it has if it cannot use that.
struct TlsReloader::Port {
  TlsReloader* reloader;
  int64_t generation = 0;  // that gRPC has

  static grpc_ssl_certificate_config_reload_status Fetch(void* port, grpc_ssl_server_certificate_config** config) {
    Port& self = *static_cast<Port*>(port);
    TlsReloader& reloader = *self.reloader;
    std::lock_guard<std::mutex> lock(reloader.mutex_);
    reloader.Look();
    if (std::exchange(self.generation, reloader.generation_) == reloader.generation_) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const TlsTexts& texts = reloader.texts_;
    const grpc_ssl_pem_key_cert_pair pair = {texts.key.c_str(), texts.certificate.c_str()};
    // Without clients' certificates the authorities are not used, but some builds of gRPC assert that there are any.
    const std::string& authorities = texts.client_ca.empty() ? texts.certificate : texts.client_ca;
    *config = grpc_ssl_server_certificate_config_create(authorities.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }
};

// gRPC's C++ classes either have fixed certificates or follow each file by itself; its C interface asks.
class TlsReloader::PortCredentials final : public grpc::ServerCredentials {
 public:
#if GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR <= 51
  explicit PortCredentials(TlsReloader* reloader) : reloader_(*reloader) {}
#else  // the base class can have credentials for all ports, which have to differ here
  explicit PortCredentials(TlsReloader* reloader) : grpc::ServerCredentials(nullptr), reloader_(*reloader) {}
#endif

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override { std::abort(); }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    auto port = std::make_unique<Port>();
    port->reloader = &reloader_;
    grpc_server_credentials* const credentials =
        grpc_ssl_server_credentials_create_with_options(grpc_ssl_server_credentials_create_options_using_config_fetcher(
            reloader_.files_.client_ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                               : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY,
            Port::Fetch, port.get()));
    {
      std::lock_guard<std::mutex> lock(reloader_.mutex_);
      reloader_.ports_.push_back(std::move(port));
    }
    const int number = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return number;
  }

  TlsReloader& reloader_;
};

absl::StatusOr<std::unique_ptr<TlsReloader>> TlsReloader::Open(const TlsFiles& files, Report report) {
  GLINT_ASSIGN_OR_RETURN(TlsTexts texts, ReadTlsFiles(files));
  GLINT_ASSIGN_OR_RETURN(const absl::Time expiry, CheckTlsTexts(files, texts, absl::Now()));
  return std::unique_ptr<TlsReloader>(new TlsReloader(files, std::move(report), std::move(texts), expiry));
}

TlsReloader::TlsReloader(TlsFiles files, Report report, TlsTexts texts, absl::Time expiry)
    : files_(std::move(files)),
      report_(std::move(report)),
      texts_(std::move(texts)),
      expiry_(expiry),
      next_look_(SteadyNow() + kLookAtTlsFilesEvery) {}

TlsReloader::~TlsReloader() = default;

std::shared_ptr<grpc::ServerCredentials> TlsReloader::Credentials() { return std::make_shared<PortCredentials>(this); }

std::string TlsReloader::Metrics() {
  std::lock_guard<std::mutex> lock(mutex_);
  Look();
  const metric::Name& name = metric::kTlsCertificateExpiry;
  return absl::StrFormat("# HELP %s %s\n# TYPE %s gauge\n%s %d\n", name.name, name.help, name.name, name.name,
                         absl::ToUnixSeconds(expiry_));
}

void TlsReloader::Look() {
  const absl::Time now = SteadyNow();
  if (now < next_look_) return;
  next_look_ = now + kLookAtTlsFilesEvery;
  auto texts = ReadTlsFiles(files_);
  absl::Status failure = texts.status();
  if (texts.ok() && !(*texts == texts_)) {
    const auto expiry = CheckTlsTexts(files_, *texts, absl::Now());
    failure = expiry.status();
    if (expiry.ok()) {
      texts_ = *std::move(texts);
      expiry_ = *expiry;
      ++generation_;
      report_(expiry);
    }
  }
  if (!failure.ok() && failure != reported_) report_(failure);
  reported_ = failure;
}

}  // namespace glint
