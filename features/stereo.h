// Rectified stereo matching: what goes in, what comes out, and the rules that every backend follows. The scheme is that
// of ORB-SLAM2 (Frame::ComputeStereoMatches): candidates in row bands, then refinement by sums of absolute differences
// (SAD) on the keypoint's pyramid level. It differs where that rounds: a disparity here is measured between positions
// of pixels, so that no rounded position is compared with one that was not, and in the end between pixels of the image.
// Row bands are that code's: they end at whole rows of the image, so that rounding does not drop keypoints that are
// exactly a band apart.
//
// The rules:
//   1. A pair of keypoints is allowed if it passes IsStereoPair: row band, octaves, disparity.
//   2. A left keypoint's match is the allowed right one at the least Hamming distance, ties to the lower index; with
//      cross_check only if the left keypoint is, in turn, the nearest of the right one's allowed pairs, ties to the
//      lower index. A match at more than max_distance is dropped.
//   3. refine: RefineDisparity from the SAD of 11x11 pixels at 11 positions along the row: first on the left keypoint's
//      level around the right keypoint (WindowsOf), then, of octaves above 0, on the image around the disparity that
//      the first found (ImageWindowsOf). A match is dropped if these pixels are not all in the level, if a best
//      position is the first or the last, or if the refined disparity is outside min_disparity..max_disparity. Without
//      refine, the disparity is left x - right x, the levels may be null, and there is no rule 4.
//   4. median_cut: of what is left, matches whose least SAD, on the image, exceeds 1.5 * 1.4 times the median are
//      dropped. The median is element n / 2 of the n sorted values; the comparison is 10 * sad > 21 * median, in
//      integers.
//   5. check_pair: StereoChecks, of every CheckStride()-th left keypoint and all right ones.
#ifndef GLINT_FEATURES_STEREO_H_
#define GLINT_FEATURES_STEREO_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "features/limits.h"
#include "features/match_limits.h"
#include "features/matcher.h"
#include "features/math.h"
#include "features/options.h"
#include "features/types.h"

namespace glint {

inline constexpr int kStereoWindow = 5;  // pixels on each side of the keypoint
inline constexpr int kStereoSteps = 5;   // positions on each side of the right keypoint
inline constexpr int kStereoPositions = 2 * kStereoSteps + 1;
inline constexpr float kNoDepth = 0;  // a depth is more than 0

struct StereoOptions {
  int max_distance = 75;                // 0..8 * kMaxDescriptorBytes, bits
  float band = 2;                       // 0..kMaxStereoBand, rows of the right keypoint's level, up and down, and then
                                        // to the next whole row of the image
  int max_octave_difference = 1;        // 0..kMaxLevels - 1
  float min_disparity = 0;              // -kMaxImageSide..kMaxImageSide, pixels of the image
  float max_disparity = kMaxImageSide;  // min_disparity..kMaxImageSide
  bool cross_check = true;
  bool refine = true;
  bool median_cut = true;
  bool check_pair = true;   // fill StereoChecks; costs a match of a part of the descriptors with all
  double focal_length = 0;  // pixels of the image, 0..kMaxFocalLength; with baseline, for depth
  double baseline = 0;      // in the unit of the depths, 0..kMaxBaseline; 0: no depth
};

// One image of a pair: its keypoints with descriptors, and plan.levels images, the pyramid on which they were found
// (for refine).
struct StereoImage {
  const Features* features = nullptr;
  const ImageView* levels = nullptr;
};

struct StereoInput {
  StereoImage left;
  StereoImage right;
  PyramidPlan plan;  // of both; level 0 is the image
};

// From the matches of all left with all right descriptors, cross-checked and at most max_distance apart, those of the
// left keypoints 0, CheckStride(), 2 * CheckStride() and so on: a rectified pair has a median_dy of a fraction of a
// pixel and hardly a negative disparity. All zero if an image has no keypoints.
struct StereoChecks {
  int matches = 0;      // of CheckedKeypoints()
  int sure = 0;         // of these, the ones that pass IsSureMatch
  float median_dy = 0;  // |left y - right y| of the sure ones, pixels of the image: element n / 2 of the n sorted
                        // values; 0 without any
  int negative_disparities = 0;  // left x < right x
};

// A structure of arrays: element i belongs to left keypoint i. Without a match, right_index is kNoMatch and the others
// are 0.
struct StereoResult {
  std::vector<int32_t> right_index;
  std::vector<int32_t> distance;  // bits
  std::vector<float> right_x;     // left x - disparity, pixels of the image
  std::vector<float> disparity;   // pixels of the image
  std::vector<float> depth;       // focal_length * baseline / disparity; kNoDepth where that is not a positive number
  int matches = 0;
  StereoChecks checks;

  // Clears all elements; allocates only beyond the largest result so far.
  void Reset(size_t count);
  void Drop(size_t i);
};

// OK, or INVALID_ARGUMENT that names the first bad field, its value and its range.
absl::Status ValidateStereoOptions(const StereoOptions& options);
// The same of a pair: descriptors of the same length, all octaves and positions inside the plan, levels of its shapes.
absl::Status ValidateStereoInput(const StereoInput& input, const StereoOptions& options);

// ---- arithmetic of the rules

// Rule 5. False matches are of all rows: where they are more than half of all, they would decide the median. Of those
// at most 50 bits of 256 apart, few are false, in whatever preset.
GLINT_HD inline bool IsSureMatch(int distance, int descriptor_bytes) { return 32 * distance <= 50 * descriptor_bytes; }

struct StereoPoint {
  float x = 0;  // pixels of the image
  float y = 0;
  int octave = 0;
};
inline StereoPoint PointOf(const Features& f, size_t i) { return {f.x[i], f.y[i], f.octave[i]}; }

// Rule 1's band of a right keypoint, y - reach and y + reach. `right_scale` is that of its octave.
struct StereoBand {
  float low;
  float high;
};
GLINT_HD inline StereoBand BandOf(const StereoOptions& o, const StereoPoint& right, float right_scale) {
  const float reach = o.band * right_scale;
  return {right.y - reach, right.y + reach};
}

// Rule 1. The row of the image that the left keypoint lies in is one of floor(low)..ceil(high) of the right one's band,
// in other words: less than one below or above that range.
GLINT_HD inline bool IsStereoPair(const StereoOptions& o, const StereoPoint& left, const StereoPoint& right,
                                  float right_scale) {
  const int octaves = left.octave - right.octave;
  const StereoBand band = BandOf(o, right, right_scale);
  const float row = static_cast<float>(static_cast<int>(left.y));
  const float disparity = left.x - right.x;
  return octaves <= o.max_octave_difference && -octaves <= o.max_octave_difference && band.low < row + 1 &&
         band.high > row - 1 && disparity >= o.min_disparity && disparity <= o.max_disparity;
}

// Where the windows of a step of rule 3 lie.
struct StereoWindows {
  int left_x = 0;
  int right_x = 0;  // of position 0; the others are right_x - kStereoSteps..right_x + kStereoSteps
  int y = 0;
};
GLINT_HD inline StereoWindows WindowsOf(const StereoPoint& left, const StereoPoint& right, float scale) {
  return {RoundHalfEven(left.x / scale), RoundHalfEven(right.x / scale), RoundHalfEven(left.y / scale)};
}
// Of the second step, on the image.
GLINT_HD inline StereoWindows ImageWindowsOf(const StereoPoint& left, float disparity) {
  return {RoundHalfEven(left.x), RoundHalfEven(left.x - disparity), RoundHalfEven(left.y)};
}
GLINT_HD inline bool AreInside(const StereoWindows& w, Shape level) {
  const int side = kStereoWindow;
  return w.y >= side && w.y + side < level.height && w.left_x >= side && w.left_x + side < level.width &&
         w.right_x >= side + kStereoSteps && w.right_x + side + kStereoSteps < level.width;
}

// Which of the sums is the least, the first among equals; -1 if it is at either end.
GLINT_HD inline int BestPosition(const int32_t sad[kStereoPositions]) {
  int best = 0;
  for (int i = 1; i < kStereoPositions; ++i) best = sad[i] < sad[best] ? i : best;
  return best == 0 || best == kStereoPositions - 1 ? -1 : best;
}

// Rule 3: the vertex of the parabola through the least sum and its neighbours, as a disparity in pixels of the image.
// One pixel of a level is image_width / level_width of the image (the nominal scale is off by up to half a pixel in the
// level's width).
GLINT_HD inline float RefineDisparity(const StereoWindows& w, const int32_t sad[kStereoPositions], int best,
                                      int image_width, int level_width) {
  const int32_t before = sad[best - 1];
  const int32_t after = sad[best + 1];
  // More than 0, as `before` is more than the least.
  const int32_t curvature = before + after - 2 * sad[best];
  const float vertex = static_cast<float>(before - after) / static_cast<float>(2 * curvature);
  const float on_level = static_cast<float>(w.left_x - w.right_x - (best - kStereoSteps)) - vertex;
  return on_level * (static_cast<float>(image_width) / static_cast<float>(level_width));
}

// More than 0, or kNoDepth. In floats, as all arithmetic of the rules.
GLINT_HD inline float DepthOf(const StereoOptions& o, float disparity) {
  const float focal_length = static_cast<float>(o.focal_length);
  const float baseline = static_cast<float>(o.baseline);
  return disparity > 0 && focal_length > 0 && baseline > 0 ? focal_length * baseline / disparity : kNoDepth;
}

GLINT_HD inline bool IsOverMedian(int32_t sad, int32_t median) { return int64_t{10} * sad > int64_t{21} * median; }

// Rule 5: enough to tell what a pair is as surely as all of its keypoints do (docs/matching.md), and up to twice that.
inline constexpr int kKeypointsToCheck = 512;
GLINT_HD inline int CheckStride(int lefts) { return lefts < kKeypointsToCheck ? 1 : lefts / kKeypointsToCheck; }
GLINT_HD inline int CheckedKeypoints(int lefts) { return (lefts + CheckStride(lefts) - 1) / CheckStride(lefts); }

}  // namespace glint

#endif  // GLINT_FEATURES_STEREO_H_
