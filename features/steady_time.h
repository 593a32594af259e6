// Time for measuring and waiting, which does not change when the time of day is set.
#ifndef GLINT_FEATURES_STEADY_TIME_H_
#define GLINT_FEATURES_STEADY_TIME_H_

#include <chrono>

#include "absl/time/time.h"

namespace glint {

// Of CLOCK_MONOTONIC: only differences mean something. Any thread.
inline absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace glint

#endif  // GLINT_FEATURES_STEADY_TIME_H_
