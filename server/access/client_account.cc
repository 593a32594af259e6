#include "server/access/client_account.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr int64_t kMinRetryNs = 1'000'000;
constexpr double kMeanWeight = 8;  // of the old mean; a new value has weight 1

}  // namespace

void RateBudget::Refill(int64_t now) {
  if (at_ != 0) left_ = std::min(most_, left_ + rate_ * static_cast<double>(now - at_) / kNanoseconds);
  at_ = now;
}

int64_t RateBudget::WaitFor(double amount, int64_t now) {
  if (rate_ == 0) return 0;
  Refill(now);
  if (left_ >= amount) return 0;
  return static_cast<int64_t>((amount - left_) / rate_ * kNanoseconds) + 1;
}

bool RateBudget::full(int64_t now) {
  if (rate_ == 0) return true;
  Refill(now);
  return left_ >= most_;
}

ClientAccount::ClientAccount(std::string name, const ClientLimits& limits)
    : name_(std::move(name)),
      limits_(limits),
      frame_budget_(limits.frame_rate, 1),
      lane_budget_(limits.lane_seconds, limits.lane_seconds) {}

ClientAccount::Refusal ClientAccount::Over(ClientLimit limit, int64_t retry_after_ns, absl::string_view field,
                                           absl::string_view how, const std::string& most,
                                           absl::string_view flag) const {
  Refusal refusal;
  refusal.limit = limit;
  refusal.retry_after_ns = std::max(retry_after_ns, kMinRetryNs);
  refusal.status = ExhaustedError(field,
                                  absl::StrCat("one more ", how, " of ", name_, " is over this server's limit of ",
                                               most, " (", flag, "); try again later"),
                                  most, flag);
  return refusal;
}

ClientAccount::Refusal ClientAccount::Take(int64_t bytes, int64_t now) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (limits_.frames > 0 && frames_ >= limits_.frames) {
    const auto wait_ns = static_cast<int64_t>(lane_seconds_of_a_frame_ * kNanoseconds);
    return Over(ClientLimit::kFrames, wait_ns, "frames", "in flight", absl::StrCat(limits_.frames),
                "--max-frames-per-client");
  }
  if (limits_.bytes > 0 && bytes_ > limits_.bytes - bytes) {
    const auto wait_ns = static_cast<int64_t>(lane_seconds_of_a_frame_ * kNanoseconds);
    return Over(ClientLimit::kBytes, wait_ns, "bytes", "in flight", absl::StrCat(limits_.bytes),
                "--max-bytes-per-client");
  }
  if (const int64_t wait_ns = frame_budget_.WaitFor(1, now); wait_ns > 0) {
    return Over(ClientLimit::kFrameRate, wait_ns, "frames", "a second", absl::StrCat(limits_.frame_rate),
                "--max-frame-rate-per-client");
  }
  // The cost of a frame is known only afterwards: a frame may begin while any budget is left, and later frames wait for
  // the debt.
  if (const int64_t wait_ns = lane_budget_.WaitFor(1e-9, now); wait_ns > 0) {
    return Over(ClientLimit::kLaneSeconds, wait_ns, "lane_seconds", "a second", absl::StrCat(limits_.lane_seconds),
                "--max-lane-seconds-per-client");
  }
  frame_budget_.Spend(1);
  ++frames_;
  bytes_ += bytes;
  return {};
}

void ClientAccount::GiveBack(int64_t bytes, int64_t lane_ns, int64_t now) {
  std::lock_guard<std::mutex> lock(mutex_);
  --frames_;
  bytes_ -= bytes;
  if (lane_ns <= 0) return;
  const double seconds = static_cast<double>(lane_ns) / kNanoseconds;
  lane_budget_.WaitFor(0, now);  // caps the refill until now at the budget
  lane_budget_.Spend(seconds);
  lane_seconds_of_a_frame_ += (seconds - lane_seconds_of_a_frame_) / (lane_seconds_of_a_frame_ == 0 ? 1 : kMeanWeight);
}

bool ClientAccount::rested(int64_t now) {
  std::lock_guard<std::mutex> lock(mutex_);
  return frames_ == 0 && frame_budget_.full(now) && lane_budget_.full(now);
}

std::shared_ptr<ClientAccount> ClientAccounts::Of(const std::string& name, int64_t now) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = accounts_.find(name); found != accounts_.end()) return found->second;
  if (accounts_.size() >= tidy_at_) {
    for (auto at = accounts_.begin(); at != accounts_.end();) {
      at = at->second.use_count() == 1 && at->second->rested(now) ? accounts_.erase(at) : std::next(at);
    }
    tidy_at_ = std::max(kFewAccounts, 2 * accounts_.size());
  }
  auto account = std::make_shared<ClientAccount>(name, name.empty() ? ClientLimits() : limits_);
  accounts_.emplace(name, account);
  return account;
}

int ClientAccounts::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(accounts_.size());
}

}  // namespace glint
