// Spin budget of an idle lane: how long it polls for the next frame before it sleeps. While frames keep arriving, no
// lane needs to be woken; otherwise the budget is 0.
#ifndef GLINT_SERVER_SCHEDULE_SPIN_BUDGET_H_
#define GLINT_SERVER_SCHEDULE_SPIN_BUDGET_H_

#include <algorithm>
#include <cstdint>

namespace glint {

// A lane spins once three of its last four frames arrived within kMostNs of its becoming idle, and then for four times
// the mean wait. So a camera of 1000 frames/s and more keeps its lane awake, and one of 30 frames/s never does. Frames
// that come in bursts cost no more than kMostNs after each burst. Thread-compatible.
class SpinBudget {
 public:
  static constexpr int64_t kLeastNs = 50'000;
  static constexpr int64_t kMostNs = 1'000'000;

  // Nanoseconds to spin; 0: sleep at once.
  int64_t LimitNs() const {
    const int soon = (recent_ & 1) + (recent_ >> 1 & 1) + (recent_ >> 2 & 1) + (recent_ >> 3 & 1);
    return soon < 3 ? 0 : std::clamp(4 * mean_ns_, kLeastNs, kMostNs);
  }

  // A frame arrived when the lane had been idle for `idle_ns`; 0: it was waiting already.
  void FrameCameAfter(int64_t idle_ns) {
    const bool soon = idle_ns <= kMostNs;
    recent_ = recent_ << 1 | (soon ? 1u : 0u);
    if (soon) mean_ns_ += (idle_ns - mean_ns_) / 4;
  }

 private:
  unsigned recent_ = 0;  // the latest frame in the lowest bit
  int64_t mean_ns_ = 0;  // weighted towards the latest
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_SPIN_BUDGET_H_
