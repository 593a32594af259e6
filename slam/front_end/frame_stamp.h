// Which frame it was, and when. Plain values: thread-safe.
#ifndef GLINT_SLAM_FRONT_END_FRAME_STAMP_H_
#define GLINT_SLAM_FRONT_END_FRAME_STAMP_H_

#include <cstdint>

namespace glint::slam {

struct FrameStamp {
  uint64_t frame_id = 0;  // the caller's: kept with keyframes, and of no other use
  int64_t time_ns = 0;    // of capture, nanoseconds of any clock
};

// From one time to a later one, seconds, above 0. Both are rounded to seconds in a double first, so that poses do not
// depend on whether a caller has seconds or nanoseconds; times that are then the same count as a nanosecond apart.
inline double SecondsBetween(int64_t from_ns, int64_t to_ns) {
  const double from = static_cast<double>(from_ns) * 1e-9, to = static_cast<double>(to_ns) * 1e-9;
  return to > from ? to - from : 1e-9;
}

}  // namespace glint::slam

#endif  // GLINT_SLAM_FRONT_END_FRAME_STAMP_H_
