// Selection of corners. Each function keeps the order of the corners that it returns.
#ifndef GLINT_FEATURES_REFERENCE_SELECTION_H_
#define GLINT_FEATURES_REFERENCE_SELECTION_H_

#include <vector>

#include "features/reference/corner.h"
#include "features/types.h"

namespace glint::reference {

// Those at least `edge` pixels inside the level: edge <= x < width - edge, and the same for y. All of them if edge is
// 0, none if nothing is left between the borders (cv::KeyPointsFilter::runByImageBorder).
std::vector<Corner> KeepInside(const std::vector<Corner>& corners, Shape shape, int edge);

// Those at which the mask is not 0; all if the mask is empty (cv::KeyPointsFilter::runByPixelsMask).
std::vector<Corner> KeepMasked(const std::vector<Corner>& corners, const ImageView& mask);

// The n best by response and all that tie with the n-th; none if n is 0 (cv::KeyPointsFilter::retainBest).
std::vector<Corner> RetainBest(const std::vector<Corner>& corners, int n);

// By response descending, then y, then x.
void SortForOutput(std::vector<Corner>* corners);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_SELECTION_H_
