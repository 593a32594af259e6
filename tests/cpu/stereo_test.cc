// Stereo matching on the CPU at every SIMD target: the reference's elements; and rendered pairs, whose disparity is
// known.
#include "features/reference/stereo.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_matcher.h"
#include "features/reference/pyramid.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"
#include "tests/scene/scene.h"
#include "tests/support/images.h"
#include "tests/support/random.h"

namespace glint {
namespace {

// Both eyes with their features and pyramids.
class Pair {
 public:
  Pair(const DetectorOptions& options, const ImageView& left, const ImageView& right) {
    input_.plan = PlanPyramid(options, left.shape());
    cpu::Pipeline pipeline;
    const ImageView* images[2] = {&left, &right};
    StereoEye* eyes[2] = {&input_.left, &input_.right};
    for (size_t e = 0; e < 2; ++e) {
      EXPECT_TRUE(pipeline.Detect(options, *images[e], {}, &features_[e], nullptr).ok());
      levels_[e] = reference::BuildPyramid(options.pyramid, input_.plan, *images[e]);
      for (const Image& level : levels_[e]) views_[e].push_back(level.view());
      *eyes[e] = {&features_[e], views_[e].data()};
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  const StereoInput& input() const { return input_; }
  Features& left() { return features_[0]; }
  Features& right() { return features_[1]; }

 private:
  StereoInput input_;
  Features features_[2];
  std::vector<Image> levels_[2];
  std::vector<ImageView> views_[2];
};

DetectorOptions OrbOptions(int features) {
  DetectorOptions options = *PresetOptions("orb");
  options.max_features = features;
  return options;
}

void ExpectSame(const StereoResult& expected, const StereoResult& actual) {
  EXPECT_EQ(expected.right_index, actual.right_index);
  EXPECT_EQ(expected.distance, actual.distance);
  EXPECT_EQ(expected.right_x, actual.right_x);
  EXPECT_EQ(expected.disparity, actual.disparity);
  EXPECT_EQ(expected.depth, actual.depth);
  EXPECT_EQ(expected.matches, actual.matches);
  EXPECT_EQ(expected.checks.matches, actual.checks.matches);
  EXPECT_EQ(expected.checks.median_dy, actual.checks.median_dy);
  EXPECT_EQ(expected.checks.negative_disparities, actual.checks.negative_disparities);
}

std::vector<StereoOptions> OptionsToTry() {
  std::vector<StereoOptions> all(7);
  all[0].focal_length = 500;
  all[0].baseline = 0.12f;
  all[1].cross_check = false;
  all[1].check_pair = false;
  all[2].median_cut = false;
  all[2].max_octave_difference = 7;
  all[2].band = 6;
  all[3].min_disparity = 3;
  all[3].max_disparity = 11.5f;
  all[3].max_distance = 40;
  all[4].band = 0;
  all[4].max_octave_difference = 0;
  all[5].min_disparity = -50;
  all[5].max_distance = 256;
  all[6].refine = false;
  return all;
}

struct RenderedPair {
  explicit RenderedPair(uint32_t seed, Shape shape = {752, 480}, int frame = 3) {
    scene::SceneOptions options;
    options.seed = seed;
    options.shape = shape;
    const scene::Scene scene(options);
    const scene::Pose pose = scene.PoseAt(frame);
    left = scene.Render(pose);
    right = scene.Render(scene.RightOf(pose));
    disparity = scene.Disparity(pose);
  }
  Image left;
  Image right;
  std::vector<float> disparity;
};

class StereoTest : public testing::SimdTest {
 protected:
  std::unique_ptr<cpu::StereoMatcher> MakeMatcher(int threads = 1) const {
    const testing::ForcedSimd forced(GetParam());
    return std::make_unique<cpu::StereoMatcher>(threads);
  }
};
INSTANTIATE_TEST_SUITE_P(Simd, StereoTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

TEST_P(StereoTest, IsTheReference) {
  const RenderedPair rendered(1, {320, 240});
  const Pair pair(OrbOptions(400), rendered.left, rendered.right);
  const Pair unlike(OrbOptions(150), testing::Texture({200, 100}, 1), testing::Texture({200, 100}, 2));
  const Pair same(OrbOptions(150), rendered.left, rendered.left);
  const auto one_thread = MakeMatcher();
  const auto three_threads = MakeMatcher(3);
  for (const StereoOptions& options : OptionsToTry()) {
    ASSERT_TRUE(ValidateStereoOptions(options).ok());
    for (const Pair* p : {&pair, &unlike, &same}) {
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

// Ties everywhere: few descriptors, keypoints of all octaves, up to the image's edges.
TEST_P(StereoTest, TiesAndEdges) {
  Pair pair(OrbOptions(300), testing::Texture({160, 120}, 3), testing::Texture({160, 120}, 3));
  testing::Random random(4);
  for (Features* features : {&pair.left(), &pair.right()}) {
    for (size_t i = 0; i < features->count(); ++i) {
      features->x[i] = random.OneIn(3) ? static_cast<float>(random.Uniform(0, 159)) : random.Uniform(0.0f, 159.9f);
      features->y[i] = random.OneIn(3) ? static_cast<float>(random.Uniform(0, 119)) : random.Uniform(0.0f, 119.9f);
      features->octave[i] = random.Uniform(0, 3);
      std::fill_n(features->descriptors.begin() + static_cast<ptrdiff_t>(i) * 32, 32,
                  static_cast<uint8_t>(random.Uniform(0, 3)));
    }
  }
  const auto matcher = MakeMatcher();
  for (const StereoOptions& options : OptionsToTry()) {
    StereoResult actual;
    matcher->Match(pair.input(), options, &actual);
    ExpectSame(reference::MatchStereo(pair.input(), options), actual);
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
  Pair pair(OrbOptions(100), image, image);
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

// The disparity at a point of the picture; NaN where its neighbours are not of one surface.
float DisparityAt(const RenderedPair& rendered, double x, double y) {
  const int width = rendered.left.width();
  const int x0 = static_cast<int>(x);
  const int y0 = static_cast<int>(y);
  const auto at = [&](int px, int py) { return rendered.disparity[static_cast<size_t>(py * width + px)]; };
  const float d[] = {at(x0, y0), at(x0 + 1, y0), at(x0, y0 + 1), at(x0 + 1, y0 + 1)};
  if (*std::max_element(d, d + 4) - *std::min_element(d, d + 4) > 1) return NAN;
  const double fx = x - x0;
  const double fy = y - y0;
  return static_cast<float>((1 - fy) * ((1 - fx) * d[0] + fx * d[1]) + fy * ((1 - fx) * d[2] + fx * d[3]));
}

TEST(Stereo, RenderedPairsHaveTheirTrueDisparity) {
  cpu::StereoMatcher matcher;
  size_t matches = 0;
  size_t near = 0;
  std::vector<float> errors;
  double sum = 0;
  for (const uint32_t seed : {1u, 2u, 3u}) {
    const RenderedPair rendered(seed);
    const Pair pair(OrbOptions(1500), rendered.left, rendered.right);
    StereoResult result;
    matcher.Match(pair.input(), {}, &result);
    EXPECT_LT(result.checks.median_dy, 0.6f);
    EXPECT_LE(result.checks.negative_disparities, result.checks.matches / 20);
    const Features& left = *pair.input().left.features;
    for (size_t i = 0; i < left.count(); ++i) {
      if (result.right_index[i] == kNoMatch) continue;
      // The middle of the level's pixel, which x and y in cv::ORB's convention are not.
      const LevelPlan& level = pair.input().plan.level[static_cast<size_t>(left.octave[i])];
      const double ratio_x = static_cast<double>(rendered.left.width()) / level.shape.width;
      const double ratio_y = static_cast<double>(rendered.left.height()) / level.shape.height;
      const float truth = DisparityAt(rendered, (std::round(left.x[i] / level.scale) + 0.5) * ratio_x - 0.5,
                                      (std::round(left.y[i] / level.scale) + 0.5) * ratio_y - 0.5);
      if (std::isnan(truth)) continue;
      ++matches;
      const float error = result.disparity[i] - truth;
      near += std::fabs(error) <= 0.5f;
      errors.push_back(std::fabs(error));
      if (std::fabs(error) <= 0.5f) sum += error;
    }
  }
  std::nth_element(errors.begin(), errors.begin() + static_cast<ptrdiff_t>(errors.size() / 2), errors.end());
  const float median = errors[errors.size() / 2];
  const double mean = sum / static_cast<double>(near);
  RecordProperty("matches", static_cast<int>(matches));
  std::printf("%zu matches, %.1f %% within 0.5 px, median error %.3f px, mean %.4f px\n", matches,
              100.0 * static_cast<double>(near) / static_cast<double>(matches), median, mean);
  EXPECT_GT(matches, 1000u);
  EXPECT_GE(near * 100, matches * 95);
  EXPECT_LE(median, 0.12f);
  EXPECT_LT(std::fabs(mean), 0.02);
}

TEST(Stereo, ChecksTellSwappedAndUnrectifiedPairs) {
  const RenderedPair rendered(1);
  StereoResult result;
  cpu::StereoMatcher matcher;
  const Pair swapped(OrbOptions(800), rendered.right, rendered.left);
  matcher.Match(swapped.input(), {}, &result);
  EXPECT_GT(result.checks.negative_disparities, result.checks.matches / 2);
  const int height = rendered.left.height() - 6;
  const ImageView up{rendered.left.row(0), rendered.left.width(), height, rendered.left.stride()};
  const ImageView down{rendered.right.row(6), rendered.left.width(), height, rendered.right.stride()};
  const Pair shifted(OrbOptions(800), up, down);
  matcher.Match(shifted.input(), {}, &result);
  EXPECT_NEAR(result.checks.median_dy, 6, 0.7);
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
  const Image image = testing::Texture({120, 90}, 1);
  Pair pair(OrbOptions(100), image, image);
  ASSERT_TRUE(ValidateStereoInput(pair.input(), {}).ok());
  pair.right().x[3] = 120;
  EXPECT_EQ(ValidateStereoInput(pair.input(), {}).message(), "right.features.x[3]: 120 is outside the image of 120x90");
  pair.right().x[3] = 5;
  pair.left().octave[2] = 8;
  EXPECT_EQ(ValidateStereoInput(pair.input(), {}).message(), "left.features.octave[2]: 8 is not in 0..7");
  pair.left().octave[2] = 1;
  pair.left().descriptor_bytes = 16;
  EXPECT_EQ(ValidateStereoInput(pair.input(), {}).message(), "right.descriptor_bytes: 32, but the left eye has 16");
  StereoInput mixed = pair.input();
  mixed.plan = PlanPyramid(OrbOptions(100), {121, 90});
  EXPECT_EQ(ValidateStereoInput(mixed, {}).message(),
            "left.levels[0]: 120x90, but the other eye and the plan have 121x90");
}

}  // namespace
}  // namespace glint
