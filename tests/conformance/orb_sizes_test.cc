// Image sizes from one pixel on, against cv::ORB. Where cv::ORB throws because a level has no pixels left, Glint has no
// keypoints there.
#include <vector>

#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/conformance/backends.h"
#include "tests/conformance/oracle.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::testing {
namespace {

void ExpectEqual(const DetectorOptions& options, const Image& image, const Image& mask = {}) {
  EXPECT_TRUE(BackendsEqualOrb(options, image, mask));
}

// At the default edge threshold nothing smaller than 63x63 has keypoints; at 0 every level of 7x7 or more can.
TEST(OrbSizes, OnePixelToSixtySeven) {
  Random random(1);
  size_t keypoints = 0;
  for (int width = 1; width <= 67; ++width) {
    for (int height = 1 + width % 3; height <= 67; height += 3) {
      DetectorOptions options = RandomOptions(&random, OrbOptions());
      options.edge_threshold = random.Uniform(0, 33);
      options.fast_threshold = random.Uniform(1, 30);
      const Image image = Noise({width, height}, random.Bits());
      ExpectEqual(options, image, random.OneIn(3) ? RandomMask(&random, image.shape()) : Image());
      keypoints += reference::Detect(options, image).count();
    }
  }
  EXPECT_GT(keypoints, 10000u);
}

TEST(OrbSizes, DefaultsAroundTheSmallestWithKeypoints) {
  for (int side = 60; side <= 70; ++side) ExpectEqual(OrbOptions(), Noise({side, side}, side));
  EXPECT_EQ(reference::Detect(OrbOptions(), Noise({62, 62}, 1)).count(), 0u);
}

TEST(OrbSizes, OrbThrowsExactlyWhereALevelVanishes) {
  DetectorOptions options = OrbOptions();
  options.levels = 12;
  for (const float factor : {1.05f, 1.2f, 1.5f, 2.0f}) {
    options.scale_factor = factor;
    for (int width = 1; width <= 80; ++width) {
      const Image image = Noise({width, 81 - width}, width);
      const PyramidPlan plan = PlanPyramid(options, image.shape());
      EXPECT_EQ(AskOrb(options, image).threw, plan.level[11].shape.pixels() == 0) << width << ", factor " << factor;
    }
  }
}

// cv::FAST has a vector loop and a tail; the levels of these meet every tail length.
TEST(OrbSizes, NarrowAndFlat) {
  DetectorOptions options = OrbOptions();
  options.edge_threshold = 0;
  for (int narrow = 7; narrow <= 70; ++narrow) {
    ExpectEqual(options, Texture({narrow, 300}, narrow, 1));
    ExpectEqual(options, Texture({300, narrow}, narrow, 1));
  }
}

TEST(OrbSizes, Odd) {
  for (const Shape shape : {Shape{631, 479}, Shape{17, 2000}, Shape{2000, 17}, Shape{1023, 33}, Shape{641, 127}}) {
    DetectorOptions options = OrbOptions();
    ExpectEqual(options, Texture(shape, 2, 2));
    options.edge_threshold = 5;
    ExpectEqual(options, Texture(shape, 3, 2));
  }
}

TEST(OrbSizes, EightK) {
  DetectorOptions options = OrbOptions();
  options.max_features = 20000;
  ExpectEqual(options, Texture({7680, 4320}, 4, 3));
}

TEST(OrbSizes, LongestSides) {
  DetectorOptions options = OrbOptions();
  options.edge_threshold = 3;
  ExpectEqual(options, Texture({kMaxImageSide, 40}, 5, 1));
  ExpectEqual(options, Texture({40, kMaxImageSide}, 6, 1));
}

}  // namespace
}  // namespace glint::testing
