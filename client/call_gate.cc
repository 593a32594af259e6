#include "client/call_gate.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/result.h"
#include "features/error.h"
#include "features/steady_time.h"

namespace glint::client {
namespace {

// The server's limits on how many calls there are at once.
constexpr const char* kCountFlags[] = {"--max-detect-calls", "--max-frames-per-client"};

}  // namespace

void CallGate::Cancel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  for (const auto& [number, turn] : line_) turn->woken_.notify_one();
}

void CallGate::WakeFirst() {
  if (!line_.empty()) line_.begin()->second->woken_.notify_one();
}

void CallGate::Learn(const absl::Status& refusal) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(refusal);
  int limit = 0;
  if (!learns_ || !info.has_value() || !absl::SimpleAtoi(info->highest, &limit) || limit < 1 || limit > most_) return;
  if (std::find(std::begin(kCountFlags), std::end(kCountFlags), info->flag) == std::end(kCountFlags)) return;
  most_ = limit;
  limit_of_ = info->flag;
}

CallGate::Turn::Turn(CallGate* gate, absl::Duration timeout)
    : gate_(gate), begun_(SteadyNow()), deadline_(begun_ + timeout) {
  const std::lock_guard<std::mutex> lock(gate_->mutex_);
  number_ = gate_->joined_++;
  gate_->line_.emplace(number_, this);
}

CallGate::Turn::~Turn() {
  const std::lock_guard<std::mutex> lock(gate_->mutex_);
  if (under_way_) {
    --gate_->under_way_;
    gate_->answered_at_ = SteadyNow();
  } else {
    gate_->line_.erase(number_);
  }
  gate_->WakeFirst();
}

absl::Status CallGate::Turn::Wait() {
  std::unique_lock<std::mutex> lock(gate_->mutex_);
  for (;;) {
    if (gate_->cancelled_) return absl::CancelledError("calls: the client was cancelled");
    const absl::Time now = SteadyNow();
    const bool is_first = gate_->line_.begin()->second == this, paused = now < gate_->pause_end_;
    if (is_first && gate_->under_way_ < (paused ? gate_->taken_ : gate_->most_)) {
      gate_->line_.erase(number_);
      ++gate_->under_way_;
      under_way_ = true;
      gate_->WakeFirst();
      return absl::OkStatus();
    }
    const absl::Time end = std::min(deadline_, std::max(begun_, gate_->answered_at_) + gate_->patience_);
    if (now >= end) return NoTurn(now);
    const absl::Time until = is_first && paused ? std::min(end, gate_->pause_end_) : end;
    woken_.wait_for(lock, absl::ToChronoNanoseconds(std::min(until - now, absl::Hours(1))));
  }
}

bool CallGate::Turn::Refused(const absl::Status& status) {
  const std::optional<absl::Duration> retry_after = RetryAfterOf(status);
  if (!absl::IsResourceExhausted(status) || !retry_after.has_value() || gate_->patience_ <= absl::ZeroDuration()) {
    return false;
  }
  const std::lock_guard<std::mutex> lock(gate_->mutex_);
  --gate_->under_way_;
  under_way_ = false;
  gate_->line_.emplace(number_, this);
  gate_->refused_at_ = SteadyNow();
  gate_->refusal_ = status;
  gate_->pause_end_ = gate_->refused_at_ + *retry_after;
  gate_->taken_ = gate_->under_way_;
  gate_->Learn(status);
  gate_->WakeFirst();
  return true;
}

absl::Duration CallGate::Turn::left() const { return deadline_ - SteadyNow(); }

absl::Status CallGate::Turn::NoTurn(absl::Time now) const {
  const std::string whose = gate_->limit_of_.empty() ? "this client's calls_at_once"
                                                     : absl::StrCat("this server's limit (", gate_->limit_of_, ")");
  const std::string last =
      gate_->refused_at_ < begun_ ? "" : absl::StrCat("; the last refusal: ", gate_->refusal_.message());
  const std::string problem =
      absl::StrCat("no turn within ", absl::FormatDuration(absl::Trunc(now - begun_, absl::Milliseconds(1))), ", with ",
                   gate_->under_way_, " under way; ", whose, " is ", gate_->most_, last);
  if (now >= deadline_) return absl::DeadlineExceededError(absl::StrCat("calls: ", problem));
  const std::string limit = gate_->limit_of_.empty() ? "" : absl::StrCat(gate_->most_);
  return ExhaustedError("calls", problem, limit, gate_->limit_of_);
}

}  // namespace glint::client
