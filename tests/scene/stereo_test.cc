// Stereo matching of rendered pairs, whose disparity is known.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "cpu/stereo/stereo_matcher.h"
#include "gtest/gtest.h"
#include "tests/cpu/stereo_pair.h"
#include "tests/scene/scene.h"

namespace glint {
namespace {

using testing::OrbWithDescriptors;
using testing::StereoPair;

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
    const StereoPair pair(OrbWithDescriptors(1500), rendered.left, rendered.right);
    StereoResult result;
    matcher.Match(pair.input(), {}, &result);
    EXPECT_LT(result.checks.median_dy, 0.6f);
    EXPECT_LE(result.checks.negative_disparities, result.checks.matches / 20);
    const Features& left = *pair.input().left.features;
    for (size_t i = 0; i < left.count(); ++i) {
      if (result.right_index[i] == kNoMatch) continue;
      const float truth = DisparityAt(rendered, std::round(left.x[i]), std::round(left.y[i]));
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
  EXPECT_GE(near * 100, matches * 99);
  EXPECT_LE(median, 0.08f);
  // Windows at the edge of a surface see what is behind it, too.
  EXPECT_LT(std::fabs(mean), 0.03);
}

TEST(Stereo, ChecksTellSwappedAndUnrectifiedPairs) {
  const RenderedPair rendered(1);
  StereoResult result;
  cpu::StereoMatcher matcher;
  const StereoPair swapped(OrbWithDescriptors(800), rendered.right, rendered.left);
  matcher.Match(swapped.input(), {}, &result);
  EXPECT_GT(result.checks.negative_disparities, result.checks.matches / 2);
  const int height = rendered.left.height() - 6;
  const ImageView up{rendered.left.row(0), rendered.left.width(), height, rendered.left.stride()};
  const ImageView down{rendered.right.row(6), rendered.left.width(), height, rendered.right.stride()};
  const StereoPair shifted(OrbWithDescriptors(800), up, down);
  matcher.Match(shifted.input(), {}, &result);
  EXPECT_NEAR(result.checks.median_dy, 6, 0.7);
}

}  // namespace
}  // namespace glint
