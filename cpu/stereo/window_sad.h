// Sums of absolute differences for stereo refinement, one function per SIMD target. Internal to Glint. Pure functions:
// thread-safe.
#ifndef GLINT_CPU_STEREO_WINDOW_SAD_H_
#define GLINT_CPU_STEREO_WINDOW_SAD_H_

#include <cstdint>

#include "features/stereo.h"

namespace glint::cpu {

// The sums of all positions. The windows must be inside both images (AreInside); nothing outside the rows of the images
// is read.
using WindowSads = void (*)(const ImageView& left, const ImageView& right, const StereoWindows& windows,
                            int32_t sad[kStereoPositions]);
WindowSads WindowSadsFor(int64_t target);

}  // namespace glint::cpu

#endif  // GLINT_CPU_STEREO_WINDOW_SAD_H_
