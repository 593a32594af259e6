#include "server/operations/localize/imu_wait.h"

#include <algorithm>

namespace glint {

int64_t ImuWait::Until(int64_t received_at, int64_t expires_at) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (most_ns_ == 0 || in_vain_ >= kMostInVain) return 0;
  if (since_ == 0 || received_at - since_ > most_ns_) since_ = received_at;
  until_ = std::min(since_, received_at) + most_ns_;
  if (expires_at != 0) until_ = std::min(until_, received_at + (expires_at - received_at) / 2);
  return until_;
}

void ImuWait::Begin(int64_t turn, int64_t time_ns, bool had_readings, bool has_readings, int64_t now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (has_readings) {
    if (!had_readings) in_vain_ = 0;
  } else {
    if (until_ != 0 && now >= until_) ++in_vain_;
    open_turn_ = turn;
    open_time_ns_ = time_ns;
  }
  since_ = until_ = 0;
}

void ImuWait::Answered(int64_t turn) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_turn_ == turn) open_turn_ = 0;
}

void ImuWait::Came(int64_t newest_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_turn_ == 0 || newest_ns < open_time_ns_) return;
  in_vain_ = 0;
  open_turn_ = 0;
}

}  // namespace glint
