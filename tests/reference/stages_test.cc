// Each stage of the reference on images small or regular enough to know the answer.
#include <vector>

#include "features/math.h"
#include "features/reference/fast.h"
#include "features/reference/gaussian.h"
#include "features/reference/harris.h"
#include "features/reference/orientation.h"
#include "features/reference/pyramid.h"
#include "features/reference/rbrief.h"
#include "features/reference/selection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::reference {
namespace {

using ::testing::ElementsAre;
using testing::Flat;
using ::testing::IsEmpty;
using testing::Noise;
using testing::OrbOptions;
using testing::SamePixels;
using testing::TieGrid;

// One pixel of `value` on a field of `field`.
Image Dot(Shape shape, int x, int y, uint8_t value = 255, uint8_t field = 0) {
  Image image = Flat(shape, field);
  image.row(y)[x] = value;
  return image;
}

// Grey 128 at the centre, rising by dx to the right and by dy downwards.
Image Ramp(Shape shape, int dx, int dy) {
  Image image(shape.width, shape.height);
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) {
      image.row(y)[x] = static_cast<uint8_t>(128 + dx * (x - shape.width / 2) + dy * (y - shape.height / 2));
    }
  }
  return image;
}

TEST(Resize, HalvesByTheMean) {
  Image row(4, 1);
  const uint8_t pixels[] = {10, 20, 30, 41};
  std::copy(pixels, pixels + 4, row.row(0));
  const Image half = Resize(row, {2, 1});
  EXPECT_EQ(half.row(0)[0], 15);
  EXPECT_EQ(half.row(0)[1], 36);  // 35.5 goes up
}

TEST(Resize, ToTheSameShapeCopies) {
  const Image image = Noise({37, 23}, 1);
  EXPECT_TRUE(SamePixels(Resize(image, {37, 23}), image));
}

TEST(Resize, KeepsAConstant) {
  for (const uint8_t value : {0, 1, 127, 255}) {
    EXPECT_TRUE(SamePixels(Resize(Flat({29, 31}, value), {13, 17}), Flat({13, 17}, value)));
  }
}

TEST(BuildPyramid, CascadesAndStopsWhereALevelVanishes) {
  DetectorOptions options = OrbOptions();
  options.scale_factor = 2;
  options.levels = 5;
  const Image image = Noise({40, 3}, 2);
  const PyramidPlan plan = PlanPyramid(options, image.shape());
  const std::vector<Image> levels = BuildPyramid(Pyramid::kCascaded, plan, image);
  ASSERT_EQ(levels.size(), 5u);
  EXPECT_TRUE(SamePixels(levels[0], image));
  EXPECT_TRUE(SamePixels(levels[1], Resize(levels[0], {20, 2})));
  EXPECT_TRUE(SamePixels(levels[2], Resize(levels[1], {10, 1})));
  EXPECT_EQ(levels[3].shape(), (Shape{0, 0}));  // 3 / 8 rounds to 0
  EXPECT_EQ(levels[4].shape(), (Shape{0, 0}));
}

TEST(BuildMaskPyramid, OnlyWholeCellsSurvive) {
  DetectorOptions options = OrbOptions();
  options.scale_factor = 2;
  options.levels = 2;
  Image mask = Flat({8, 4}, 255);
  mask.row(0)[0] = 254;
  mask.row(3)[6] = 0;
  const std::vector<Image> levels = BuildMaskPyramid(options, PlanPyramid(options, mask.shape()), mask);
  EXPECT_TRUE(SamePixels(levels[0], mask));
  Image expected = Flat({4, 2}, 255);
  expected.row(1)[3] = 0;
  expected.row(0)[0] = 255;  // (254 + 3 * 255) / 4 rounds to 255
  EXPECT_TRUE(SamePixels(levels[1], expected));
}

TEST(DetectFast, FindsADotAtEveryArcLength) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    EXPECT_THAT(DetectFast(Dot({15, 11}, 8, 5), 20, arc), ElementsAre(Corner{8, 5, 254}));
    EXPECT_THAT(DetectFast(Dot({15, 11}, 8, 5, 100, 130), 20, arc), ElementsAre(Corner{8, 5, 29}));
  }
}

TEST(DetectFast, ComparesStrictly) {
  const Image image = Dot({7, 7}, 3, 3, 120, 100);
  EXPECT_THAT(DetectFast(image, 19, 9), ElementsAre(Corner{3, 3, 19}));
  EXPECT_THAT(DetectFast(image, 20, 9), IsEmpty());
}

TEST(DetectFast, KeepsThreePixelsFromTheBorder) {
  EXPECT_THAT(DetectFast(Dot({7, 7}, 3, 3), 20, 9), ElementsAre(Corner{3, 3, 254}));
  for (const Shape shape : {Shape{6, 7}, Shape{7, 6}}) EXPECT_THAT(DetectFast(Dot(shape, 3, 3), 20, 9), IsEmpty());
  for (const int at : {0, 1, 2, 7, 8, 9}) {
    EXPECT_THAT(DetectFast(Dot({10, 10}, at, 5), 20, 9), IsEmpty()) << at;
    EXPECT_THAT(DetectFast(Dot({10, 10}, 5, at), 20, 9), IsEmpty()) << at;
  }
}

TEST(DetectFast, LongerArcsAreFewer) {
  const Image image = Noise({100, 80}, 3);
  size_t previous = DetectFast(image, 10, kMinArcLength).size();
  for (int arc = kMinArcLength + 1; arc <= kMaxArcLength; ++arc) {
    const size_t count = DetectFast(image, 10, arc).size();
    EXPECT_LT(count, previous);
    EXPECT_GT(count, 0u);
    previous = count;
  }
}

TEST(DetectFast, SeesNothingOnAStraightEdge) {
  Image image = Flat({30, 30}, 0);
  for (int y = 0; y < 30; ++y) std::fill(image.row(y) + 15, image.row(y) + 30, 255);
  EXPECT_THAT(DetectFast(image, 20, 9), IsEmpty());
}

TEST(SuppressNonMaxima, TheStrictlyGreatestWins) {
  const Shape shape = {20, 20};
  EXPECT_THAT(SuppressNonMaxima({{5, 5, 3}, {6, 5, 4}, {7, 6, 3}}, shape), ElementsAre(Corner{6, 5, 4}));
  EXPECT_THAT(SuppressNonMaxima({{5, 5, 3}, {6, 5, 3}}, shape), IsEmpty());
  EXPECT_THAT(SuppressNonMaxima({{5, 5, 3}, {6, 6, 3}}, shape), IsEmpty());
  EXPECT_THAT(SuppressNonMaxima({{5, 5, 3}, {7, 5, 3}}, shape), ElementsAre(Corner{5, 5, 3}, Corner{7, 5, 3}));
  // Negative responses, as Harris has on edges, compete among corners only.
  EXPECT_THAT(SuppressNonMaxima({{5, 5, -3}, {6, 5, -2}}, shape), ElementsAre(Corner{6, 5, -2}));
  // The first pixel of a row is no neighbour of the last one of the row above.
  EXPECT_THAT(SuppressNonMaxima({{19, 4, 2}, {0, 5, 1}}, shape), ElementsAre(Corner{19, 4, 2}, Corner{0, 5, 1}));
}

TEST(Harris, OfADotIsThatOfTwoEqualEigenvalues) {
  // Sums of squares 12 * 255^2 in both directions, no mixed sum; divided by (4 * 7 * 255)^4.
  const float expected = (144 - 0.04f * 24 * 24) / (28.0f * 28 * 28 * 28);
  EXPECT_NEAR(HarrisAt(Dot({21, 21}, 10, 10), 10, 10), expected, 1e-9);
  // Anywhere within two pixels the window holds the same gradients.
  EXPECT_EQ(HarrisAt(Dot({21, 21}, 10, 10), 12, 8), HarrisAt(Dot({21, 21}, 10, 10), 10, 10));
}

TEST(Harris, IsNegativeOnAnEdgeAndZeroOnAPlain) {
  Image image = Flat({30, 30}, 0);
  for (int y = 0; y < 30; ++y) std::fill(image.row(y) + 15, image.row(y) + 30, 255);
  // 14 gradients of 4 * 255.
  EXPECT_NEAR(HarrisAt(image, 15, 15), -0.04f * 196 / 2401, 1e-7);
  EXPECT_EQ(HarrisAt(Flat({30, 30}, 200), 15, 15), 0);
}

TEST(Harris, ReadsReflectionsOutside) {
  // A picture that is its own continuation: its reflection at the left and top border.
  const Image quarter = Noise({12, 12}, 4);
  Image whole(23, 23);
  for (int y = 0; y < 23; ++y) {
    for (int x = 0; x < 23; ++x) whole.row(y)[x] = quarter.row(std::abs(y - 11))[std::abs(x - 11)];
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(HarrisAt(quarter, i, 3), HarrisAt(whole, 11 + i, 14));
  EXPECT_EQ(HarrisAt(Noise({1, 1}, 5), 0, 0), 0);
}

TEST(KeepInside, CountsPixelsAtEachSide) {
  const std::vector<Corner> corners = {{3, 5, 1}, {4, 5, 1}, {5, 5, 1}, {6, 5, 1}, {5, 3, 1}, {5, 6, 1}};
  EXPECT_THAT(KeepInside(corners, {10, 10}, 4), ElementsAre(Corner{4, 5, 1}, Corner{5, 5, 1}));
  EXPECT_EQ(KeepInside(corners, {10, 10}, 0), corners);
  EXPECT_THAT(KeepInside(corners, {10, 10}, 5), IsEmpty());
  EXPECT_THAT(KeepInside(corners, {10, 10}, 255), IsEmpty());
}

TEST(KeepMasked, AnythingButZeroIsSet) {
  Image mask = Flat({10, 10}, 0);
  mask.row(5)[4] = 1;
  mask.row(5)[6] = 255;
  const std::vector<Corner> corners = {{4, 5, 1}, {5, 5, 1}, {6, 5, 1}};
  EXPECT_THAT(KeepMasked(corners, mask), ElementsAre(Corner{4, 5, 1}, Corner{6, 5, 1}));
  EXPECT_EQ(KeepMasked(corners, {}), corners);
}

TEST(RetainBest, KeepsTiesOfTheLast) {
  const std::vector<Corner> corners = {{1, 0, 5}, {2, 0, 7}, {3, 0, 5}, {4, 0, 9}, {5, 0, 1}};
  EXPECT_THAT(RetainBest(corners, 0), IsEmpty());
  EXPECT_THAT(RetainBest(corners, 1), ElementsAre(Corner{4, 0, 9}));
  EXPECT_THAT(RetainBest(corners, 2), ElementsAre(Corner{2, 0, 7}, Corner{4, 0, 9}));
  EXPECT_THAT(RetainBest(corners, 3), ElementsAre(Corner{1, 0, 5}, Corner{2, 0, 7}, Corner{3, 0, 5}, Corner{4, 0, 9}));
  EXPECT_EQ(RetainBest(corners, 5), corners);
  EXPECT_EQ(RetainBest(corners, 6), corners);
  EXPECT_THAT(RetainBest({}, 0), IsEmpty());
}

TEST(SortForOutput, ByResponseThenRowThenColumn) {
  std::vector<Corner> corners = {{1, 9, 5}, {2, 3, 7}, {8, 3, 5}, {7, 3, 5}};
  SortForOutput(&corners);
  EXPECT_THAT(corners, ElementsAre(Corner{2, 3, 7}, Corner{7, 3, 5}, Corner{8, 3, 5}, Corner{1, 9, 5}));
}

TEST(CentroidAngle, PointsToTheBrightSide) {
  for (const int patch_size : {2, 3, 15, 31, 63}) {
    const PatchDisc disc = MakePatchDisc(patch_size);
    const Shape shape = {81, 81};
    EXPECT_EQ(CentroidAngle(Ramp(shape, 1, 0), 40, 40, disc), 0) << patch_size;
    EXPECT_EQ(CentroidAngle(Ramp(shape, 0, 1), 40, 40, disc), 90) << patch_size;
    EXPECT_EQ(CentroidAngle(Ramp(shape, -1, 0), 40, 40, disc), 180) << patch_size;
    EXPECT_EQ(CentroidAngle(Ramp(shape, 0, -1), 40, 40, disc), 270) << patch_size;
    EXPECT_NEAR(CentroidAngle(Ramp(shape, 1, 1), 40, 40, disc), 45, 0.3) << patch_size;
    EXPECT_EQ(CentroidAngle(Flat(shape, 77), 40, 40, disc), 0) << patch_size;
  }
}

TEST(GaussianBlur, SpreadsADotByTheSquaredKernel) {
  const Image blurred = GaussianBlur(Dot({21, 21}, 10, 10));
  const int expected[4] = {12, 11, 7, 4};  // 255 * k(0) * k(d), k of sigma 2
  for (int d = 0; d <= 3; ++d) {
    EXPECT_EQ(blurred.row(10)[10 + d], expected[d]) << d;
    EXPECT_EQ(blurred.row(10)[10 - d], expected[d]) << d;
    EXPECT_EQ(blurred.row(10 + d)[10], expected[d]) << d;
    EXPECT_EQ(blurred.row(10 - d)[10], expected[d]) << d;
  }
  EXPECT_EQ(blurred.row(10)[14], 0);
}

TEST(GaussianBlur, KeepsAConstantAtEverySize) {
  for (const Shape shape : {Shape{1, 1}, Shape{2, 9}, Shape{9, 2}, Shape{33, 17}}) {
    EXPECT_TRUE(SamePixels(GaussianBlur(Flat(shape, 201)), Flat(shape, 201)));
  }
}

TEST(Describe, ComparesTheTurnedPairs) {
  const Image ramp = Ramp({101, 101}, 2, 0);
  const Image blurred = GaussianBlur(ramp);
  const RbriefPattern pattern = MakeRbriefPattern(31);
  // The ramp rises with x, so that a bit says whether its first point lies further left: at 90 degrees, where (x, y) is
  // turned to (-y, x), whether its y is greater.
  const auto upright = Describe(ramp, blurred, 50, 50, 0, pattern);
  const auto turned = Describe(ramp, blurred, 50, 50, 90, pattern);
  for (int bit = 0; bit < kRbriefBits; ++bit) {
    const RbriefPair& pair = pattern[bit];
    EXPECT_EQ(upright[bit / 8] >> (bit % 8) & 1, pair.x0 < pair.x1) << bit;
    EXPECT_EQ(turned[bit / 8] >> (bit % 8) & 1, pair.y0 > pair.y1) << bit;
  }
}

TEST(Describe, OfAPlainIsZero) {
  const Image plain = Flat({80, 80}, 90);
  for (const uint8_t byte : Describe(plain, plain, 40, 40, 33, MakeRbriefPattern(31))) EXPECT_EQ(byte, 0);
}

TEST(Describe, SeesUnblurredReflectionsOutside) {
  const Image level = Noise({40, 40}, 6);
  const Image dark = Flat({40, 40}, 0);
  const RbriefPattern pattern = MakeRbriefPattern(31);
  // At (0, 0), upright: a pair whose first point is inside sees 0 there, and outside the level's own pixels.
  const auto descriptor = Describe(level, dark, 0, 0, 0, pattern);
  for (int bit = 0; bit < kRbriefBits; ++bit) {
    const RbriefPair& pair = pattern[bit];
    const auto pixel = [&](int x, int y) {
      return x >= 0 && y >= 0 ? 0 : static_cast<int>(level.row(std::abs(y))[std::abs(x)]);
    };
    EXPECT_EQ(descriptor[bit / 8] >> (bit % 8) & 1, pixel(pair.x0, pair.y0) < pixel(pair.x1, pair.y1)) << bit;
  }
}

}  // namespace
}  // namespace glint::reference
