// Stereo matching on the CPU at every SIMD target: the reference's elements.
#include "features/reference/stereo.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_matcher.h"
#include "features/reference/pyramid.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"
#include "tests/cpu/stereo_pair.h"
#include "tests/support/images.h"
#include "tests/support/random.h"

namespace glint {
namespace {

using testing::ExpectSame;
using testing::OrbWithDescriptors;
using testing::StereoOptionsToTry;
using testing::StereoPair;

class StereoTest : public testing::SimdTest {
 protected:
  std::unique_ptr<cpu::StereoMatcher> MakeMatcher(int threads = 1) const {
    const testing::ForcedSimd forced(GetParam());
    return std::make_unique<cpu::StereoMatcher>(threads);
  }
};
INSTANTIATE_TEST_SUITE_P(Simd, StereoTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

TEST_P(StereoTest, IsTheReference) {
  const Image image = testing::Texture({330, 240}, 6);
  const ImageView first{image.row(0), 320, 240, image.stride()};
  const ImageView moved{image.row(0) + 9, 320, 240, image.stride()};
  const StereoPair pair(OrbWithDescriptors(400), first, moved);
  const StereoPair unlike(OrbWithDescriptors(150), testing::Texture({200, 100}, 1), testing::Texture({200, 100}, 2));
  const StereoPair same(OrbWithDescriptors(150), first, first);
  const auto one_thread = MakeMatcher();
  const auto three_threads = MakeMatcher(3);
  for (const StereoOptions& options : StereoOptionsToTry()) {
    ASSERT_TRUE(ValidateStereoOptions(options).ok());
    for (const StereoPair* p : {&pair, &unlike, &same}) {
      ASSERT_TRUE(ValidateStereoInput(p->input(), options).ok());
      const StereoResult expected = reference::MatchStereo(p->input(), options);
      for (cpu::StereoMatcher* matcher : {one_thread.get(), three_threads.get()}) {
        StereoResult actual;
        matcher->Match(p->input(), options, &actual);
        ExpectSame(expected, actual);
      }
    }
  }
}

TEST_P(StereoTest, TiesAndEdges) {
  StereoPair pair(OrbWithDescriptors(300), testing::Texture({160, 120}, 3), testing::Texture({160, 120}, 3));
  testing::MakeTies(4, &pair);
  const auto matcher = MakeMatcher();
  for (const StereoOptions& options : StereoOptionsToTry()) {
    StereoResult actual;
    matcher->Match(pair.input(), options, &actual);
    ExpectSame(reference::MatchStereo(pair.input(), options), actual);
  }
}

TEST(StereoCheckpoint, EndsAPair) {
  const Image image = testing::Texture({330, 240}, 6);
  const ImageView first{image.row(0), 320, 240, image.stride()};
  const ImageView moved{image.row(0) + 9, 320, 240, image.stride()};
  const StereoPair pair(OrbWithDescriptors(600), first, moved);
  cpu::StereoMatcher matcher;
  for (const StereoOptions& options : StereoOptionsToTry()) {
    int calls = 0;
    StereoResult result;
    ASSERT_TRUE(matcher.Match(pair.input(), options, &result, [&] { return ++calls > 0; }));
    ExpectSame(reference::MatchStereo(pair.input(), options), result);
    EXPECT_GE(calls, 4);
    for (int last = 1; last <= calls; ++last) {
      int asked = 0;
      EXPECT_FALSE(matcher.Match(pair.input(), options, &result, [&] { return ++asked < last; }));
      EXPECT_EQ(asked, last);
    }
  }
}

TEST_P(StereoTest, WindowSads) {
  const auto sads = [&] {
    const testing::ForcedSimd forced(GetParam());
    return cpu::WindowSadsFor(cpu::BestSimdTarget());
  }();
  for (const int width : {21, 22, 40}) {
    const testing::StridedImage left(testing::Noise({width, 11}, 1), width + 3);
    const testing::StridedImage right(testing::Noise({width, 11}, 2), width + 5);
    for (int left_x = 5; left_x + 5 < width; ++left_x) {
      for (int right_x = 10; right_x + 10 < width; ++right_x) {
        int32_t sad[kStereoPositions];
        sads(left, right, {left_x, right_x, 5}, sad);
        for (int p = 0; p < kStereoPositions; ++p) {
          ASSERT_EQ(sad[p], reference::WindowSad(left, left_x, right, right_x + p - kStereoSteps, 5));
        }
      }
    }
  }
}

TEST(Stereo, EmptyEyes) {
  const Image image = testing::Texture({100, 80}, 1);
  StereoPair pair(OrbWithDescriptors(100), image, image);
  pair.right().Clear();
  ASSERT_TRUE(ValidateStereoInput(pair.input(), {}).ok());
  StereoResult result;
  cpu::StereoMatcher().Match(pair.input(), {}, &result);
  EXPECT_EQ(result.matches, 0);
  EXPECT_EQ(result.right_index.size(), pair.left().count());
  ExpectSame(reference::MatchStereo(pair.input(), {}), result);
  pair.left().Clear();
  cpu::StereoMatcher().Match(pair.input(), {}, &result);
  EXPECT_TRUE(result.right_index.empty());
}

TEST(Stereo, ValidationNamesFieldValueAndRange) {
  StereoOptions options;
  EXPECT_TRUE(ValidateStereoOptions(options).ok());
  options.band = NAN;
  EXPECT_EQ(ValidateStereoOptions(options).message(), "band: nan is not in 0..16");
  options = {};
  options.min_disparity = 9;
  options.max_disparity = 8;
  EXPECT_EQ(ValidateStereoOptions(options).message(), "max_disparity: 8 is not in 9..16384");
  options = {};
  options.baseline = 0.5f;
  EXPECT_EQ(ValidateStereoOptions(options).message(),
            "baseline: 0.5, but focal_length is 0; a depth needs both, and without it both are 0");
  options.focal_length = 1000000.01;  // 1000000 in floats
  EXPECT_FALSE(ValidateStereoOptions(options).ok());
  options.focal_length = NAN;
  EXPECT_EQ(ValidateStereoOptions(options).message(), "focal_length: nan is not in 0..1e+06");
  const Image image = testing::Texture({120, 90}, 1);
  StereoPair pair(OrbWithDescriptors(100), image, image);
  ASSERT_TRUE(ValidateStereoInput(pair.input(), {}).ok());
  pair.right().x[3] = 120;
  EXPECT_EQ(ValidateStereoInput(pair.input(), {}).message(), "right.features.x[3]: 120 is outside the image of 120x90");
  pair.right().x[3] = 5;
  pair.left().octave[2] = 8;
  EXPECT_EQ(ValidateStereoInput(pair.input(), {}).message(), "left.features.octave[2]: 8 is not in 0..7");
  pair.left().octave[2] = 1;
  pair.left().descriptor_bytes = 16;
  EXPECT_EQ(ValidateStereoInput(pair.input(), {}).message(), "right.descriptor_bytes: 32, but the left image has 16");
  StereoInput mixed = pair.input();
  mixed.plan = PlanPyramid(OrbWithDescriptors(100), {121, 90});
  EXPECT_EQ(ValidateStereoInput(mixed, {}).message(),
            "left.levels[0]: 120x90, but the other image and the plan have 121x90");
}

}  // namespace
}  // namespace glint
