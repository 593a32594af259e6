// Steered BRIEF (Rublee et al. 2011, section 4).
#ifndef GLINT_FEATURES_REFERENCE_RBRIEF_H_
#define GLINT_FEATURES_REFERENCE_RBRIEF_H_

#include <array>
#include <cstdint>

#include "features/patch.h"
#include "features/types.h"

namespace glint::reference {

// The descriptor of the keypoint at (x, y) of the level, for its angle in degrees (cv::ORB's computeOrbDescriptors,
// WTA_K 2). Inside the level it compares pixels of `blurred`; outside, reflections of the level *before* blurring,
// because cv::ORB blurs the level in place and leaves the margin around it as it was.
std::array<uint8_t, kRbriefBytes> Describe(const ImageView& level, const ImageView& blurred, int x, int y, float angle,
                                           const RbriefPattern& pattern);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_RBRIEF_H_
