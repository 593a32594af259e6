// The rules of features/stereo.h on cases that can be checked by hand.
#include "features/stereo.h"

#include <vector>

#include "features/reference/pyramid.h"
#include "features/reference/stereo.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"

namespace glint {
namespace {

TEST(IsStereoPair, BandOctavesAndDisparityIncludeTheirEnds) {
  StereoOptions options;
  options.min_disparity = 1;
  options.max_disparity = 20;
  const StereoPoint left{100, 50, 2};
  EXPECT_TRUE(IsStereoPair(options, left, {99, 50, 2}, 1));
  EXPECT_FALSE(IsStereoPair(options, left, {99.5f, 50, 2}, 1));
  EXPECT_TRUE(IsStereoPair(options, left, {80, 50, 2}, 1));
  EXPECT_FALSE(IsStereoPair(options, left, {79.5f, 50, 2}, 1));
  // Rows 50 - 3 and 50 + 3, and what is less than a row beyond.
  EXPECT_TRUE(IsStereoPair(options, left, {90, 53.75f, 3}, 1.5f));
  EXPECT_FALSE(IsStereoPair(options, left, {90, 54, 3}, 1.5f));
  EXPECT_TRUE(IsStereoPair(options, left, {90, 46.25f, 1}, 1.5f));
  EXPECT_FALSE(IsStereoPair(options, left, {90, 46, 1}, 1.5f));
  EXPECT_FALSE(IsStereoPair(options, left, {90, 50, 4}, 1));
  EXPECT_FALSE(IsStereoPair(options, left, {90, 50, 0}, 1));
}

// Rows of a level are not rows of the image, and positions are rounded.
TEST(IsStereoPair, KeypointsABandApartArePairsOnEveryLevel) {
  const StereoOptions options;
  const PyramidPlan plan = PlanPyramid(*PresetOptions("orb"), {100, 2000});
  for (int octave = 0; octave < plan.levels; ++octave) {
    const float scale = plan.level[static_cast<size_t>(octave)].scale;
    for (int row = 2; row < 500; ++row) {
      for (const int other : {row - 2, row + 2}) {
        const StereoPoint left{50, static_cast<float>(row) * scale, octave};
        const StereoPoint right{40, static_cast<float>(other) * scale, octave};
        EXPECT_TRUE(IsStereoPair(options, left, right, scale)) << "octave " << octave << ", row " << row;
      }
    }
  }
}

TEST(BestPosition, TheFirstOfTheLeastUnlessItIsAtAnEnd) {
  int32_t sad[kStereoPositions] = {9, 8, 7, 3, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(BestPosition(sad), 3);
  sad[0] = 2;
  EXPECT_EQ(BestPosition(sad), -1);
  sad[0] = 9;
  sad[10] = 1;
  EXPECT_EQ(BestPosition(sad), -1);
}

// The vertex of a parabola is found exactly, at any fraction of a pixel, in either direction.
TEST(RefineDisparity, IsExactForParabolas) {
  for (int eighths = -4; eighths <= 4; ++eighths) {
    int32_t sad[kStereoPositions];
    const int vertex = 8 * 6 + eighths;  // in eighths of a pixel
    for (int p = 0; p < kStereoPositions; ++p) sad[p] = 100 + (8 * p - vertex) * (8 * p - vertex);
    const int best = BestPosition(sad);
    const float expected = 40 - (30 + (6 + static_cast<float>(eighths) / 8 - kStereoSteps));
    EXPECT_FLOAT_EQ(RefineDisparity({40, 30, 9}, sad, best, 100, 100), expected) << eighths;
    // A level whose width is half the image's.
    EXPECT_FLOAT_EQ(RefineDisparity({40, 30, 9}, sad, best, 200, 100), 2 * expected) << eighths;
  }
}

TEST(AreInside, WindowsEndAtTheEdges) {
  EXPECT_TRUE(AreInside({5, 10, 5}, {21, 11}));
  EXPECT_FALSE(AreInside({4, 10, 5}, {21, 11}));
  EXPECT_FALSE(AreInside({5, 9, 5}, {21, 11}));
  EXPECT_FALSE(AreInside({5, 11, 5}, {21, 11}));
  EXPECT_FALSE(AreInside({5, 10, 4}, {21, 11}));
  EXPECT_FALSE(AreInside({5, 10, 6}, {21, 11}));
}

TEST(DepthOf, IsPositiveOrNone) {
  StereoOptions options;
  EXPECT_EQ(DepthOf(options, 10), kNoDepth);
  options.focal_length = 700;
  options.baseline = 0.5f;
  EXPECT_FLOAT_EQ(DepthOf(options, 10), 35);
  EXPECT_EQ(DepthOf(options, 0), kNoDepth);
  EXPECT_EQ(DepthOf(options, -1), kNoDepth);
}

TEST(DepthOf, IsComputedInFloats) {
  StereoOptions options;
  options.focal_length = 718.856;
  options.baseline = 0.537;
  const float disparity = 7.3f;
  EXPECT_EQ(DepthOf(options, disparity), 718.856f * 0.537f / disparity);
  options.baseline = 1e-60;  // 0 in floats
  EXPECT_EQ(DepthOf(options, disparity), kNoDepth);
}

TEST(IsOverMedian, FromTwoPointOneTimesOn) {
  EXPECT_FALSE(IsOverMedian(210, 100));
  EXPECT_TRUE(IsOverMedian(211, 100));
  EXPECT_FALSE(IsOverMedian(0, 0));
  EXPECT_TRUE(IsOverMedian(1, 0));
}

// One keypoint, and the right image is the left one moved by 7 pixels.
TEST(ReferenceStereo, FindsAShift) {
  const Image left = testing::Texture({120, 60}, 1);
  const ImageView moved{left.row(0) + 7, 113, 60, left.stride()};
  const ImageView cut{left.row(0), 113, 60, left.stride()};
  Features one;
  one.Resize(1, 8);
  one.x[0] = 60;
  one.y[0] = 30;
  one.octave[0] = 0;
  Features other = one;
  other.x[0] = 54;  // a pixel off
  StereoInput input{{&one, &cut}, {&other, &moved}, {}};
  input.plan.levels = 1;
  input.plan.level[0] = {{113, 60}, 1, 1};
  StereoOptions options;
  options.focal_length = 100;
  options.baseline = 1;
  ASSERT_TRUE(ValidateStereoInput(input, options).ok());
  const StereoResult result = reference::MatchStereo(input, options);
  ASSERT_EQ(result.matches, 1);
  EXPECT_EQ(result.right_index[0], 0);
  EXPECT_NEAR(result.disparity[0], 7, 0.1);
  EXPECT_EQ(result.right_x[0], 60 - result.disparity[0]);
  EXPECT_EQ(result.depth[0], 100 / result.disparity[0]);
  options.refine = false;
  EXPECT_EQ(reference::MatchStereo(input, options).disparity[0], 6);
}

// Of a keypoint of the smallest level, 2.25 times smaller, a pixel of it off: the image tells the disparity.
TEST(ReferenceStereo, MeasuresOnTheImage) {
  const Image left = testing::Texture({220, 110}, 2);
  const ImageView cut{left.row(0), 207, 110, left.stride()};
  const ImageView moved{left.row(0) + 13, 207, 110, left.stride()};
  DetectorOptions detector = *PresetOptions("orb");
  detector.scale_factor = 1.5f;
  detector.levels = 3;
  StereoInput input;
  input.plan = PlanPyramid(detector, cut.shape());
  const std::vector<Image> left_levels = reference::BuildPyramid(detector.pyramid, input.plan, cut);
  const std::vector<Image> right_levels = reference::BuildPyramid(detector.pyramid, input.plan, moved);
  std::vector<ImageView> left_views, right_views;
  for (const Image& level : left_levels) left_views.push_back(level.view());
  for (const Image& level : right_levels) right_views.push_back(level.view());
  Features one;
  one.Resize(1, 8);
  one.x[0] = 120;
  one.y[0] = 50;
  one.octave[0] = 2;
  Features other = one;
  other.x[0] = 109.5f;
  input.left = {&one, left_views.data()};
  input.right = {&other, right_views.data()};
  ASSERT_TRUE(ValidateStereoInput(input, {}).ok());
  const StereoResult result = reference::MatchStereo(input, {});
  ASSERT_EQ(result.matches, 1);
  EXPECT_NEAR(result.disparity[0], 13, 0.05);  // the level alone: a quarter of a pixel off
  EXPECT_EQ(result.right_x[0], 120 - result.disparity[0]);
}

}  // namespace
}  // namespace glint
