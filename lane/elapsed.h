// How long a step of a lane took. Thread-safe.
#ifndef GLINT_LANE_ELAPSED_H_
#define GLINT_LANE_ELAPSED_H_

#include <chrono>
#include <cstdint>

namespace glint {

using LaneClock = std::chrono::steady_clock;

inline int64_t NanosecondsSince(LaneClock::time_point start) {
  return std::chrono::nanoseconds(LaneClock::now() - start).count();
}

}  // namespace glint

#endif  // GLINT_LANE_ELAPSED_H_
