// What the device wrote into the memory that the host reads, as features.
#ifndef GLINT_CUDA_RESULT_H_
#define GLINT_CUDA_RESULT_H_

#include <algorithm>
#include <cstdint>

#include "cuda/plan/frame.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cuda {

// Corners of each level.
struct LevelCounts {
  uint32_t kept[kMaxLevels] = {};
  friend bool operator==(const LevelCounts& a, const LevelCounts& b) {
    return std::equal(a.kept, a.kept + kMaxLevels, b.kept);
  }
};

// A frame is `frame` as the host sees it: with Frame::result and of each level its corners, scale and, unless they stay
// on the device, descriptors.

// What the device has written.
LevelCounts CountsOf(const Frame& frame);

// Makes room in `features` for so many, and fills in what depends on the level alone: size and octave. Needs nothing of
// the device.
void FillByLevel(const Frame& frame, const DetectorOptions& detector, const LevelCounts& counts, Features* features);

// A response is a corner's key as a float times `response_scale`, or the key itself if `integer_keys`. `filled`: what
// FillByLevel() was called with for `features`. Returns what the frame has.
LevelCounts ReadResult(const Frame& frame, const DetectorOptions& detector, bool integer_keys, float response_scale,
                       const LevelCounts& filled, Features* features);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RESULT_H_
