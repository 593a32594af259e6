// The choices that make a detector: one for each stage of the pipeline. A preset is a named set of choices; every field
// can be changed afterwards. Thread-safe: plain values and pure functions.
#ifndef GLINT_FEATURES_OPTIONS_H_
#define GLINT_FEATURES_OPTIONS_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/limits.h"
#include "features/types.h"

namespace glint {

enum class Pyramid {
  kCascaded,  // each level from the one before, exactly as cv::ORB
};
enum class CornerTest {
  kFast,  // arc_length contiguous ring pixels all > p + threshold or all < p - threshold (strictly, as cv::FAST)
};
enum class Score {
  kMaxThreshold,  // the largest threshold at which the pixel is still a corner (cv::FAST's response)
  kHarris,        // Harris measure, at every corner found, before suppression
};
enum class Selection {
  kTopN,  // the N best of each level's share; all that tie with the N-th are kept (cv::KeyPointsFilter::retainBest)
};
// What kTopN ranks by.
enum class Ranking {
  kScore,   // the score that suppression used
  kHarris,  // first 2N by score, then N of those by Harris (cv::ORB with HARRIS_SCORE)
};
enum class Orientation {
  kNone,               // angle is -1
  kIntensityCentroid,  // direction from the corner to the centroid of the circular patch (cv::ORB)
};
enum class Descriptor {
  kNone,
  kRbrief,  // 256 bit, steered by the angle, on the Gaussian-blurred level (cv::ORB with WTA_K 2)
};

struct DetectorOptions {
  Pyramid pyramid = Pyramid::kCascaded;
  int levels = 8;             // kMinLevels..kMaxLevels
  float scale_factor = 1.2f;  // kMinScaleFactor..kMaxScaleFactor, from each level to the next

  CornerTest corner_test = CornerTest::kFast;
  int fast_threshold = 20;  // kMinFastThreshold..kMaxFastThreshold, grey levels
  int arc_length = 9;       // kMinArcLength..kMaxArcLength, ring pixels out of 16

  Score score = Score::kMaxThreshold;

  Selection selection = Selection::kTopN;
  Ranking ranking = Ranking::kHarris;  // kScore when score is kHarris
  int max_features = 500;              // N, kMinFeatures..kMaxFeatures, over all levels
  int edge_threshold = 31;  // kMinEdgeThreshold..kMaxEdgeThreshold, pixels of the level left free at each side

  Orientation orientation = Orientation::kIntensityCentroid;
  Descriptor descriptor = Descriptor::kNone;
  int patch_size = 31;  // kMinPatchSize..kMaxPatchSize, pixels; of orientation and descriptor

  friend bool operator==(const DetectorOptions& a, const DetectorOptions& b);
  friend bool operator!=(const DetectorOptions& a, const DetectorOptions& b) { return !(a == b); }
};

// The options of a preset: "orb" (cv::ORB's stages in cv::ORB's order, 500 features) or "oriented_fast" (arXiv
// 2506.07164: Harris at every FAST corner, suppression on Harris, top-N). INVALID_ARGUMENT names the presets.
absl::StatusOr<DetectorOptions> PresetOptions(absl::string_view name);
const std::vector<std::string>& PresetNames();

// OK, or INVALID_ARGUMENT that names the first bad field, its value and its range. The one place where options are
// judged: backends take validated options and do not check again.
absl::Status ValidateOptions(const DetectorOptions& options);

// OK if every side of `shape` is in 1..kMaxImageSide and its area is at most max_pixels; otherwise INVALID_ARGUMENT.
absl::Status ValidateShape(Shape shape, int64_t max_pixels = kMaxImagePixels);

// Pointer, shape, stride >= width; `mask` is empty or of the image's shape.
absl::Status ValidateImages(const ImageView& image, const ImageView& mask, int64_t max_pixels = kMaxImagePixels);

// The most keypoints Detect() returns for these options. Ties can exceed max_features; beyond this,
// Features::truncated.
int OutputCapacity(const DetectorOptions& options);

// Facts that follow from options and shape, the same for every backend.
struct LevelPlan {
  Shape shape;           // cvRound(side * (1 / scale)); 0 when the level vanishes
  float scale = 1.0f;    // (float)pow((double)scale_factor, level)
  int max_features = 0;  // this level's share of N
};
struct PyramidPlan {
  int levels = 0;
  std::array<LevelPlan, kMaxLevels> level;
};
// cv::ORB's level sizes and feature shares (orb.cpp, detectAndCompute and computeKeyPoints, OpenCV 4.6).
PyramidPlan PlanPyramid(const DetectorOptions& options, Shape shape);

}  // namespace glint

#endif  // GLINT_FEATURES_OPTIONS_H_
