#include "client/cli/base/connection.h"

#include <grpcpp/channel.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "client/connect_error.h"
#include "features/read_file.h"
#include "features/status_macros.h"
#include "proto/traceparent.h"
#include "server/app/in_process.h"
#include "server/app/server.h"

namespace glint::cli {
namespace {

constexpr char kDefaultServer[] = "127.0.0.1:50051";
constexpr char kInside[] = "inproc";

}  // namespace

ConnectionFlags::ConnectionFlags() {
  const char* from_environment = std::getenv("GLINT_SERVER");
  server = from_environment != nullptr && *from_environment != '\0' ? from_environment : kDefaultServer;
}

void ConnectionFlags::AddTo(Flags* flags, bool inside) {
  flags->Section("Server");
  if (!inside) {
    flags->String("server", "ADDRESS",
                  absl::StrCat("host:port or unix:PATH. Default: $GLINT_SERVER, or ", kDefaultServer, "."), &server);
    flags->Float("timeout", "SECONDS", "Longest wait for the connection and for the last answers (default 10).",
                 &timeout);
    return;
  }
  flags->String(
      "server", "ADDRESS",
      absl::StrCat("host:port, unix:PATH, or inproc for a server inside this process; dns:///NAME:PORT or "
                   "ipv4:HOST:PORT,HOST:PORT... for equal servers that are taken in turn. Default: $GLINT_SERVER, or ",
                   kDefaultServer, "."),
      &server);
  flags->Choice("backend", {{"auto", Backend::kAuto}, {"cpu", Backend::kCpu}, {"cuda", Backend::kCuda}},
                "Of --server inproc. auto (the default): CUDA if a device works, else the CPU.", &backend);
  flags->Float(
      "timeout", "SECONDS",
      "Longest wait for the connection (default 5) and for an answer: since the last one or, if nothing was "
      "unanswered then, since the oldest unanswered frame or call was sent (default: 60 for detect, 5 for info "
      "and health, none for streams). A server from which nothing comes for 20 s is given up in any case.",
      &timeout);
  flags->Bool("tls", "Encrypt the connection; implied by the three below.", &tls);
  flags->String("tls-ca", "FILE", "PEM file of authorities whose servers are believed. Default: the system's.",
                &tls_ca);
  flags->String("tls-certificate", "FILE", "PEM file of this client's certificate, if the server asks for one.",
                &tls_certificate);
  flags->String("tls-key", "FILE", "PEM file of that certificate's private key.", &tls_key);
  flags->String("token-file", "FILE", "File with the bearer token that all calls show.", &token_file);
}

void ConnectionFlags::AddTraceparentTo(Flags* flags) {
  flags->String("traceparent", "ID",
                "W3C Trace Context, 00-TRACE-PARENT-FLAGS: the server's log of the calls has the trace id.",
                &traceparent);
}

absl::Status ConnectionFlags::Validate() const {
  if (server != kInside) GLINT_RETURN_IF_ERROR(client::CheckAddress("option '--server'", server));
  if (!traceparent.empty() && !ParseTraceparent(traceparent).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--traceparent': '", traceparent, "' is not 00-<32>-<16>-<2 hex digits>"));
  }
  if (timeout.has_value() && *timeout <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("option '--timeout': ", *timeout, " is not above 0"));
  }
  if (tls_certificate.empty() != tls_key.empty()) {
    return absl::InvalidArgumentError("options '--tls-certificate' and '--tls-key': neither goes without the other");
  }
  return absl::OkStatus();
}

absl::Duration ConnectionFlags::timeout_or(absl::Duration otherwise) const {
  return timeout.has_value() ? absl::Seconds(*timeout) : otherwise;
}

absl::StatusOr<std::optional<client::TlsOptions>> ConnectionFlags::Tls() const {
  if (!tls && tls_ca.empty() && tls_certificate.empty()) return std::nullopt;
  client::TlsOptions options;
  for (const auto& [path, text] :
       {std::pair(&tls_ca, &options.server_ca), std::pair(&tls_certificate, &options.certificate),
        std::pair(&tls_key, &options.key)}) {
    if (path->empty()) continue;
    GLINT_ASSIGN_OR_RETURN(*text, ReadWholeFile(*path));
  }
  return options;
}

absl::StatusOr<std::string> ConnectionFlags::Token() const {
  if (token_file.empty()) return std::string();
  GLINT_ASSIGN_OR_RETURN(std::string token, ReadWholeFile(token_file));
  absl::StripAsciiWhitespace(&token);
  if (token.empty())
    return absl::InvalidArgumentError(absl::StrCat("option '--token-file': ", token_file, " is empty"));
  return token;
}

struct Connection::Inside {
  std::unique_ptr<Server> server;
};

Connection::Connection(std::unique_ptr<Inside> inside, std::unique_ptr<client::Client> client)
    : inside_(std::move(inside)),
      client_(std::move(client)),
      cancel_(std::make_unique<CancelOnInterrupt>([client = client_.get()] { client->Cancel(); })) {}
Connection::Connection(Connection&&) noexcept = default;

Connection::~Connection() {
  cancel_.reset();
  client_.reset();  // its channel must not outlive the server
}

absl::StatusOr<Connection> Connection::Open(const ConnectionFlags& flags, int at_once) {
  if (flags.server != kInside) {
    client::ClientOptions options;
    options.connect_timeout = flags.timeout_or(options.connect_timeout);
    options.stop = Interrupted;
    options.balance = absl::StartsWith(flags.server, "dns:") || absl::StartsWith(flags.server, "ipv4:") ||
                      absl::StartsWith(flags.server, "ipv6:");
    GLINT_ASSIGN_OR_RETURN(options.tls, flags.Tls());
    GLINT_ASSIGN_OR_RETURN(options.token, flags.Token());
    GLINT_ASSIGN_OR_RETURN(auto client, client::Client::Connect(flags.server, options));
    return Connection(nullptr, std::make_unique<client::Client>(std::move(client)));
  }
  ServerOptions options = InProcessOptions();
  options.lanes.backend = flags.backend;
  options.lanes.lanes = at_once;
  GLINT_ASSIGN_OR_RETURN(auto server, Server::Create(options));
  GLINT_RETURN_IF_ERROR(server->Start());
  if (!server->WaitUntilServing(absl::InfiniteDuration())) {
    return absl::UnavailableError("the server inside this process did not become ready");
  }
  auto inside = std::make_unique<Inside>();
  inside->server = std::move(server);
  auto client = std::make_unique<client::Client>(inside->server->InProcessChannel());
  return Connection(std::move(inside), std::move(client));
}

}  // namespace glint::cli
