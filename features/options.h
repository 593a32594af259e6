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
  kDirect,    // each level from the image itself, with the same interpolation
  kHalf,      // each level from the one before: means of 2x2 pixels, halves up; scale_factor is 2
};
enum class CornerTest {
  // The longest run of ring pixels that are all > p + threshold, or all < p - threshold (strictly, as cv::FAST), has
  // arc_length..max_arc pixels.
  kFast,
  kEveryPixel,
};
enum class Score {
  kMaxThreshold,  // the largest threshold at which the pixel is a corner (cv::FAST's response); integer
  kHarris,        // Harris measure, at every corner found, before suppression
  kSadCircle,     // sum of |ring - centre| over the 16 ring pixels; integer
  kSadArc,        // the same over the longest run that makes the pixel a corner; integer
};
enum class Selection {
  kTopN,  // the N best of each level's share; all that tie with the N-th are kept (cv::KeyPointsFilter::retainBest)
  kGrid,  // the best of each cell of the image, over all levels (Nagy, Foehn, Scaramuzza 2020)
  kPyca,  // the best of each cell of each level, then aggregation over the levels (Kumar, Park, Behera 2023)
  kThreshold,  // all; with CornerTest::kEveryPixel those over response_threshold
  kQuadtree,   // the best of each node of a quadtree with about as many nodes as the level's share (ORB-SLAM2)
};
// What Selection::kTopN ranks by.
enum class Ranking {
  kScore,   // the score that suppression used
  kHarris,  // first 2N by score, then N of those by Harris (cv::ORB with HARRIS_SCORE)
};
enum class Orientation {
  kNone,               // angle is -1
  kIntensityCentroid,  // direction from the corner to the centroid of the circular patch (cv::ORB)
  kArcMidpoint,        // direction to the middle of the run that makes the pixel a corner, multiples of 11.25 (BFROST)
};
enum class Descriptor {
  kNone,
  kRbrief,  // 256 bit, steered by the angle, on the Gaussian-blurred level (cv::ORB with WTA_K 2); with
            // Selection::kQuadtree the blur is that of whole images, in fixed point (ORB-SLAM2)
  kBfrost,  // 256 bit, comparisons of the means of 64 square regions, turned by whole and half steps
            // (features/bfrost.h)
};
// What response_threshold is a multiple of.
enum class ThresholdUnit {
  kAbsolute,       // 1: the response itself
  kFractionOfMax,  // the greatest response in the level
};

struct DetectorOptions {
  Pyramid pyramid = Pyramid::kCascaded;
  int levels = 8;             // 1..12 (kMinLevels, kMaxLevels)
  float scale_factor = 1.2f;  // 1.05..2 (kMinScaleFactor, kMaxScaleFactor), from each level to the next

  CornerTest corner_test = CornerTest::kFast;
  int fast_threshold = 20;  // 1..254 (kMinFastThreshold, kMaxFastThreshold), grey levels; 20 for kQuadtree
  // For kQuadtree, in place of fast_threshold; ranges likewise: each cell of a level is searched with the first, and
  // with the second, at most the first, where that finds no corner.
  int ini_fast_threshold = 20;
  int min_fast_threshold = 7;
  int arc_length = 9;  // 9..12 (kMinArcLength, kMaxArcLength), ring pixels out of 16
  int max_arc = 16;    // arc_length..16: longer runs are no corners (bounded rectification); 16 = no such limit

  Score score = Score::kMaxThreshold;
  // 0..4 (kMaxSuppressionRadius), pixels: a corner's score must exceed all others' within (2r+1)x(2r+1). 0: none.
  int suppression_radius = 1;

  // For CornerTest::kEveryPixel.
  bool smooth = false;     // a Gaussian of 3x3 first: 1 2 1 by 1 2 1
  int harris_block = 7;    // 3..15 (kMinHarrisBlock, kMaxHarrisBlock), odd, pixels: side of the window of gradients
  float harris_k = 0.04f;  // 0..0.25 (kMaxHarrisK)

  Selection selection = Selection::kTopN;
  Ranking ranking = Ranking::kHarris;  // kScore when score is kHarris
  // N, 1..65536 (kMinFeatures, kMaxFeatures), over all levels. kTopN shares N among the levels; the other selections
  // keep the N best of the whole image by response. Keypoints that tie with the last one are kept as well, up to
  // N + max(N, 4096) in all (OutputCapacity); beyond that Features::truncated is set. kQuadtree shares N as well, and
  // exceeds a level's share by up to 3, or by more where the level is many times as wide as high.
  int max_features = 500;
  int edge_threshold = 31;  // 0..255 (kMinEdgeThreshold, kMaxEdgeThreshold), pixels of the level, left free each side
  int cell_width = 32;      // 8..512 (kMinCell, kMaxCell), pixels of the image; for kGrid and kPyca
  int cell_height = 32;     // likewise
  // For kPyca: side of the window of its last suppression, odd, 1..15 (kMaxAggregationWindow), pixels of the image.
  int aggregation_window = 3;
  // For CornerTest::kEveryPixel: only greater responses are corners. 0..1 (kMaxResponseThreshold), in threshold_unit.
  float response_threshold = 0;
  ThresholdUnit threshold_unit = ThresholdUnit::kAbsolute;

  Orientation orientation = Orientation::kIntensityCentroid;
  Descriptor descriptor = Descriptor::kNone;
  int patch_size = 31;  // 2..63 (kMinPatchSize, kMaxPatchSize), pixels of the level; of orientation and descriptor
  float bfrost_scale = 1.0f;  // 0.25..4 (kMinBfrostScale, kMaxBfrostScale), of the pattern of Descriptor::kBfrost

  friend bool operator==(const DetectorOptions& a, const DetectorOptions& b);
  friend bool operator!=(const DetectorOptions& a, const DetectorOptions& b) { return !(a == b); }
};

// The options of a preset. INVALID_ARGUMENT names the presets.
//   orb            cv::ORB's stages in cv::ORB's order, 500 features
//   oriented_fast  arXiv 2506.07164: Harris at every FAST corner, suppression on Harris, top-N
//   fast_grid      Nagy et al. 2020: the best FAST corner of each cell over levels of half the size
//   pyca           Kumar et al. 2023: bounded FAST, the best of each cell of each level, aggregation over the levels
//   bfrost         FAST with arc-midpoint orientation and a descriptor from region means
//   harris         Harris measure at every pixel, suppression, threshold
//   orbslam        the extractor of ORB-SLAM2 and 3: FAST in cells at two thresholds, quadtree, 1000 features
absl::StatusOr<DetectorOptions> PresetOptions(absl::string_view name);
const std::vector<std::string>& PresetNames();

// OK, or INVALID_ARGUMENT that names the first bad field, its value and its range. The one place where options are
// judged: backends take validated options and do not check again.
absl::Status ValidateOptions(const DetectorOptions& options);

// OK if every side of `shape` is in 1..kMaxImageSide and its area is at most max_pixels; otherwise INVALID_ARGUMENT.
absl::Status ValidateShape(Shape shape, int64_t max_pixels = kMaxImagePixels);

// Pointer, shape, stride >= width; `mask` is empty or of the image's shape.
absl::Status ValidateImages(const ImageView& image, const ImageView& mask, int64_t max_pixels = kMaxImagePixels);

// The most keypoints that Detect() returns: N + max(N, 4096) with N = max_features. Ties with the last keypoint can
// exceed N. If more than this many are found, the first ones in the order of Features are returned and truncated is
// set.
int OutputCapacity(const DetectorOptions& options);

// True if the best N of each level are selected, as cv::ORB does, from cascaded levels, FAST without a longest arc and
// 3x3 suppression. Backends have a faster way for these detectors.
bool SelectsTopNPerLevel(const DetectorOptions& options);

// True if every value of a mask but 0 counts as 255. False for cv::ORB's detectors (SelectsTopNPerLevel() with
// Score::kMaxThreshold), which have cv::ORB's rule: what resizing leaves below 255 is cleared, so that values of 1..254
// count at level 0 alone.
bool AnyMaskValueIsSet(const DetectorOptions& options);

// Facts that follow from options and shape, the same for every backend.
struct LevelPlan {
  Shape shape;           // cvRound(side * (1 / scale)); 0 when the level vanishes
  float scale = 1.0f;    // (float)pow((double)scale_factor, level); for kQuadtree the product of floats
  int max_features = 0;  // this level's share of N
};
struct PyramidPlan {
  int levels = 0;
  std::array<LevelPlan, kMaxLevels> level;
};
// cv::ORB's level sizes and feature shares (orb.cpp, detectAndCompute and computeKeyPoints, OpenCV 4.6); for
// Pyramid::kHalf sizes are halved and rounded down instead. The shares are for Selection::kTopN and kQuadtree.
PyramidPlan PlanPyramid(const DetectorOptions& options, Shape shape);

// Features::size on a level with this scale: patch_size * scale; for kQuadtree without the fraction.
float KeypointSize(const DetectorOptions& options, float scale);

// The side of a cell of Selection::kPyca on a level, pixels of the level: the image's cell, scaled and rounded, at
// least 1.
int LevelCell(int cell, float scale);

}  // namespace glint

#endif  // GLINT_FEATURES_OPTIONS_H_
