// How long a lane without a frame looks for the next one before it sleeps: as long as frames have kept coming, so that
// none of them has to wake it; not at all otherwise.
#ifndef GLINT_SERVER_SCHEDULE_LOOK_TIME_H_
#define GLINT_SERVER_SCHEDULE_LOOK_TIME_H_

#include <algorithm>
#include <cstdint>

namespace glint {

// A lane looks once three of its last four frames came within kMostNs of its becoming idle, and then for four times the
// mean of such waits. So a camera of 1000 frames/s and more keeps its lane awake, and one of 30 frames/s never does.
// Frames that come in bursts cost no more than kMostNs after each. Thread-compatible.
class LookTime {
 public:
  static constexpr int64_t kLeastNs = 50'000;
  static constexpr int64_t kMostNs = 1'000'000;

  // 0: not at all.
  int64_t LimitNs() const {
    const int soon = (recent_ & 1) + (recent_ >> 1 & 1) + (recent_ >> 2 & 1) + (recent_ >> 3 & 1);
    return soon < 3 ? 0 : std::clamp(4 * mean_ns_, kLeastNs, kMostNs);
  }

  // A frame came when the lane had been idle for `idle_ns`; 0: it was there.
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

#endif  // GLINT_SERVER_SCHEDULE_LOOK_TIME_H_
