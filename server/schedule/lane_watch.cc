#include "server/schedule/lane_watch.h"

#include <algorithm>
#include <utility>

#include "server/clock.h"

namespace glint {

StuckLanes LaneProgress::Check(int64_t now) const {
  StuckLanes stuck;
  for (size_t lane = 0; lane < begun_at_.size(); ++lane) {
    const int64_t begun_at = begun_at_[lane];
    if (begun_at == 0 || now - begun_at <= limit_ns_) continue;
    ++stuck.count;
    if (now - begun_at <= stuck.longest_ns) continue;
    stuck.longest = static_cast<int>(lane);
    stuck.longest_ns = now - begun_at;
  }
  return stuck;
}

LaneWatch::LaneWatch(int lanes, absl::Duration limit, std::function<void(const StuckLanes&)> changed)
    : period_(std::clamp(limit / 4, absl::Milliseconds(1), absl::Seconds(1))),
      changed_(std::move(changed)),
      progress_(lanes, absl::ToInt64Nanoseconds(limit)),
      thread_([this] { Main(); }) {}

LaneWatch::~LaneWatch() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  thread_.join();
}

void LaneWatch::LaneBusy(int lane, bool busy) { busy ? progress_.Begin(lane, MonotonicNs()) : progress_.End(lane); }

void LaneWatch::Main() {
  int count = 0;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_changed_.wait_for(lock, absl::ToChronoNanoseconds(period_), [this] { return stop_; })) {
    const StuckLanes stuck = progress_.Check(MonotonicNs());
    if (stuck.count == count) continue;
    count = stuck.count;
    changed_(stuck);
  }
}

}  // namespace glint
