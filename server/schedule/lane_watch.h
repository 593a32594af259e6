// Notices lanes that have begun a frame and do not end it: a device or a driver that hangs reports nothing. A lane that
// is only busy ends its frames, however many wait.
#ifndef GLINT_SERVER_SCHEDULE_LANE_WATCH_H_
#define GLINT_SERVER_SCHEDULE_LANE_WATCH_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/time/time.h"

namespace glint {

struct StuckLanes {
  int count = 0;
  int longest = -1;        // the lane that has been at its frame for the longest time; -1: none is stuck
  int64_t longest_ns = 0;  // that time
};

// Since when each lane has been at its frame. Thread-safe, takes no lock. Times are MonotonicNs().
class LaneProgress {
 public:
  // A lane is stuck once it has been at one frame for longer than `limit_ns`.
  LaneProgress(int lanes, int64_t limit_ns) : limit_ns_(limit_ns), begun_at_(static_cast<size_t>(lanes)) {}

  // `now` > 0.
  void Begin(int lane, int64_t now) { begun_at_[static_cast<size_t>(lane)] = now; }
  void End(int lane) { begun_at_[static_cast<size_t>(lane)] = 0; }

  StuckLanes Check(int64_t now) const;

 private:
  const int64_t limit_ns_;
  std::vector<std::atomic<int64_t>> begun_at_;  // 0: at none
};

// Looks at the lanes four times per limit, on a thread of its own. Thread-safe.
class LaneWatch {
 public:
  // `changed` is called on that thread whenever the number of stuck lanes has changed; it was 0.
  LaneWatch(int lanes, absl::Duration limit, std::function<void(const StuckLanes&)> changed);
  ~LaneWatch();
  LaneWatch(const LaneWatch&) = delete;
  LaneWatch& operator=(const LaneWatch&) = delete;

  // The lane has begun (true) or ended a frame.
  void LaneBusy(int lane, bool busy);

 private:
  void Main();

  const absl::Duration period_;
  const std::function<void(const StuckLanes&)> changed_;
  LaneProgress progress_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_LANE_WATCH_H_
