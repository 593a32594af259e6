#include "server/schedule/lane_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "server/base/clock.h"

namespace glint {

void LaneProgress::Begin(int lane, int64_t now) {
  static thread_local const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  threads_[static_cast<size_t>(lane)].store(thread, std::memory_order_relaxed);
  moved_at_[static_cast<size_t>(lane)] = now;
}

StuckLanes LaneProgress::Check(int64_t now) const {
  StuckLanes stuck;
  for (size_t lane = 0; lane < moved_at_.size(); ++lane) {
    const int64_t moved_at = moved_at_[lane];
    if (moved_at == 0 || now - moved_at <= limit_ns_) continue;
    ++stuck.count;
    if (now - moved_at <= stuck.longest_ns) continue;
    stuck.longest = static_cast<int>(lane);
    stuck.longest_ns = now - moved_at;
    stuck.thread = threads_[lane].load(std::memory_order_relaxed);
  }
  return stuck;
}

LaneWatch::LaneWatch(int lanes, const Limits& limits, Events events)
    : period_(std::clamp(limits.stuck / 4, absl::Milliseconds(1), absl::Seconds(1))),
      give_up_after_(limits.stuck + limits.grace),
      events_(std::move(events)),
      progress_(lanes, absl::ToInt64Nanoseconds(limits.stuck)),
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

void LaneWatch::LaneMoves(int lane) { progress_.Move(lane, MonotonicNs()); }

StuckLanes LaneWatch::Check() const { return progress_.Check(MonotonicNs()); }

void LaneWatch::Main() {
  int count = 0;
  bool given_up = false;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_changed_.wait_for(lock, absl::ToChronoNanoseconds(period_), [this] { return stop_; })) {
    const StuckLanes stuck = Check();
    if (stuck.count != count) {
      count = stuck.count;
      events_.changed(stuck);
    }
    if (!given_up && absl::Nanoseconds(stuck.longest_ns) > give_up_after_) {
      given_up = true;
      events_.given_up(stuck);
    }
  }
}

}  // namespace glint
