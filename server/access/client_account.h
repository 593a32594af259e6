// Resource accounting per client, over all its calls. A client is an identity or, without one, a peer address.
#ifndef GLINT_SERVER_ACCESS_CLIENT_ACCOUNT_H_
#define GLINT_SERVER_ACCESS_CLIENT_ACCOUNT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/config/client_limits.h"
#include "server/schedule/frame_queue.h"

namespace glint {

// A token bucket of `rate` per second that holds one second of budget. Thread-compatible.
class RateBudget {
 public:
  // `rate` 0: no limit. `least`: the smallest capacity of the bucket. The bucket starts full.
  RateBudget(double rate, double least) : rate_(rate), most_(rate > least ? rate : least), left_(most_) {}

  // Nanoseconds until `amount` is available; 0: it is available now.
  int64_t WaitFor(double amount, int64_t now);
  // Subtracts; the balance may become negative.
  void Spend(double amount) { left_ -= amount; }
  bool full(int64_t now);

 private:
  void Refill(int64_t now);

  const double rate_, most_;
  double left_;
  int64_t at_ = 0;  // MonotonicNs() of left_
};

// Thread-safe. Allocates nothing but for errors.
class ClientAccount {
 public:
  struct Refusal {
    ClientLimit limit = ClientLimit::kFrames;
    int64_t retry_after_ns = 0;
    absl::Status status;  // OK: none
  };

  ClientAccount(std::string name, const ClientLimits& limits);

  // Charges one frame of `bytes` bytes. If it is admitted, GiveBack() must follow. RESOURCE_EXHAUSTED names the
  // client, the limit and its flag. `now`: MonotonicNs().
  Refusal Take(int64_t bytes, int64_t now);
  // Returns one frame that occupied a lane for this long.
  void GiveBack(int64_t bytes, int64_t lane_ns, int64_t now);

  const std::string& name() const { return name_; }
  // The client's group in the frame queue: the flows of its streams, and one flow for all its unary calls.
  FlowGroup* flows() { return &flows_; }
  FrameFlow* detect_flow() { return &detect_flow_; }

  // True if the account is in its initial state, so that it can be deleted and created again later.
  bool rested(int64_t now);

 private:
  Refusal Over(ClientLimit limit, int64_t retry_after_ns, absl::string_view field, absl::string_view how,
               const std::string& most, absl::string_view flag) const;

  const std::string name_;
  const ClientLimits limits_;
  FlowGroup flows_;
  FrameFlow detect_flow_{&flows_};

  std::mutex mutex_;  // guards the rest
  int frames_ = 0;
  int64_t bytes_ = 0;
  RateBudget frame_budget_;
  RateBudget lane_budget_;              // seconds
  double lane_seconds_of_a_frame_ = 0;  // recent mean
};

// Thread-safe. Must outlive the accounts' users.
class ClientAccounts {
 public:
  explicit ClientAccounts(const ClientLimits& limits) : limits_(limits) {}

  // The client's account. It exists while it is referenced or a budget is not full. An empty name is this process,
  // which has no limits.
  std::shared_ptr<ClientAccount> Of(const std::string& name, int64_t now);

  int size() const;

 private:
  static constexpr size_t kFewAccounts = 64;

  const ClientLimits limits_;
  mutable std::mutex mutex_;
  size_t tidy_at_ = kFewAccounts;
  std::map<std::string, std::shared_ptr<ClientAccount>> accounts_;
};

}  // namespace glint

#endif  // GLINT_SERVER_ACCESS_CLIENT_ACCOUNT_H_
