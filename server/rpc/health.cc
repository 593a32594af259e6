#include "server/rpc/health.h"

#include <algorithm>
#include <utility>

namespace glint {
namespace {

constexpr absl::Duration kLongestWait = absl::Hours(24 * 365);

}  // namespace

void Health::LaneIsWarm() {
  std::lock_guard<std::mutex> lock(mutex_);
  --cold_lanes_;
  ChangedLocked();
}

void Health::LaneLeaves(bool warm) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!warm) --cold_lanes_;
  ChangedLocked();
}

void Health::StartDraining() {
  std::lock_guard<std::mutex> lock(mutex_);
  draining_ = true;
  ChangedLocked();
}

void Health::SetLaneHealth(const absl::Status& lanes) {
  std::lock_guard<std::mutex> lock(mutex_);
  lane_health_ = lanes;
  ChangedLocked();
}

void Health::Fail(const absl::Status& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  failure_.Update(why);
  ChangedLocked();
}

bool Health::serving() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return ServingLocked();
}

absl::Status Health::failure() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

absl::Status Health::lane_health() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return lane_health_;
}

bool Health::WaitUntilServing(absl::Duration timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  // Waits by the steady clock, for a time that condition variables can represent.
  changed_.wait_for(lock, absl::ToChronoNanoseconds(std::min(timeout, kLongestWait)),
                    [this] { return cold_lanes_ == 0 || draining_ || shutdown_requested_ || !failure_.ok(); });
  return ServingLocked();
}

void Health::Publish(std::function<void(bool)> publish) {
  std::lock_guard<std::mutex> lock(mutex_);
  publish_ = std::move(publish);
  published_ = ServingLocked();
  if (publish_) publish_(published_);
}

absl::Status Health::WaitForEnd() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return shutdown_requested_ || !failure_.ok(); });
  return failure_;
}

void Health::RequestShutdown() {
  std::lock_guard<std::mutex> lock(mutex_);
  shutdown_requested_ = true;
  ChangedLocked();
}

void Health::ChangedLocked() {
  if (const bool serving = ServingLocked(); serving != published_ && publish_) {
    published_ = serving;
    publish_(serving);
  }
  changed_.notify_all();
}

}  // namespace glint
