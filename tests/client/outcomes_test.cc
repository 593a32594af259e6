// What the detectors are chosen for, on a rendered scene: docs/detectors/comparison.md says so, and this keeps it true.
// What was found is behind each bound, which leaves room.
#include <algorithm>
#include <opencv2/core.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/output/compare_metrics.h"
#include "client/cli/output/compare_views.h"
#include "cpu/pipeline.h"
#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/scene/scene.h"
#include "tests/support/random.h"

namespace glint::cli {
namespace {

constexpr size_t kKeep = 300;
constexpr double kTolerance = 3;  // pixels

cv::Mat Wall() {
  scene::SceneOptions options;
  options.layout = scene::Layout::kPlane;
  options.motion = scene::Motion::kStill;
  options.shape = {400, 300};
  const scene::Scene scene(options);
  const Image image = scene.Render(scene.PoseAt(0));
  const ImageView view = image.view();
  return cv::Mat(view.height, view.width, CV_8U, const_cast<uint8_t*>(view.data), static_cast<size_t>(view.stride))
      .clone();
}

ImageView ViewOf(const cv::Mat& gray) { return {gray.data, gray.cols, gray.rows, static_cast<ptrdiff_t>(gray.step)}; }

Features Detect(const DetectorOptions& options, const cv::Mat& image, const cv::Mat& mask = {}) {
  cpu::Pipeline pipeline;
  Features features;
  const absl::Status status =
      pipeline.Detect(options, ViewOf(image), mask.empty() ? ImageView() : ViewOf(mask), &features, nullptr);
  EXPECT_TRUE(status.ok()) << status;
  return Strongest(features, kKeep);
}

// One pixel in 500 becomes black or white.
cv::Mat WithShotNoise(const cv::Mat& image, uint32_t seed) {
  testing::Random random(seed);
  cv::Mat noisy = image.clone();
  for (int i = 0; i < image.rows * image.cols / 500; ++i) {
    noisy.at<uint8_t>(random.Uniform(0, image.rows - 1), random.Uniform(0, image.cols - 1)) = random.OneIn(2) ? 255 : 0;
  }
  return noisy;
}

// Means over turns of the wall.
struct Outcome {
  double repeatability = 0;
  double matching_score = 0;
  double precision = 0;
};
Outcome TurnWall(const DetectorOptions& options, bool noise) {
  const cv::Mat wall = Wall();
  const Features upright = Detect(options, noise ? WithShotNoise(wall, 1) : wall);
  Outcome mean;
  constexpr int kStep = 35;  // degrees; no right angles
  constexpr int kTurns = 360 / kStep;
  for (int i = 1; i <= kTurns; ++i) {
    const Turned turned = Turn(wall, kStep * i);
    const cv::Mat image = noise ? WithShotNoise(turned.image, static_cast<uint32_t>(1 + i)) : turned.image;
    const Agreement agreement = Compare(upright, {wall.cols, wall.rows}, Detect(options, image, turned.mask),
                                        {image.cols, image.rows}, turned.from, kTolerance);
    mean.repeatability += agreement.repeatability() / kTurns;
    mean.matching_score += agreement.matching_score() / kTurns;
    mean.precision += agreement.precision() / kTurns;
  }
  return mean;
}

DetectorOptions Preset(const std::string& name) { return PresetOptions(name).value(); }

TEST(Outcomes, BfrostMatchesHoweverTheImageIsTurned) {
  const Outcome bfrost = TurnWall(Preset("bfrost"), false);
  EXPECT_GT(bfrost.matching_score, 0.4);  // 0.51
  EXPECT_GT(bfrost.precision, 0.8);       // 0.89
}

TEST(Outcomes, BoundedRectificationLeavesShotNoiseOut) {
  DetectorOptions bounded = Preset("pyca");
  bounded.levels = 1;
  DetectorOptions unbounded = bounded;
  unbounded.max_arc = 16;
  const Outcome with = TurnWall(bounded, true);
  const Outcome without = TurnWall(unbounded, true);
  EXPECT_GT(with.repeatability, 3 * without.repeatability);  // 0.46, 0.06
  EXPECT_GT(with.matching_score, 3 * without.matching_score);
}

TEST(Outcomes, AggregationLeavesFewerKeypoints) {
  const cv::Mat wall = Wall();
  DetectorOptions options = Preset("pyca");
  size_t before = 0;
  for (options.aggregation_window = 1; options.aggregation_window <= 7; options.aggregation_window += 2) {
    std::vector<reference::LevelTrace> trace;
    const size_t after = reference::Detect(options, ViewOf(wall), {}, &trace).count();
    size_t culled = 0;  // the best of each cell of each level
    for (const reference::LevelTrace& level : trace) culled += level.ranked.size();
    EXPECT_LT(after, culled);
    if (options.aggregation_window > 1) {
      EXPECT_LT(after, before);
    }
    if (options.aggregation_window == 3) {
      EXPECT_LT(static_cast<double>(after), 0.75 * static_cast<double>(culled));  // 246 of 405
    }
    before = after;
  }
}

TEST(Outcomes, FastGridSpreadsKeypointsMoreEvenly) {
  const auto cells = [](const Features& features) {
    std::set<std::pair<int, int>> occupied;
    for (size_t i = 0; i < features.count(); ++i) {
      occupied.emplace(static_cast<int>(features.x[i]) / 32, static_cast<int>(features.y[i]) / 32);
    }
    return occupied.size();
  };
  const Features grid = Detect(Preset("fast_grid"), Wall());
  DetectorOptions orb = Preset("orb");
  orb.edge_threshold = Preset("fast_grid").edge_threshold;
  orb.max_features = static_cast<int>(grid.count());
  EXPECT_EQ(cells(grid), grid.count());
  EXPECT_GT(static_cast<double>(cells(grid)), 1.2 * static_cast<double>(cells(Detect(orb, Wall()))));
}

}  // namespace
}  // namespace glint::cli
