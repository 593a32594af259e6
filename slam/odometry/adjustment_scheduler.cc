#include "slam/odometry/adjustment_scheduler.h"

#include <utility>

namespace glint::slam {

void AdjustmentScheduler::Start(const AdjustmentOptions& options, LocalProblem problem) {
  frames_left_ = delay_;
  adjustment_ = RunInBackground(threads_, [options, problem = std::move(problem)]() mutable {
    Adjust(options, &problem);
    return std::move(problem);
  });
}

bool AdjustmentScheduler::IsDue() {
  if (!is_running()) return false;
  if (use_ == AdjustmentUse::kAfterDelay) return --frames_left_ <= 0;
  return adjustment_.ready();
}

}  // namespace glint::slam
