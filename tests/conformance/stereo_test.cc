// Stereo matching on real rectified pairs (GLINT_TEST_DATA), beside what a few lines of OpenCV find.
#include "features/reference/stereo.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_matcher.h"
#include "cpu/stereo/stereo_pipeline.h"
#include "features/reference/pyramid.h"
#include "gtest/gtest.h"
#include "opencv2/features2d.hpp"
#include "tests/conformance/oracle.h"

namespace glint {
namespace {

struct Eye {
  Eye(const std::string& preset, const std::string& path) : image(testing::LoadGray(path)) {
    DetectorOptions options = *PresetOptions(preset);
    options.max_features = 2000;
    options.descriptor = Descriptor::kRbrief;
    cpu::Pipeline pipeline;
    EXPECT_TRUE(pipeline.Detect(options, image, {}, &features, nullptr).ok());
    plan = PlanPyramid(options, image.shape());
    levels = reference::BuildPyramid(options.pyramid, plan, image);
    for (const Image& level : levels) views.push_back(level.view());
  }
  cv::Mat descriptors() const {
    return cv::Mat(static_cast<int>(features.count()), features.descriptor_bytes, CV_8U,
                   const_cast<uint8_t*>(features.descriptors.data()));
  }
  Image image;
  Features features;
  PyramidPlan plan;
  std::vector<Image> levels;
  std::vector<ImageView> views;
};

// Mutual nearest neighbours of cv::BFMatcher among all descriptors, then the rules of a stereo pair.
int OfBruteForce(const Eye& left, const Eye& right, const StereoOptions& options) {
  std::vector<cv::DMatch> matches;
  cv::BFMatcher(cv::NORM_HAMMING, true).match(left.descriptors(), right.descriptors(), matches);
  int count = 0;
  for (const cv::DMatch& m : matches) {
    const StereoPoint l = PointOf(left.features, static_cast<size_t>(m.queryIdx));
    const StereoPoint r = PointOf(right.features, static_cast<size_t>(m.trainIdx));
    const float scale = left.plan.level[static_cast<size_t>(r.octave)].scale;
    count += m.distance <= static_cast<float>(options.max_distance) && IsStereoPair(options, l, r, scale);
  }
  return count;
}

// The disparity, 0..most pixels, at which plain SAD of 11x11 pixels along the row is least.
int PlainDisparity(const ImageView& left, const ImageView& right, int x, int y, int most) {
  int best = 0;
  int least = std::numeric_limits<int>::max();
  for (int d = 0; d <= most && x - d >= kStereoWindow; ++d) {
    const int sad = reference::WindowSad(left, x, right, x - d, y);
    if (sad >= least) continue;
    least = sad;
    best = d;
  }
  return best;
}

class StereoOfKitti : public ::testing::TestWithParam<const char*> {};

TEST_P(StereoOfKitti, FindsWhatBruteForceFindsAndRefinesIt) {
  const char* data = std::getenv("GLINT_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "GLINT_TEST_DATA is not set";
  const std::string folder = std::string(data) + "/kitti_06/";
  if (std::FILE* calibration = std::fopen((folder + "calib.txt").c_str(), "r"); calibration != nullptr) {
    std::fclose(calibration);
  } else {
    GTEST_SKIP() << folder << " is not there";
  }
  cpu::StereoMatcher matcher;
  int refined = 0;
  int near_plain = 0;
  for (const char* frame : {"000000.png", "000020.png", "000045.png"}) {
    SCOPED_TRACE(frame);
    const Eye left(GetParam(), folder + "image_l/" + frame);
    const Eye right(GetParam(), folder + "image_r/" + frame);
    const StereoInput input{{&left.features, left.views.data()}, {&right.features, right.views.data()}, left.plan};
    StereoResult result;
    for (const int threshold : {50, 64}) {
      StereoOptions options;
      options.max_distance = threshold;
      options.refine = false;
      ASSERT_TRUE(ValidateStereoInput(input, options).ok());
      matcher.Match(input, options, &result);
      const int brute_force = OfBruteForce(left, right, options);
      EXPECT_GE(result.matches, brute_force);
      std::printf("%s, threshold %d: %d consistent, brute force %d", frame, threshold, result.matches, brute_force);
      options.refine = true;
      matcher.Match(input, options, &result);
      std::printf(", refined %d, median |dy| %.2f px\n", result.matches, result.checks.median_dy);
      EXPECT_LE(result.checks.median_dy, 0.6f);
    }
    for (size_t i = 0; i < left.features.count(); ++i) {
      if (result.right_index[i] == kNoMatch) continue;
      const int x = static_cast<int>(std::lround(left.features.x[i]));
      const int y = static_cast<int>(std::lround(left.features.y[i]));
      const int plain = PlainDisparity(left.image, right.image, x, y, 160);
      ++refined;
      near_plain += std::fabs(static_cast<float>(plain) - result.disparity[i]) <= 1.5f;
    }
  }
  std::printf("%s: %d refined, %.1f %% of them within 1.5 px of plain SAD along the row\n", GetParam(), refined,
              100.0 * near_plain / refined);
  EXPECT_GT(refined, 500);
  EXPECT_GE(near_plain * 100, refined * 95);
}

// The drive is rectified: no pair of it may be warned of.
TEST_P(StereoOfKitti, ChecksFindNothingWrong) {
  const char* data = std::getenv("GLINT_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "GLINT_TEST_DATA is not set";
  const std::string folder = std::string(data) + "/kitti_06/";
  DetectorOptions detector = *PresetOptions(GetParam());
  detector.max_features = 2000;
  detector.descriptor = Descriptor::kRbrief;
  cpu::StereoPipeline pipeline(2);
  Features left_features, right_features;
  StereoResult result;
  float worst = 0;
  int pairs = 0;
  for (; pairs < 51; ++pairs) {
    char name[16];
    std::snprintf(name, sizeof(name), "%06d.png", pairs);
    std::FILE* const file = std::fopen((folder + "image_l/" + name).c_str(), "r");
    if (file == nullptr) break;
    std::fclose(file);
    const Image left = testing::LoadGray(folder + "image_l/" + name);
    const Image right = testing::LoadGray(folder + "image_r/" + name);
    ASSERT_TRUE(pipeline.Detect(detector, {left, right}, {}, &left_features, &right_features, &result, nullptr).ok());
    EXPECT_GE(result.checks.sure, 20) << name;
    EXPECT_LE(result.checks.median_dy, 1.0f) << name;
    EXPECT_LT(2 * result.checks.negative_disparities, result.checks.matches) << name;
    worst = std::max(worst, result.checks.median_dy);
  }
  if (pairs == 0) GTEST_SKIP() << folder << " is not there";
  std::printf("%s: largest median |dy| of %d pairs %.2f px\n", GetParam(), pairs, worst);
}

INSTANTIATE_TEST_SUITE_P(Presets, StereoOfKitti, ::testing::Values("orb", "orbslam", "pyca"),
                         [](const auto& preset) { return std::string(preset.param); });

}  // namespace
}  // namespace glint
