// The local adjustment on a second thread, and when it is used.
#ifndef GLINT_SLAM_ODOMETRY_ADJUSTMENT_SCHEDULER_H_
#define GLINT_SLAM_ODOMETRY_ADJUSTMENT_SCHEDULER_H_

#include "features/background.h"
#include "slam/adjust/local_adjustment.h"

namespace glint::slam {

// When an adjustment is used.
enum class AdjustmentUse {
  kAfterDelay,  // adjust_delay frames later, always
  kWhenReady,   // poses depend on the machine's load; no keyframe is taken while an adjustment goes on
};

// Not thread-safe.
class AdjustmentScheduler {
 public:
  // `delay`: OdometryOptions::adjust_delay. `threads` must outlive this; null: Start() adjusts, on the caller's thread.
  AdjustmentScheduler(AdjustmentUse use, int delay, BackgroundThreads* threads)
      : use_(use), delay_(delay), threads_(threads) {}

  bool is_running() const { return adjustment_.valid(); }
  // Whether an adjustment that goes on may be finished before its delay, for the next keyframe.
  bool may_finish_early() const { return use_ == AdjustmentUse::kAfterDelay; }
  // Whether an adjustment is used in the frame that starts it.
  bool is_immediate() const { return use_ == AdjustmentUse::kAfterDelay && delay_ == 0; }

  // None may go on.
  void Start(const AdjustmentOptions& options, LocalProblem problem);
  // Once in each frame: whether Finish() is due.
  bool IsDue();
  // Waits for the adjustment that goes on.
  LocalProblem Finish() { return adjustment_.get(); }

 private:
  const AdjustmentUse use_;
  const int delay_;
  BackgroundThreads* const threads_;
  BackgroundResult<LocalProblem> adjustment_;
  int frames_left_ = 0;  // until it is used
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ODOMETRY_ADJUSTMENT_SCHEDULER_H_
