// The Harris corner measure at one pixel.
#ifndef GLINT_FEATURES_REFERENCE_HARRIS_H_
#define GLINT_FEATURES_REFERENCE_HARRIS_H_

#include "features/types.h"

namespace glint::reference {

// det(M) - 0.04 trace(M)^2, where M sums the products of 3x3 Sobel derivatives over the 7x7 pixels around (x, y), in
// units in which pixels are 0..1 (cv::ORB's HarrisResponses, orb.cpp). Reads reflections outside the level.
float HarrisAt(const ImageView& level, int x, int y);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_HARRIS_H_
