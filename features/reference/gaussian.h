// The smoothing before rBRIEF.
#ifndef GLINT_FEATURES_REFERENCE_GAUSSIAN_H_
#define GLINT_FEATURES_REFERENCE_GAUSSIAN_H_

#include "features/types.h"

namespace glint::reference {

// cv::GaussianBlur, 7x7, sigma 2, as cv::ORB calls it: on a sub-matrix whose surroundings are its reflection (see
// features/math.h for what that changes).
Image GaussianBlur(const ImageView& level);

// The same on a whole matrix, as ORB-SLAM2 calls it, in fixed point.
Image FixedGaussianBlur(const ImageView& level);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_GAUSSIAN_H_
