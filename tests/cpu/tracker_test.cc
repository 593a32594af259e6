// Tracking on the CPU at every SIMD target: the reference's results.
#include "cpu/track/tracker.h"

#include <memory>
#include <vector>

#include "cpu/common/stages.h"
#include "features/reference/tracker.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"
#include "tests/support/images.h"
#include "tests/support/track_cases.h"

namespace glint {
namespace {

using testing::RandomTrackCase;

class TrackerTest : public testing::SimdTest {
 protected:
  std::unique_ptr<cpu::Tracker> MakeTracker(int threads = 1) const {
    const testing::ForcedSimd forced(GetParam());
    return std::make_unique<cpu::Tracker>(threads);
  }
};
INSTANTIATE_TEST_SUITE_P(Simd, TrackerTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

TEST_P(TrackerTest, IsTheReferenceOnAThousandRandomCases) {
  const auto one_thread = MakeTracker();
  const auto three_threads = MakeTracker(3);
  testing::TrackStatusCounts seen;
  TrackResult actual;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const RandomTrackCase test(seed);
    ASSERT_TRUE(ValidateTrackOptions(test.options()).ok()) << test.name();
    ASSERT_TRUE(ValidateTrackInput(test.input(), test.options()).ok()) << test.name();
    const TrackResult expected = reference::Track(test.input(), test.options());
    (seed % 4 == 0 ? three_threads : one_thread)->Track(test.input(), test.options(), &actual);
    ASSERT_TRUE(testing::SameTracks(expected, actual)) << test.name();
    seen.Add(expected);
  }
  seen.ExpectAll();
}

// Sums as large as they can be: a white patch with a few black pixels on a black image with a few white ones.
TEST_P(TrackerTest, ExtremePatches) {
  const auto tracker = MakeTracker();
  constexpr Shape kShape = {70, 66};
  Image from = testing::Flat(kShape, 255);
  Image to = testing::Flat(kShape, 0);
  for (int y = 0; y < kShape.height; ++y) {
    for (int x = y % 3; x < kShape.width; x += 11) {
      from.row(y)[x] = 0;
      to.row(y)[(x + 2) % kShape.width] = 255;
    }
  }
  const Image stripes = [&] {
    Image image(kShape.width, kShape.height);
    for (int y = 0; y < kShape.height; ++y) {
      for (int x = 0; x < kShape.width; ++x) image.row(y)[x] = ((x + y / 16) / 2 + y / 7) % 2 == 0 ? 0 : 255;
    }
    return image;
  }();
  const ImageView views[3] = {from, to, stripes};
  const std::vector<float> x = {34.5f, 35, 20.25f, 50};
  const std::vector<float> y = {33, 32.5f, 25.75f, 40};
  TrackResult actual;
  for (int patch = kMinTrackPatch; patch <= kMaxTrackPatch; ++patch) {
    for (int model = 0; model < 4; ++model) {
      for (int pair = 0; pair < 9; ++pair) {
        TrackOptions options;
        options.levels = 1;
        options.patch_size = patch;
        options.intensity = static_cast<IntensityModel>(model);
        TrackInput input;
        input.from = {&views[pair / 3], 1};
        input.to = {&views[pair % 3], 1};
        input.count = 4;
        input.x = x.data();
        input.y = y.data();
        ASSERT_TRUE(ValidateTrackInput(input, options).ok());
        tracker->Track(input, options, &actual);
        ASSERT_TRUE(testing::SameTracks(reference::Track(input, options), actual)) << patch << ", " << model;
      }
    }
  }
}

TEST_P(TrackerTest, LevelsAreTheReference) {
  const testing::ForcedSimd forced(GetParam());
  cpu::TrackLevels levels;
  for (const Shape shape : {Shape{1, 1}, Shape{2, 3}, Shape{33, 17}, Shape{631, 479}, Shape{128, 64}, Shape{7, 130}}) {
    const testing::StridedImage image(testing::Noise(shape, 1), shape.width + 5);
    levels.Build(image, kMaxTrackLevels);
    const TrackPyramid pyramid = levels.view();
    TrackOptions options;
    options.levels = kMaxTrackLevels;
    ASSERT_EQ(pyramid.count, UsedTrackLevels(options, shape));
    for (int l = 1; l < pyramid.count; ++l) {
      EXPECT_TRUE(testing::SamePixels(reference::HalveForTracking(pyramid.levels[l - 1]), pyramid.levels[l]));
    }
  }
}

}  // namespace
}  // namespace glint
