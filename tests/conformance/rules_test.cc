// Each rule of docs/exactness.md against the OpenCV function that it is taken from.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "features/math.h"
#include "features/patch.h"
#include "features/reference/border.h"
#include "features/reference/fast.h"
#include "features/reference/gaussian.h"
#include "features/reference/harris.h"
#include "features/reference/orientation.h"
#include "features/reference/pyramid.h"
#include "features/reference/rbrief.h"
#include "features/reference/selection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "opencv2/core.hpp"
#include "opencv2/core/utility.hpp"
#include "opencv2/features2d.hpp"
#include "opencv2/imgproc.hpp"
#include "tests/conformance/oracle.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint::testing {
namespace {

using reference::Corner;
using ::testing::ElementsAreArray;

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::vector<Corner> CornersOf(const std::vector<cv::KeyPoint>& keypoints) {
  std::vector<Corner> corners;
  for (const cv::KeyPoint& k : keypoints) {
    corners.push_back({static_cast<int>(k.pt.x), static_cast<int>(k.pt.y), k.response});
  }
  return corners;
}

std::vector<cv::KeyPoint> KeypointsOf(const std::vector<Corner>& corners) {
  std::vector<cv::KeyPoint> keypoints;
  for (const Corner& c : corners) {
    keypoints.emplace_back(cv::Point2f(static_cast<float>(c.x), static_cast<float>(c.y)), 7.0f, -1.0f, c.response);
  }
  return keypoints;
}

std::vector<Corner> Sorted(std::vector<Corner> corners) {
  reference::SortForOutput(&corners);
  return corners;
}

void ExpectFastEqual(const Image& image, int threshold) {
  std::vector<cv::KeyPoint> raw;
  std::vector<cv::KeyPoint> suppressed;
  cv::FAST(MatOf(image), raw, threshold, /*nonmaxSuppression=*/false);
  cv::FAST(MatOf(image), suppressed, threshold, /*nonmaxSuppression=*/true);
  const std::vector<Corner> corners = reference::DetectFast(image, threshold, 9);
  EXPECT_THAT(reference::SuppressNonMaxima(corners, image.shape()), ElementsAreArray(CornersOf(suppressed)))
      << image.width() << "x" << image.height() << ", threshold " << threshold;
  std::vector<Corner> unscored = corners;
  for (Corner& c : unscored) c.response = 0;
  EXPECT_THAT(unscored, ElementsAreArray(CornersOf(raw)))
      << image.width() << "x" << image.height() << ", threshold " << threshold;
}

TEST(FastRule, HoldsForEveryThreshold) {
  for (int threshold = 0; threshold <= 255; ++threshold) {
    ExpectFastEqual(threshold % 2 == 0 ? Noise({120, 40}, threshold) : Texture({120, 40}, threshold, 1), threshold);
  }
}

// cv::FAST treats 16 columns at a time where it can, and the rest one by one.
TEST(FastRule, HoldsForNarrowImages) {
  for (int width = 1; width <= 100; ++width) {
    for (const int height : {1, 6, 7, 8, 20}) {
      ExpectFastEqual(Noise({width, height}, width), 20);
      ExpectFastEqual(Speckle({width, height}, width), 60);
    }
  }
}

TEST(FastRule, HoldsWhereScoresTie) {
  for (const int cell : {1, 2, 3, 4, 5, 8}) ExpectFastEqual(Checkerboard({100, 60}, cell), 10);
  ExpectFastEqual(TieGrid({100, 60}), 10);
}

void ExpectResizeEqual(Shape from, Shape to, uint32_t seed) {
  const Image image = Noise(from, seed);
  cv::Mat resized;
  cv::resize(MatOf(image), resized, cv::Size(to.width, to.height), 0, 0, cv::INTER_LINEAR_EXACT);
  EXPECT_TRUE(SamePixels(reference::Resize(image, to), ImageOf(resized)))
      << from.width << "x" << from.height << " to " << to.width << "x" << to.height;
}

TEST(ResizeRule, HoldsForSmallSizes) {
  for (int from = 1; from <= 48; ++from) {
    for (int to = 1; to <= from; ++to) {
      ExpectResizeEqual({from, 5}, {to, 3}, from);
      ExpectResizeEqual({5, from}, {4, to}, to);
    }
  }
}

TEST(ResizeRule, HoldsForLargeSizes) {
  Random random(5);
  for (int i = 0; i < Repetitions(40); ++i) {
    const Shape from = {random.Uniform(100, 1500), random.Uniform(100, 500)};
    const Shape to = {random.Uniform(from.width / 2, from.width), random.Uniform(from.height / 2, from.height)};
    ExpectResizeEqual(from, to, i);
  }
  ExpectResizeEqual({16000, 4}, {13333, 3}, 1);
  ExpectResizeEqual({4, 16000}, {3, 13333}, 1);
}

TEST(MaskRule, KeepsOnlyWhatIsWholeAfterResizing) {
  DetectorOptions options;
  options.levels = 5;
  Random random(6);
  const Image mask = RandomMask(&random, {211, 97});
  const PyramidPlan plan = PlanPyramid(options, mask.shape());
  const std::vector<Image> levels = reference::BuildMaskPyramid(options, plan, mask);
  EXPECT_TRUE(SamePixels(levels[0], mask));
  cv::Mat before = MatOf(mask);
  for (int l = 1; l < plan.levels; ++l) {
    cv::Mat level;
    cv::resize(before, level, cv::Size(plan.level[l].shape.width, plan.level[l].shape.height), 0, 0,
               cv::INTER_LINEAR_EXACT);
    cv::threshold(level, level, 254, 0, cv::THRESH_TOZERO);
    EXPECT_TRUE(SamePixels(levels[l], ImageOf(level))) << "level " << l;
    before = level;
  }
}

TEST(BorderRule, ReflectsWithoutRepeatingTheEdge) {
  for (const Shape shape : {Shape{1, 1}, Shape{1, 5}, Shape{2, 3}, Shape{5, 2}, Shape{9, 4}}) {
    const Image image = Noise(shape, 7);
    constexpr int kMargin = 20;
    cv::Mat wide;
    cv::copyMakeBorder(MatOf(image), wide, kMargin, kMargin, kMargin, kMargin, cv::BORDER_REFLECT_101);
    for (int y = -kMargin; y < shape.height + kMargin; ++y) {
      for (int x = -kMargin; x < shape.width + kMargin; ++x) {
        ASSERT_EQ(reference::PixelOrReflection(image, x, y), wide.at<uint8_t>(y + kMargin, x + kMargin))
            << x << "," << y;
      }
    }
  }
}

// A level as cv::ORB holds it: inside a larger matrix, surrounded by its reflection.
cv::Mat InMargin(const Image& image) {
  constexpr int kMargin = 5;
  cv::Mat wide;
  cv::copyMakeBorder(MatOf(image), wide, kMargin, kMargin, kMargin, kMargin, cv::BORDER_REFLECT_101);
  return wide(cv::Rect(kMargin, kMargin, image.width(), image.height()));
}

TEST(GaussianRule, HoldsOnSubMatrices) {
  if (const std::string why = WhyDescriptorsCannotBeCompared(); !why.empty()) GTEST_SKIP() << why;
  const auto expect_equal = [](const Image& image) {
    cv::Mat level = InMargin(image);
    cv::GaussianBlur(level, level, cv::Size(7, 7), 2, 2, cv::BORDER_REFLECT_101);
    EXPECT_TRUE(SamePixels(reference::GaussianBlur(image), ImageOf(level))) << image.width() << "x" << image.height();
  };
  for (int width = 1; width <= 70; ++width) expect_equal(Noise({width, 9}, width));
  for (int height = 1; height <= 40; ++height) expect_equal(Noise({21, height}, height));
  for (int i = 0; i < Repetitions(10); ++i) {
    expect_equal(Noise({631, 479}, i));
    expect_equal(Texture({631, 479}, i, 3));
  }
}

// What makes the rule above necessary.
TEST(GaussianRule, DiffersOnWholeMatrices) {
  if (const std::string why = WhyDescriptorsCannotBeCompared(); !why.empty()) GTEST_SKIP() << why;
  const Image image = Noise({631, 479}, 1);
  cv::Mat whole;
  cv::GaussianBlur(MatOf(image), whole, cv::Size(7, 7), 2, 2, cv::BORDER_REFLECT_101);
  const Image blurred = reference::GaussianBlur(image);
  int different = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      const int difference = std::abs(blurred.row(y)[x] - whole.at<uint8_t>(y, x));
      ASSERT_LE(difference, 1);
      different += difference;
    }
  }
  EXPECT_GT(different, image.shape().pixels() / 200);
}

TEST(Atan2Rule, HoldsForAllSmallIntegers) {
  for (int y = -400; y <= 400; ++y) {
    for (int x = -400; x <= 400; ++x) {
      const float fy = static_cast<float>(y);
      const float fx = static_cast<float>(x);
      ASSERT_EQ(BitsOf(FastAtan2(fy, fx)), BitsOf(cv::fastAtan2(fy, fx))) << y << ", " << x;
    }
  }
}

TEST(Atan2Rule, HoldsForMoments) {
  Random random(8);
  constexpr int kLargest = 31 * 31 * 31 * 4 * 255;  // beyond what a disc of radius 31 sums to
  for (int i = 0; i < Repetitions(2000000); ++i) {
    const int range = kLargest >> random.Uniform(0, 20);
    const float y = static_cast<float>(random.Uniform(-range, range));
    const float x = static_cast<float>(random.Uniform(-range, range));
    ASSERT_EQ(BitsOf(FastAtan2(y, x)), BitsOf(cv::fastAtan2(y, x))) << y << ", " << x;
  }
}

// All floats in [0, 360] in a sweep, otherwise one in 37 of them.
TEST(SteeringRule, EqualsLibm) {
  const float last = 360;
  for (uint32_t bits = 0; bits <= BitsOf(last); bits += Repetitions(1) > 1 ? 1 : 37) {
    float degrees;
    std::memcpy(&degrees, &bits, sizeof degrees);
    const float radians = degrees * static_cast<float>(CV_PI / 180);
    const SinCos steering = SteeringSinCos(degrees);
    ASSERT_EQ(BitsOf(steering.sin), BitsOf(std::sin(radians))) << degrees;
    ASSERT_EQ(BitsOf(steering.cos), BitsOf(std::cos(radians))) << degrees;
  }
}

TEST(GrayRule, HoldsForEveryColour) {
  cv::Mat colours(1 << 12, 1 << 12, CV_8UC3);
  for (int i = 0; i < 1 << 24; ++i) {
    colours.at<cv::Vec3b>(i >> 12, i & 0xfff) = cv::Vec3b(i & 0xff, i >> 8 & 0xff, i >> 16);
  }
  cv::Mat gray_of_rgb;
  cv::Mat gray_of_bgr;
  cv::cvtColor(colours, gray_of_rgb, cv::COLOR_RGB2GRAY);
  cv::cvtColor(colours, gray_of_bgr, cv::COLOR_BGR2GRAY);
  for (int i = 0; i < 1 << 24; ++i) {
    const auto first = static_cast<uint8_t>(i & 0xff);
    const auto second = static_cast<uint8_t>(i >> 8 & 0xff);
    const auto third = static_cast<uint8_t>(i >> 16);
    ASSERT_EQ(GrayFromRgb(first, second, third), gray_of_rgb.at<uint8_t>(i >> 12, i & 0xfff)) << i;
    ASSERT_EQ(GrayFromRgb(third, second, first), gray_of_bgr.at<uint8_t>(i >> 12, i & 0xfff)) << i;
  }
}

TEST(SelectionRule, RetainsTies) {
  Random random(9);
  for (int i = 0; i < Repetitions(500); ++i) {
    std::vector<Corner> corners(random.Uniform(0, 200));
    const int values = random.Uniform(1, 100);
    for (size_t j = 0; j < corners.size(); ++j) {
      corners[j] = {static_cast<int>(j), 0, static_cast<float>(random.Uniform(-values, values))};
    }
    const int n = random.Uniform(0, 210);
    std::vector<cv::KeyPoint> keypoints = KeypointsOf(corners);
    cv::KeyPointsFilter::retainBest(keypoints, n);
    EXPECT_EQ(Sorted(reference::RetainBest(corners, n)), Sorted(CornersOf(keypoints))) << n << " of " << corners.size();
  }
}

TEST(SelectionRule, CutsTheBorder) {
  const Shape shape = {20, 13};
  std::vector<Corner> everywhere;
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) everywhere.push_back({x, y, 1});
  }
  for (int edge = 0; edge <= 12; ++edge) {
    std::vector<cv::KeyPoint> keypoints = KeypointsOf(everywhere);
    cv::KeyPointsFilter::runByImageBorder(keypoints, cv::Size(shape.width, shape.height), edge);
    EXPECT_EQ(reference::KeepInside(everywhere, shape, edge), CornersOf(keypoints)) << edge;
  }
}

// One level, so that the keypoints' coordinates are the level's.
std::vector<cv::KeyPoint> OrbKeypoints(const Image& image, int patch_size, int edge, cv::ORB::ScoreType score) {
  const auto orb = cv::ORB::create(20000, 1.2f, 1, edge, 0, 2, score, patch_size, 10);
  std::vector<cv::KeyPoint> keypoints;
  orb->detect(MatOf(image), keypoints);
  return keypoints;
}

TEST(HarrisRule, HoldsInsideAndAcrossTheBorder) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    for (const Image& image : {Noise({150, 90}, seed), Texture({150, 90}, seed, 2), Speckle({150, 90}, seed)}) {
      const auto keypoints = OrbKeypoints(image, 31, 0, cv::ORB::HARRIS_SCORE);
      ASSERT_FALSE(keypoints.empty());
      for (const Corner& c : CornersOf(keypoints)) {
        ASSERT_EQ(BitsOf(reference::HarrisAt(image, c.x, c.y)), BitsOf(c.response)) << c.x << "," << c.y;
      }
    }
  }
}

TEST(AngleRule, HoldsForEveryPatchSize) {
  for (int patch_size = kMinPatchSize; patch_size <= kMaxPatchSize; ++patch_size) {
    const PatchDisc disc = MakePatchDisc(patch_size);
    for (const Image& image : {Noise({120, 90}, patch_size), Texture({120, 90}, patch_size, 2)}) {
      const auto keypoints = OrbKeypoints(image, patch_size, 0, cv::ORB::FAST_SCORE);
      ASSERT_FALSE(keypoints.empty());
      for (const cv::KeyPoint& k : keypoints) {
        const float angle = reference::CentroidAngle(image, static_cast<int>(k.pt.x), static_cast<int>(k.pt.y), disc);
        ASSERT_EQ(BitsOf(angle), BitsOf(k.angle)) << "patch " << patch_size << " at " << k.pt;
      }
    }
  }
}

TEST(PatternRule, DrawsFromCvRng) {
  for (int patch_size = kMinPatchSize; patch_size <= kMaxPatchSize; ++patch_size) {
    if (patch_size == 31) continue;  // the learned one
    cv::RNG rng(0x34985739);
    for (const RbriefPair& pair : MakeRbriefPattern(patch_size)) {
      for (const int offset : {pair.x0, pair.y0, pair.x1, pair.y1}) {
        ASSERT_EQ(offset, rng.uniform(-(patch_size / 2), patch_size / 2 + 1)) << patch_size;
      }
    }
  }
}

// Angles of our choosing, which detection would never give so many of, through cv::ORB::compute.
TEST(DescriptorRule, HoldsForRandomAnglesAndEveryPatchSize) {
  if (const std::string why = WhyDescriptorsCannotBeCompared(); !why.empty()) GTEST_SKIP() << why;
  const Image image = Noise({320, 240}, 11);
  const Image blurred = reference::GaussianBlur(image);
  Random random(12);
  for (int patch_size = kMinPatchSize; patch_size <= kMaxPatchSize; ++patch_size) {
    const RbriefPattern pattern = MakeRbriefPattern(patch_size);
    const auto orb = cv::ORB::create(1, 1.2f, 1, /*edgeThreshold=*/1, 0, 2, cv::ORB::HARRIS_SCORE, patch_size);
    std::vector<cv::KeyPoint> keypoints;
    for (int i = 0; i < Repetitions(patch_size == 31 ? 60000 : 1000); ++i) {
      const cv::Point2f at(static_cast<float>(random.Uniform(1, 318)), static_cast<float>(random.Uniform(1, 238)));
      keypoints.emplace_back(at, 31.0f, random.Uniform(0.0f, 360.0f), 1.0f, 0);
    }
    cv::Mat descriptors;
    orb->compute(MatOf(image), keypoints, descriptors);
    for (size_t i = 0; i < keypoints.size(); ++i) {
      const cv::KeyPoint& k = keypoints[i];
      const auto descriptor =
          reference::Describe(image, blurred, static_cast<int>(k.pt.x), static_cast<int>(k.pt.y), k.angle, pattern);
      ASSERT_EQ(std::memcmp(descriptor.data(), descriptors.ptr(static_cast<int>(i)), kRbriefBytes), 0)
          << "patch " << patch_size << " at " << k.pt << ", " << k.angle << " degrees";
    }
  }
}

// cv::ORB looks beyond a region of interest at level 0 alone; Glint equals cv::ORB on a copy of the region.
TEST(MarginRule, OfARegionOfInterestIsItsSurroundings) {
  const Image surroundings = Texture({240, 200}, 15);
  const cv::Mat region = MatOf(surroundings)(cv::Rect(50, 40, 120, 100));
  const cv::Mat copy = region.clone();
  const auto responses = [](const cv::Mat& image, int edge) {
    std::vector<cv::KeyPoint> keypoints;
    cv::ORB::create(20000, 1.2f, 2, edge)->detect(image, keypoints);
    std::vector<float> all;
    for (const cv::KeyPoint& k : keypoints) all.push_back(k.response);
    return all;
  };
  EXPECT_NE(responses(region, 0), responses(copy, 0));
  EXPECT_EQ(responses(region, 4), responses(copy, 4));  // Harris reads 4 pixels around a corner
  EXPECT_FALSE(responses(region, 4).empty());
}

// Harris responses of noise hardly ever tie, so that each level returns exactly its share if it has enough corners.
TEST(ShareRule, HoldsForManyPyramids) {
  const Image image = Noise({400, 300}, 13);
  Random random(14);
  for (int i = 0; i < Repetitions(60); ++i) {
    DetectorOptions options = RandomOptions(&random, OrbOptions());
    options.descriptor = Descriptor::kNone;
    options.levels = std::min(options.levels, 8);  // none vanishes
    options.ranking = Ranking::kHarris;
    options.fast_threshold = 1;
    options.edge_threshold = 3;
    options.max_features = random.Uniform(1, 500);
    const Features found = AskOrb(options, image).features;
    const PyramidPlan plan = PlanPyramid(options, image.shape());
    for (int l = 0; l < plan.levels; ++l) {
      const auto count = std::count(found.octave.begin(), found.octave.end(), l);
      if (plan.level[l].shape.pixels() > 40 * plan.level[l].max_features + 5000) {
        EXPECT_EQ(count, plan.level[l].max_features) << "level " << l << ": " << ToString(options);
      } else {
        EXPECT_LE(count, plan.level[l].max_features) << "level " << l << ": " << ToString(options);
      }
    }
  }
}

}  // namespace
}  // namespace glint::testing
