// FAST corners: test, score and suppression.
#ifndef GLINT_FEATURES_REFERENCE_FAST_H_
#define GLINT_FEATURES_REFERENCE_FAST_H_

#include <vector>

#include "features/reference/corner.h"
#include "features/types.h"

namespace glint::reference {

// Every pixel, kFastRadius or more away from each side, whose ring of 16 has `arc` contiguous pixels all brighter than
// it by more than `threshold`, or all darker. In raster order; response: FastScore. With arc 9 equal to cv::FAST,
// TYPE_9_16, without suppression, but for the response, which cv::FAST then leaves at 0.
std::vector<Corner> DetectFast(const ImageView& level, int threshold, int arc);

// The corners whose response is strictly greater than that of each of the 8 neighbours that are corners too. Where two
// neighbours tie, neither survives. Order is kept; `corners` must be in raster order.
std::vector<Corner> SuppressNonMaxima(const std::vector<Corner>& corners, Shape shape);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_FAST_H_
