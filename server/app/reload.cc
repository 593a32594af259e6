#include "server/app/reload.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "server/net/tls.h"

namespace glint {

Reloader::Reloader(ServerOptions running, std::function<absl::StatusOr<CommandLine>()> parse, Logger* logger)
    : running_(std::move(running)), parse_(std::move(parse)), logger_(logger), drain_timeout_(running_.drain_timeout) {}

void Reloader::Reload() {
  const auto flags = parse_();
  absl::Status status = flags.status();
  std::string expires;
  if (status.ok() && running_.tls.enabled()) {
    const auto expiry = CheckTlsFiles(running_.tls, absl::Now());
    status = expiry.status();
    if (expiry.ok()) expires = absl::FormatTime(*expiry, absl::UTCTimeZone());
  }
  if (!status.ok()) {
    logger_->Log(Severity::kError, "not reloaded", {{"error", std::string(status.message())}});
    return;
  }
  std::vector<std::string> changed = FlagsThatDiffer(running_, flags->options);
  changed.erase(std::remove(changed.begin(), changed.end(), "drain-timeout"), changed.end());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    drain_timeout_ = flags->options.drain_timeout;
  }
  logger_->Log(changed.empty() ? Severity::kInfo : Severity::kWarning, "reloaded",
               {{"drain_timeout", absl::FormatDuration(flags->options.drain_timeout)},
                {"certificate_ends", expires},
                {"needs_restart", absl::StrJoin(changed, ",")}});
}

absl::Duration Reloader::drain_timeout() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return drain_timeout_;
}

}  // namespace glint
