// ORB-SLAM's extractor class on Glint: what a SLAM system sees of it, in process and on a server.
#include "client/opencv/orb_extractor.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "features/options.h"
#include "features/reference/pyramid.h"
#include "features/reference/reference.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opencv2/core.hpp"
#include "tests/server/harness.h"
#include "tests/support/images.h"

namespace glint::client {
namespace {

using ::glint::testing::TestOptions;
using ::glint::testing::TestServer;
using ::testing::HasSubstr;

constexpr int kFeatures = 300, kLevels = 4, kIniThreshold = 25, kMinThreshold = 6;
constexpr float kFactor = 1.3f;

Image Picture() { return testing::Texture({320, 240}, 3); }

cv::Mat MatOf(const Image& image) {
  return cv::Mat(image.height(), image.width(), CV_8UC1, const_cast<uint8_t*>(image.row(0)), image.stride()).clone();
}

DetectorOptions Options() {
  DetectorOptions options = PresetOptions("orbslam").value();
  options.max_features = kFeatures;
  options.scale_factor = kFactor;
  options.levels = kLevels;
  options.ini_fast_threshold = kIniThreshold;
  options.min_fast_threshold = kMinThreshold;
  return options;
}

// What a SLAM system has, with the original's names: it compiles with either class.
template <typename Extractor>
struct Frame {
  std::vector<cv::KeyPoint> mvKeys;
  cv::Mat mDescriptors;

  int Extract(Extractor* extractor, const cv::Mat& image, int from, int to) {
    std::vector<int> lapping = {from, to};
    return (*extractor)(image, cv::Mat(), mvKeys, mDescriptors, lapping);
  }
};

// Keypoint i of the reference is keypoint `at` of the frame.
void ExpectKeypoint(const Features& expected, size_t i, const Frame<OrbExtractor>& frame, size_t at) {
  const cv::KeyPoint& k = frame.mvKeys[at];
  EXPECT_EQ(k.pt.x, expected.x[i]);
  EXPECT_EQ(k.pt.y, expected.y[i]);
  EXPECT_EQ(k.size, expected.size[i]);
  EXPECT_EQ(k.angle, expected.angle[i]);
  EXPECT_EQ(k.response, expected.response[i]);
  EXPECT_EQ(k.octave, expected.octave[i]);
  const uint8_t* const row = frame.mDescriptors.ptr(static_cast<int>(at));
  EXPECT_TRUE(std::equal(row, row + kRbriefBytes, expected.descriptors.data() + i * kRbriefBytes)) << i;
}

void ExpectReference(OrbExtractor* extractor) {
  const Image image = Picture();
  const Features expected = reference::Detect(Options(), image);
  ASSERT_GT(expected.count(), 100u);
  Frame<OrbExtractor> frame;
  EXPECT_EQ(frame.Extract(extractor, MatOf(image), -2, -1), static_cast<int>(expected.count()));
  ASSERT_EQ(frame.mvKeys.size(), expected.count());
  ASSERT_EQ(frame.mDescriptors.rows, static_cast<int>(expected.count()));
  for (size_t i = 0; i < expected.count(); ++i) ExpectKeypoint(expected, i, frame, i);
}

TEST(OrbExtractorTest, FindsWhatTheReferenceFindsInProcess) {
  OrbExtractor extractor(kFeatures, kFactor, kLevels, kIniThreshold, kMinThreshold);
  ExpectReference(&extractor);
}

TEST(OrbExtractorTest, FindsTheSameOnAServer) {
  TestServer server(TestOptions());
  OrbExtractor extractor(kFeatures, kFactor, kLevels, kIniThreshold, kMinThreshold, server->addresses().at(0));
  ExpectReference(&extractor);
}

TEST(OrbExtractorTest, LappingKeypointsComeLast) {
  OrbExtractor extractor(kFeatures, kFactor, kLevels, kIniThreshold, kMinThreshold);
  const Image image = Picture();
  const Features expected = reference::Detect(Options(), image);
  Frame<OrbExtractor> frame;
  const int outside = frame.Extract(&extractor, MatOf(image), 100, 200);
  ASSERT_EQ(frame.mvKeys.size(), expected.count());
  size_t from_front = 0;
  size_t from_back = expected.count();
  for (size_t i = 0; i < expected.count(); ++i) {
    const bool laps = expected.x[i] >= 100 && expected.x[i] <= 200;
    ExpectKeypoint(expected, i, frame, laps ? --from_back : from_front++);
  }
  EXPECT_EQ(outside, static_cast<int>(from_front));
  EXPECT_GT(from_front, 0u);
  EXPECT_LT(from_front, expected.count());
}

TEST(OrbExtractorTest, TakesOrbSlam2sCallAndMasks) {
  OrbExtractor extractor(kFeatures, kFactor, kLevels, kIniThreshold, kMinThreshold);
  cv::Mat mask(240, 320, CV_8UC1, cv::Scalar(0));
  mask(cv::Rect(0, 0, 160, 240)).setTo(255);
  std::vector<cv::KeyPoint> keypoints;
  cv::Mat descriptors;
  extractor(MatOf(Picture()), mask, keypoints, descriptors);
  ASSERT_GT(keypoints.size(), 0u);
  for (const cv::KeyPoint& k : keypoints) EXPECT_LT(k.pt.x, 161);
  extractor(cv::Mat(240, 320, CV_8UC1, cv::Scalar(7)), cv::Mat(), keypoints, descriptors);
  EXPECT_TRUE(keypoints.empty());
  EXPECT_TRUE(descriptors.empty());
}

TEST(OrbExtractorTest, GettersAndLevelsAreTheOriginals) {
  OrbExtractor extractor(kFeatures, kFactor, kLevels, kIniThreshold, kMinThreshold);
  EXPECT_EQ(extractor.GetLevels(), kLevels);
  EXPECT_EQ(extractor.GetScaleFactor(), kFactor);
  float scale = 1;
  for (size_t l = 0; l < kLevels; ++l, scale *= kFactor) {
    EXPECT_EQ(extractor.GetScaleFactors()[l], scale);
    EXPECT_EQ(extractor.GetInverseScaleFactors()[l], 1 / scale);
    EXPECT_EQ(extractor.GetScaleSigmaSquares()[l], scale * scale);
    EXPECT_EQ(extractor.GetInverseScaleSigmaSquares()[l], 1 / (scale * scale));
  }
  const Image image = Picture();
  Frame<OrbExtractor> frame;
  frame.Extract(&extractor, MatOf(image), 0, 0);
  const std::vector<Image> levels = reference::BuildPyramid(Pyramid::kCascaded, PlanPyramid(Options(), image.shape()),
                                                            image, reference::Interpolation::kLinear);
  ASSERT_EQ(extractor.mvImagePyramid.size(), levels.size());
  for (size_t l = 0; l < levels.size(); ++l) {
    const cv::Mat& level = extractor.mvImagePyramid[l];
    EXPECT_TRUE(testing::SamePixels(
        levels[l], ImageView{level.data, level.cols, level.rows, static_cast<ptrdiff_t>(level.step[0])}));
  }
}

std::string ThrownBy(const std::function<void()>& call) {
  try {
    call();
  } catch (const cv::Exception& e) {
    return e.err;
  }
  return "nothing";
}

TEST(OrbExtractorTest, ErrorsAreExceptionsOfOpenCv) {
  EXPECT_THAT(ThrownBy([] { OrbExtractor(0, 1.2f, 8, 20, 7); }), HasSubstr("max_features: 0 is not in 1..65536"));
  EXPECT_THAT(ThrownBy([] { OrbExtractor(1000, 1.2f, 8, 7, 20); }),
              HasSubstr("min_fast_threshold: 20 is more than ini_fast_threshold 7"));
  EXPECT_THAT(ThrownBy([] { OrbExtractor(1000, 1.2f, 8, 20, 7, "unix:/nowhere/glint.sock"); }),
              HasSubstr("/nowhere/glint.sock"));
  OrbExtractor extractor(1000, 1.2f, 8, 20, 7);
  Frame<OrbExtractor> frame;
  EXPECT_THAT(ThrownBy([&] { frame.Extract(&extractor, cv::Mat(20, 20, CV_8UC3), 0, 0); }),
              HasSubstr("image: is not CV_8UC1"));
  EXPECT_EQ(frame.Extract(&extractor, cv::Mat(), 0, 0), -1);
}

}  // namespace
}  // namespace glint::client
