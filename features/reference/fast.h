// FAST corners: test, score and suppression.
#ifndef GLINT_FEATURES_REFERENCE_FAST_H_
#define GLINT_FEATURES_REFERENCE_FAST_H_

#include <vector>

#include "features/arc.h"
#include "features/options.h"
#include "features/reference/corner.h"
#include "features/types.h"

namespace glint::reference {

// Every pixel, kFastRadius or more away from each side, whose ring of 16 has `arc` contiguous pixels all brighter than
// it by more than `threshold`, or all darker. In raster order; response: FastScore. With arc 9 equal to cv::FAST,
// TYPE_9_16, without suppression, but for the response, which cv::FAST then leaves at 0.
std::vector<Corner> DetectFast(const ImageView& level, int threshold, int arc);

// The same without the corners whose arc is longer than `max_arc`. Response: `score`, which is not kHarris;
// kMaxThreshold does not depend on `max_arc`.
std::vector<Corner> DetectBoundedFast(const ImageView& level, int threshold, int arc, int max_arc, Score score);

// The run that makes (x, y) a corner; both must be kFastRadius or more away from each side.
ArcRun ArcAt(const ImageView& level, int x, int y, int threshold, int arc, int max_arc);

// The corners whose response is strictly greater than that of each other corner within `radius` pixels in x and y.
// Where two of them tie, neither survives. Order is kept; no two corners may share a pixel.
std::vector<Corner> SuppressNonMaxima(const std::vector<Corner>& corners, Shape shape, int radius = 1);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_FAST_H_
