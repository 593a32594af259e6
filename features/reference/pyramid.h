// The cascaded pyramid of cv::ORB (orb.cpp, detectAndCompute, OpenCV 4.6).
#ifndef GLINT_FEATURES_REFERENCE_PYRAMID_H_
#define GLINT_FEATURES_REFERENCE_PYRAMID_H_

#include <vector>

#include "features/options.h"
#include "features/types.h"

namespace glint::reference {

// cv::resize with INTER_LINEAR_EXACT (resize.cpp, resize_bitExact). `to` is at most the image's shape, and not empty.
Image Resize(const ImageView& image, Shape to);

// cv::resize with INTER_LINEAR (features/linear_resize.h), likewise.
Image ResizeLinear(const ImageView& image, Shape to);

// Pyramid::kHalf: each pixel the mean of 2x2, halves up; an odd last row or column is left out. Both sides 2 or more.
Image Halve(const ImageView& image);

// How each level is made from the one before, or from the image.
enum class Interpolation {
  kExact,   // Resize
  kLinear,  // ResizeLinear: ORB-SLAM2, Selection::kQuadtree
};
inline Interpolation InterpolationOf(const DetectorOptions& options) {
  return options.selection == Selection::kQuadtree ? Interpolation::kLinear : Interpolation::kExact;
}

// plan.levels images. Level 0 is the image itself, each other level is made as Pyramid says. From the first level with
// an empty shape on, all are empty. (cv::ORB throws on these; for Glint they have no keypoints.)
std::vector<Image> BuildPyramid(Pyramid kind, const PyramidPlan& plan, const ImageView& image,
                                Interpolation interpolation = Interpolation::kExact);

// A mask for each level; empty ones for an empty mask. At level 0 any value but 0 is set, and 255 if
// AnyMaskValueIsSet().
// Pyramid::kCascaded, as cv::ORB: a pixel of level 1 and up is set only if everything it was mixed from is 255: after
// resizing, what is below 255 becomes 0. Otherwise: a pixel is 255 if the mask is set at its ImagePosition, else 0.
std::vector<Image> BuildMaskPyramid(const DetectorOptions& options, const PyramidPlan& plan, const ImageView& mask);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_PYRAMID_H_
