// The scalar specification of a detector: slow, obvious, what the fast backends are tested against. Each stage has a
// header of its own beside this one. Thread-safe; allocates freely.
//
// `orb` runs, on each level: FAST with suppression by FAST score; mask; border; the level's share of N (twice the share
// with Ranking::kHarris, then Harris, then the share) with ties; orientation; blur; descriptor. It equals
// cv::ORB::detectAndCompute of OpenCV 4.6 as a set.
//
// `oriented_fast` (arXiv 2506.07164) puts Harris first. On each level: FAST corners of the whole level; the Harris
// measure at every corner, with reflections outside the level; suppression by it, among corners alone: a corner
// survives if its measure is strictly greater than that of each neighbour that is a corner; mask; border; the level's
// share of N with ties; orientation.
//
// `orbslam`, on each level: FAST in cells at two thresholds with suppression inside each cell; mask; quadtree with the
// level's share of N; orientation; blur of the whole level; descriptor. It equals the extractor of ORB-SLAM2 as a set,
// with the order of its quadtree made the same on every call (features/reference/quadtree.h).
#ifndef GLINT_FEATURES_REFERENCE_REFERENCE_H_
#define GLINT_FEATURES_REFERENCE_REFERENCE_H_

#include <vector>

#include "features/options.h"
#include "features/reference/corner.h"
#include "features/types.h"

namespace glint::reference {

// What each stage left, for one level, so that a backend that differs can be told in which stage.
struct LevelTrace {
  Image level;
  Image mask;                     // empty without a mask
  std::vector<Corner> corners;    // all FAST corners, raster order; response: the score that suppression uses; none for
                                  // Selection::kQuadtree
  std::vector<Corner> maxima;     // after suppression
  std::vector<Corner> inside;     // after mask and border
  std::vector<Corner> ranked;     // after the first cut: twice the share by score for Ranking::kHarris, else the share
  std::vector<Corner> keypoints;  // after the last cut, in output order; response as it is reported
  std::vector<float> angles;      // of keypoints
  Image blurred;                  // empty without a descriptor
};

// Arguments must be valid (ValidateOptions, ValidateImages); `mask` may be empty. `trace`, if not null, receives
// options.levels entries; truncation (OutputCapacity) cuts the result, not the trace.
Features Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask = {},
                std::vector<LevelTrace>* trace = nullptr);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_REFERENCE_H_
