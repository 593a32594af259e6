// Reloads the flags on SIGHUP.
#ifndef GLINT_SERVER_APP_RELOAD_H_
#define GLINT_SERVER_APP_RELOAD_H_

#include <functional>
#include <mutex>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/base/log.h"
#include "server/config/flags.h"

namespace glint {

// Applies the flags that can change while the server runs, which is --drain-timeout, and logs the others that differ.
// Certificates are reloaded independently (server/net/tls_reloader.h); they are checked here so that the log names
// errors. Invalid flags change nothing. Thread-safe.
class Reloader {
 public:
  // `parse` reads the flags from where they were read at the start. `logger` must outlive this.
  Reloader(ServerOptions running, std::function<absl::StatusOr<CommandLine>()> parse, Logger* logger);

  void Reload();
  absl::Duration drain_timeout() const;

 private:
  const ServerOptions running_;
  const std::function<absl::StatusOr<CommandLine>()> parse_;
  Logger* const logger_;
  mutable std::mutex mutex_;
  absl::Duration drain_timeout_;  // guarded by mutex_
};

}  // namespace glint

#endif  // GLINT_SERVER_APP_RELOAD_H_
