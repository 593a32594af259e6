// --server and what follows from it: a client of a server elsewhere, or of one inside this process.
#ifndef GLINT_CLIENT_CLI_BASE_CONNECTION_H_
#define GLINT_CLIENT_CLI_BASE_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/base/command.h"
#include "client/cli/base/flags.h"
#include "client/client.h"
#include "lane/lane.h"

namespace glint::cli {

struct ConnectionFlags {
  std::string server;
  Backend backend = Backend::kAuto;
  std::optional<float> timeout;  // seconds, to connect and for any answer
  bool tls = false;
  std::string traceparent;
  std::string tls_ca, tls_certificate, tls_key;  // file names
  std::string token_file;

  ConnectionFlags();
  // `inside`: 'inproc' is a choice.
  void AddTo(Flags* flags, bool inside = true);
  // For commands whose calls can belong to a trace.
  void AddTraceparentTo(Flags* flags);
  absl::Status Validate() const;
  // What the TLS options name, read; empty without --tls.
  absl::StatusOr<std::optional<client::TlsOptions>> Tls() const;
  // What the file holds, without blanks around it; empty without --token-file.
  absl::StatusOr<std::string> Token() const;
  absl::Duration timeout_or(absl::Duration otherwise) const;
};

// Owns the server when it is inside. The client must not be used after this is destroyed. An interrupt cancels its
// calls and streams if they do not end by themselves.
class Connection {
 public:
  // `at_once`: frames that are worked on at the same time at most, each on a lane of the server inside; 0: as many as
  // there are processors.
  static absl::StatusOr<Connection> Open(const ConnectionFlags& flags, int at_once = 0);
  Connection(Connection&&) noexcept;
  ~Connection();

  const client::Client& client() const { return *client_; }

 private:
  struct Inside;
  Connection(std::unique_ptr<Inside> inside, std::unique_ptr<client::Client> client);

  std::unique_ptr<Inside> inside_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<CancelOnInterrupt> cancel_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BASE_CONNECTION_H_
