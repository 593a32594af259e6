// The Harris measure at every pixel.
#ifndef GLINT_FEATURES_REFERENCE_DENSE_HARRIS_H_
#define GLINT_FEATURES_REFERENCE_DENSE_HARRIS_H_

#include <vector>

#include "features/reference/corner.h"
#include "features/types.h"

namespace glint::reference {

// cv::GaussianBlur with 3x3 pixels: weights 1 2 1 by 1 2 1, sixteenths, halves up; reflections outside.
Image Smooth(const ImageView& level);

// The measure of every pixel in raster order, as cv::cornerHarris(block, ksize 3, k) but for the rounding of its
// floats: here the sums are integers and only the last formula is in float. Outside the level the products of
// derivatives are reflected (BORDER_REFLECT_101), not the derivatives.
std::vector<float> HarrisMap(const ImageView& level, int block, float k);

// The pixels of the map that are over `threshold`, in raster order. With `fraction` the threshold is a multiple of the
// map's maximum.
std::vector<Corner> OverThreshold(const std::vector<float>& map, Shape shape, float threshold, bool fraction);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_DENSE_HARRIS_H_
