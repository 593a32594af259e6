// features/math.h and features/patch.h on cases that can be checked by hand. Equality with OpenCV is shown in
// tests/conformance.
#include "features/math.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "features/patch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint {
namespace {

using ::testing::ElementsAreArray;

TEST(RoundHalfEven, RoundsHalvesToEven) {
  EXPECT_EQ(RoundHalfEven(0.5f), 0);
  EXPECT_EQ(RoundHalfEven(1.5f), 2);
  EXPECT_EQ(RoundHalfEven(2.5f), 2);
  EXPECT_EQ(RoundHalfEven(-0.5f), 0);
  EXPECT_EQ(RoundHalfEven(-1.5f), -2);
  EXPECT_EQ(RoundHalfEven(-2.4f), -2);
  EXPECT_EQ(RoundHalfEven(16383.7f), 16384);
  EXPECT_EQ(RoundHalfEven(4194303.0f), 4194303);
  EXPECT_EQ(RoundHalfEven(-4194303.0f), -4194303);
}

TEST(Reflect101, MirrorsAtBothEnds) {
  const int expected[] = {2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2};  // of -4..8 in a line of 4
  for (int i = -4; i <= 8; ++i) EXPECT_EQ(Reflect101(i, 4), expected[i + 4]) << i;
  for (int i = -9; i <= 9; ++i) EXPECT_EQ(Reflect101(i, 1), 0);
}

TEST(ResizeTap, OfThreeToTwo) {
  // Centres of the two output pixels are at 0.25 and 1.75.
  EXPECT_EQ(MakeResizeTap(0, 3, 2).at, 0);
  EXPECT_EQ(MakeResizeTap(0, 3, 2).next_weight, 64);
  EXPECT_EQ(MakeResizeTap(1, 3, 2).at, 1);
  EXPECT_EQ(MakeResizeTap(1, 3, 2).next_weight, 192);
}

TEST(ResizeTap, IdentityNeedsNoNeighbour) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(MakeResizeTap(i, 50, 50).at, i);
    EXPECT_EQ(MakeResizeTap(i, 50, 50).next_weight, 0);
  }
}

TEST(ResizeTap, NeverReadsPastTheEnd) {
  for (int from = 1; from <= 300; ++from) {
    for (int to = 1; to <= from; ++to) {
      const ResizeTap last = MakeResizeTap(to - 1, from, to);
      ASSERT_GE(last.at, 0);
      ASSERT_LT(last.at + (last.next_weight > 0 ? 1 : 0), from) << from << " to " << to;
    }
  }
}

TEST(ResizeWeights, MixInEightBitsEach) {
  EXPECT_EQ(ResizeRow(0, 7, 200), 7 * 256);
  EXPECT_EQ(ResizeRow(64, 0, 100), 6400);
  EXPECT_EQ(ResizeColumn(128, 10 * 256, 11 * 256), 11);  // 10.5
  EXPECT_EQ(ResizeColumn(127, 10 * 256, 11 * 256), 10);
  EXPECT_EQ(ResizeColumn(256, 0, 65280), 255);
}

TEST(GrayFromRgb, WeighsGreenMost) {
  EXPECT_EQ(GrayFromRgb(0, 0, 0), 0);
  EXPECT_EQ(GrayFromRgb(255, 255, 255), 255);
  EXPECT_EQ(GrayFromRgb(255, 0, 0), 76);
  EXPECT_EQ(GrayFromRgb(0, 255, 0), 150);
  EXPECT_EQ(GrayFromRgb(0, 0, 255), 29);
}

TEST(FastRing, IsTheCircleOfRadiusThree) {
  std::set<std::pair<int, int>> ring;
  for (int i = 0; i < 16; ++i) {
    const int x = FastRingX(i);
    const int y = FastRingY(i);
    ring.insert({x, y});
    EXPECT_GE(x * x + y * y, 8);
    EXPECT_LE(x * x + y * y, 10);
    // Neighbours on the ring touch, and opposite pixels are opposite.
    EXPECT_LE(std::abs(x - FastRingX((i + 1) & 15)), 1);
    EXPECT_LE(std::abs(y - FastRingY((i + 1) & 15)), 1);
    EXPECT_EQ(x, -FastRingX((i + 8) & 15));
    EXPECT_EQ(y, -FastRingY((i + 8) & 15));
  }
  EXPECT_EQ(ring.size(), 16u);
}

TEST(FastScore, CountsTheContiguousArcWhereverItStarts) {
  for (int first = 0; first < 16; ++first) {
    for (int length = 1; length <= 16; ++length) {
      uint8_t bright[16];
      uint8_t dark[16];
      std::fill(bright, bright + 16, 100);
      std::fill(dark, dark + 16, 100);
      for (int i = 0; i < length; ++i) {
        bright[(first + i) % 16] = static_cast<uint8_t>(130 + i);  // the dimmest decides: 30 above the centre
        dark[(first + i) % 16] = static_cast<uint8_t>(60 - i);
      }
      for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
        EXPECT_EQ(FastScore(100, bright, arc), length >= arc ? 29 + (length - arc) : -1) << length << " of " << arc;
        EXPECT_EQ(FastScore(100, dark, arc), length >= arc ? 39 + (length - arc) : -1) << length << " of " << arc;
      }
    }
  }
}

TEST(FastScore, SpansAllThresholds) {
  uint8_t ring[16];
  std::fill(ring, ring + 16, 255);
  EXPECT_EQ(FastScore(0, ring, 9), 254);
  EXPECT_EQ(FastScore(255, ring, 9), -1);
  std::fill(ring, ring + 16, 0);
  EXPECT_EQ(FastScore(255, ring, 9), 254);
}

TEST(FastAtan2, IsRoughlyTheAngle) {
  EXPECT_EQ(FastAtan2(0, 0), 0);
  EXPECT_EQ(FastAtan2(0, 5), 0);
  EXPECT_EQ(FastAtan2(5, 0), 90);
  EXPECT_EQ(FastAtan2(0, -5), 180);
  EXPECT_EQ(FastAtan2(-5, 0), 270);
  for (int degrees = 0; degrees < 360; ++degrees) {
    const double radians = degrees * std::acos(-1.0) / 180;
    const float angle =
        FastAtan2(static_cast<float>(1e5 * std::sin(radians)), static_cast<float>(1e5 * std::cos(radians)));
    EXPECT_LE(std::abs(std::remainder(angle - degrees, 360)), 0.3) << degrees;
  }
}

TEST(SteeringSinCos, IsASineAndACosine) {
  EXPECT_EQ(SteeringSinCos(0).sin, 0);
  EXPECT_EQ(SteeringSinCos(0).cos, 1);
  for (int i = 0; i <= 3600; ++i) {
    const double radians = i / 10.0 * std::acos(-1.0) / 180;
    const SinCos r = SteeringSinCos(static_cast<float>(i) / 10.0f);
    EXPECT_NEAR(r.sin, std::sin(radians), 5e-7) << i;
    EXPECT_NEAR(r.cos, std::cos(radians), 5e-7) << i;
  }
}

TEST(Steered, QuarterTurnsAreExact) {
  const SinCos quarter = SteeringSinCos(90);
  EXPECT_EQ(SteeredX(8, -3, quarter), 3);
  EXPECT_EQ(SteeredY(8, -3, quarter), 8);
  const SinCos half = SteeringSinCos(180);
  EXPECT_EQ(SteeredX(8, -3, half), -8);
  EXPECT_EQ(SteeredY(8, -3, half), 3);
}

TEST(Gaussian, WeightsSumToOneAndAreSymmetric) {
  float sum = 0;
  for (int i = 0; i < 7; ++i) {
    sum += GaussianWeight(i);
    EXPECT_EQ(GaussianWeight(i), GaussianWeight(6 - i));
    EXPECT_NEAR(GaussianWeight(i) / GaussianWeight(3), std::exp(-(i - 3) * (i - 3) / 8.0), 1e-6);
  }
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(Gaussian, KeepsAConstant) {
  for (int value = 0; value <= 255; ++value) {
    uint8_t p[7];
    std::fill(p, p + 7, static_cast<uint8_t>(value));
    float rows[7];
    std::fill(rows, rows + 7, GaussianRow(p));
    EXPECT_EQ(GaussianColumn(rows), value);
  }
}

TEST(PatchDisc, OfThirtyOneAndSeven) {
  const int expected[] = {15, 15, 15, 15, 14, 14, 14, 13, 13, 12, 11, 10, 9, 8, 6, 3};
  const PatchDisc disc = MakePatchDisc(31);
  ASSERT_EQ(disc.half, 15);
  for (int v = 0; v <= 15; ++v) EXPECT_EQ(disc.half_width[v], expected[v]) << v;

  const PatchDisc small = MakePatchDisc(7);
  ASSERT_EQ(small.half, 3);
  EXPECT_EQ(small.half_width[0], 3);
  EXPECT_EQ(small.half_width[1], 3);
  EXPECT_EQ(small.half_width[2], 2);
  EXPECT_EQ(small.half_width[3], 1);
}

TEST(PatchDisc, NarrowsOutwardsAndFitsThePatch) {
  for (int patch_size = kMinPatchSize; patch_size <= kMaxPatchSize; ++patch_size) {
    const PatchDisc disc = MakePatchDisc(patch_size);
    EXPECT_EQ(disc.half, patch_size / 2);
    EXPECT_EQ(disc.half_width[0], disc.half);
    for (int v = 1; v <= disc.half; ++v) EXPECT_LE(disc.half_width[v], disc.half_width[v - 1]) << patch_size;
  }
}

TEST(RbriefPattern, StaysWithinReachAtEveryAngle) {
  for (int patch_size = kMinPatchSize; patch_size <= kMaxPatchSize; ++patch_size) {
    const int reach = RbriefReach(patch_size);
    for (int degrees = 0; degrees < 360; degrees += 3) {
      const SinCos r = SteeringSinCos(static_cast<float>(degrees));
      for (const RbriefPair& pair : MakeRbriefPattern(patch_size)) {
        ASSERT_LE(std::abs(SteeredX(pair.x0, pair.y0, r)), reach) << patch_size;
        ASSERT_LE(std::abs(SteeredY(pair.x0, pair.y0, r)), reach) << patch_size;
        ASSERT_LE(std::abs(SteeredX(pair.x1, pair.y1, r)), reach) << patch_size;
        ASSERT_LE(std::abs(SteeredY(pair.x1, pair.y1, r)), reach) << patch_size;
      }
    }
  }
}

TEST(RbriefPattern, EvenSizesShareThePatternOfTheNextOdd) {
  EXPECT_THAT(MakeRbriefPattern(20), ElementsAreArray(MakeRbriefPattern(21)));
  // 31's is learned, 30's is random.
  EXPECT_NE(MakeRbriefPattern(30), MakeRbriefPattern(31));
  for (const RbriefPair& pair : MakeRbriefPattern(31)) {
    EXPECT_FALSE(pair.x0 == pair.x1 && pair.y0 == pair.y1);
  }
}

}  // namespace
}  // namespace glint
