// The clock for all measurements and timeouts of a server.
#ifndef GLINT_SERVER_BASE_CLOCK_H_
#define GLINT_SERVER_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace glint {

// Nanoseconds of CLOCK_MONOTONIC: not changed by setting the time of day, stops while the machine is suspended.
inline int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The same clock at a tenth of the cost, up to 10 ms behind.
inline int64_t CoarseMonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace glint

#endif  // GLINT_SERVER_BASE_CLOCK_H_
