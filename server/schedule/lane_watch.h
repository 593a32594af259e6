// Detects lanes that hang in a frame: a hanging device or driver reports no error. A lane that is merely busy finishes
// its frames, however many are waiting, or the parts of a long one.
#ifndef GLINT_SERVER_SCHEDULE_LANE_WATCH_H_
#define GLINT_SERVER_SCHEDULE_LANE_WATCH_H_

#include <sys/types.h>

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
  int longest = -1;        // index of the longest stuck lane; -1: none is stuck
  int64_t longest_ns = 0;  // since its frame began or last came forward
  pid_t thread = 0;        // of that lane
};

// When each lane last came forward with its current frame. Thread-safe, takes no lock. Times are MonotonicNs().
class LaneProgress {
 public:
  // A lane is stuck when it has come no further with its frame for longer than `limit_ns`.
  LaneProgress(int lanes, int64_t limit_ns)
      : limit_ns_(limit_ns), moved_at_(static_cast<size_t>(lanes)), threads_(static_cast<size_t>(lanes)) {}

  // Called on the lane's thread. `now` > 0.
  void Begin(int lane, int64_t now);
  // Called between these two, on any thread.
  void Move(int lane, int64_t now) { moved_at_[static_cast<size_t>(lane)] = now; }
  void End(int lane) { moved_at_[static_cast<size_t>(lane)] = 0; }

  StuckLanes Check(int64_t now) const;

 private:
  const int64_t limit_ns_;
  std::vector<std::atomic<int64_t>> moved_at_;  // 0: idle
  std::vector<std::atomic<pid_t>> threads_;
};

// Checks the lanes four times per limit, on a thread of its own. Thread-safe.
class LaneWatch {
 public:
  struct Limits {
    absl::Duration stuck;  // time at one frame, or at one part of long work on it
    absl::Duration grace;  // further time until given_up; may be infinite
  };
  // Callbacks, on the thread of the watch.
  struct Events {
    std::function<void(const StuckLanes&)> changed;   // the number of stuck lanes has changed; initially 0
    std::function<void(const StuckLanes&)> given_up;  // once: a lane has been stuck for longer than `grace`
  };
  // Throws std::system_error if the thread cannot be made.
  LaneWatch(int lanes, const Limits& limits, Events events);
  ~LaneWatch();
  LaneWatch(const LaneWatch&) = delete;
  LaneWatch& operator=(const LaneWatch&) = delete;

  // Reports that a lane has begun (true) or finished a frame. Called on the lane's thread.
  void LaneBusy(int lane, bool busy);
  // Reports that a busy lane has finished a part of its frame. Called on any thread.
  void LaneMoves(int lane);
  // Current state.
  StuckLanes Check() const;

 private:
  void Main();

  const absl::Duration period_;
  const absl::Duration give_up_after_;
  const Events events_;
  LaneProgress progress_;
  std::mutex mutex_;
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_LANE_WATCH_H_
