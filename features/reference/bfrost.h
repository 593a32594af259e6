// The BFROST descriptor of one keypoint.
#ifndef GLINT_FEATURES_REFERENCE_BFROST_H_
#define GLINT_FEATURES_REFERENCE_BFROST_H_

#include <array>
#include <cstdint>

#include "features/bfrost.h"
#include "features/types.h"

namespace glint::reference {

// `step` is the keypoint's orientation, 0..31 (features/arc.h). Bit b of the result is bit b % 8 of byte b / 8.
std::array<uint8_t, kBfrostBytes> DescribeBfrost(const ImageView& level, int x, int y, int step,
                                                 const BfrostPattern& pattern);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_BFROST_H_
