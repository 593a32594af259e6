// The times of a stream's frames, judged: clocks jump, are set back, and stamp what comes in bursts.
#ifndef GLINT_SLAM_WATCH_FRAME_CLOCK_H_
#define GLINT_SLAM_WATCH_FRAME_CLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "features/warning.h"

namespace glint::slam {

// Numbers, the newest kCount of those that were added. A plain value: thread-compatible.
template <size_t kCount>
class LastNumbers {
 public:
  void Add(int64_t number) { numbers_[count_++ % kCount] = number; }
  void Clear() { count_ = 0; }
  size_t size() const { return count_ < kCount ? count_ : kCount; }
  bool full() const { return count_ >= kCount; }
  int64_t oldest() const { return numbers_[full() ? count_ % kCount : 0]; }
  int64_t Median() const;  // the upper one of two; not empty

 private:
  std::array<int64_t, kCount> numbers_ = {};
  size_t count_ = 0;
};

// Gives each frame a time that is above the last one's, by the stamps as far as these are in line: ahead of the last
// good stamp by at most 8 usual steps (10 s while none is known). A stamp out of line is used for nothing, and its
// frame counts as one usual step later; three in a row that go on from each other are the clock from then on. A step
// below half of the usual one, as in a burst, counts as a usual step, and what that is too much is taken from the next
// ones; but not before three steps are known, or where pairs come more than 0.5 s apart, as from a triggered camera.
// While all stamps are in line, times are the stamps. A plain value: thread-compatible.
class FrameClock {
 public:
  // `are_of_capture`: stamps are as exact as readings of an inertial sensor that they are compared with, and short
  // steps are as they are.
  explicit FrameClock(bool are_of_capture = false) : are_of_capture_(are_of_capture) {}

  // INVALID_ARGUMENT: the last frame, or the last one in line, had the same stamp.
  absl::Status Validate(int64_t stamp_ns) const;
  // The time of the next frame, whose stamp is valid. A stamp that is not used as it is adds a warning, whose figure is
  // the step from the last stamp in line, ms. `is_known`: another sensor tells that so much time has passed; then the
  // stamp is in line, however long the step.
  int64_t Next(int64_t stamp_ns, std::vector<Warning>* warnings, bool is_known = false);

 private:
  int64_t UsualStep() const;  // 0: not known
  int64_t TakeInLine(int64_t stamp_ns, int64_t step, int64_t due, std::vector<Warning>* warnings);
  int64_t TakeOutOfLine(int64_t stamp_ns, int64_t step, std::vector<Warning>* warnings);

  bool are_of_capture_;
  bool has_time_ = false;
  int64_t last_stamp_ = 0;
  int64_t time_ = 0;         // of the last frame
  int64_t anchor_ = 0;       // the last stamp in line
  int64_t anchor_time_ = 0;  // what it stands for
  int others_ = 0;           // stamps out of line, one after the other, that go on from each other
  LastNumbers<9> steps_;     // in line
  LastNumbers<33> stamps_;   // likewise
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_WATCH_FRAME_CLOCK_H_
