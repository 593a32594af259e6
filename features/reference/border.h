// Pixels outside a level. cv::ORB keeps each level in a buffer with a margin that copyMakeBorder fills once, by
// BORDER_REFLECT_101 of the level as resized, and that is wide enough for every stage (orb.cpp, detectAndCompute).
#ifndef GLINT_FEATURES_REFERENCE_BORDER_H_
#define GLINT_FEATURES_REFERENCE_BORDER_H_

#include "features/math.h"
#include "features/types.h"

namespace glint::reference {

inline bool Contains(const ImageView& level, int x, int y) {
  return x >= 0 && x < level.width && y >= 0 && y < level.height;
}

// Any x and y.
inline uint8_t PixelOrReflection(const ImageView& level, int x, int y) {
  return level.at(Reflect101(x, level.width), Reflect101(y, level.height));
}

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_BORDER_H_
