// The detectors beyond cv::ORB's kind: their stages on cases with known answers, and what must hold of any result.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "features/arc.h"
#include "features/bfrost.h"
#include "features/reference/bfrost.h"
#include "features/reference/cells.h"
#include "features/reference/dense_harris.h"
#include "features/reference/fast.h"
#include "features/reference/pyramid.h"
#include "features/reference/reference.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"
#include "tests/support/random.h"

namespace glint::reference {
namespace {

using ::testing::ElementsAre;
using testing::Flat;
using ::testing::IsEmpty;
using testing::Noise;
using testing::Random;
using testing::SamePixels;
using testing::Texture;

DetectorOptions Preset(const std::string& name) { return PresetOptions(name).value(); }

// Runs of set bits, counted pixel by pixel around the ring.
int LongestRunByWalking(uint32_t bits) {
  int longest = 0;
  int run = 0;
  for (int i = 0; i < 2 * kFastRing; ++i) {
    run = (bits >> (i % kFastRing) & 1) != 0 ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::min(longest, kFastRing);
}

TEST(LongestRun, IsThatOfAWalkForAllRings) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) ASSERT_EQ(LongestRun(bits), LongestRunByWalking(bits)) << bits;
}

// A ring around 100 whose `length` pixels from `first` on are brighter (or darker) by 50, the others equal.
std::vector<uint8_t> RingWithRun(int first, int length, int by) {
  std::vector<uint8_t> ring(kFastRing, 100);
  for (int i = 0; i < length; ++i) ring[static_cast<size_t>((first + i) % kFastRing)] = static_cast<uint8_t>(100 + by);
  return ring;
}

TEST(FindArc, NamesTheRunWithinItsBounds) {
  for (const int by : {50, -50}) {
    for (int length = 0; length <= kFastRing; ++length) {
      for (int first = 0; first < kFastRing; ++first) {
        const std::vector<uint8_t> ring = RingWithRun(first, length, by);
        for (int max_arc = 9; max_arc <= 16; ++max_arc) {
          const ArcRun run = FindArc(100, ring.data(), 49, 9, max_arc);
          const bool corner = length >= 9 && length <= max_arc;
          ASSERT_EQ(run.length, corner ? length : 0);
          if (corner && length < kFastRing) {
            ASSERT_EQ(run.first, first);
          }
          ASSERT_EQ(FindArc(100, ring.data(), 50, 9, max_arc).length, 0) << "comparisons are strict";
        }
      }
    }
  }
}

TEST(ArcMidpointStep, PointsAtTheRunsMiddle) {
  for (int length = 9; length < kFastRing; ++length) {
    for (int first = 0; first < kFastRing; ++first) {
      // The direction of the sum of unit vectors to the run's pixels.
      double x = 0;
      double y = 0;
      for (int i = first; i < first + length; ++i) {
        const double angle = (90 - 22.5 * i) * 3.14159265358979 / 180;
        x += std::cos(angle);
        y += std::sin(angle);
      }
      double degrees = std::atan2(y, x) * 180 / 3.14159265358979;
      if (degrees < -1e-9) degrees += 360;
      const double difference = std::abs(kDegreesPerArcStep * ArcMidpointStep({first, length}) - degrees);
      EXPECT_LT(std::min(difference, 360 - difference), 1e-6) << first << " " << length;
    }
  }
}

TEST(DetectBoundedFast, EqualsABruteForceRingTest) {
  Random random(11);
  for (int round = 0; round < 40; ++round) {
    const Image image =
        Noise({random.Uniform(7, 40), random.Uniform(7, 30)}, 100 + round, 90, 90 + random.Uniform(5, 120));
    const int threshold = random.Uniform(1, 60);
    for (int arc = 9; arc <= 12; ++arc) {
      for (int max_arc = arc; max_arc <= 16; ++max_arc) {
        std::vector<Corner> expected;
        for (int y = 3; y < image.height() - 3; ++y) {
          for (int x = 3; x < image.width() - 3; ++x) {
            uint32_t brighter = 0;
            uint32_t darker = 0;
            int sad = 0;
            for (int i = 0; i < 16; ++i) {
              const int d = image.view().at(x + FastRingX(i), y + FastRingY(i)) - image.view().at(x, y);
              brighter |= static_cast<uint32_t>(d > threshold) << i;
              darker |= static_cast<uint32_t>(d < -threshold) << i;
              sad += std::abs(d);
            }
            const int run = std::max(LongestRunByWalking(brighter), LongestRunByWalking(darker));
            if (run >= arc && run <= max_arc) expected.push_back({x, y, static_cast<float>(sad)});
          }
        }
        ASSERT_EQ(DetectBoundedFast(image, threshold, arc, max_arc, Score::kSadCircle), expected);
      }
    }
  }
}

TEST(DetectBoundedFast, RefusesADot) {
  Image image = Flat({15, 11}, 0);
  image.row(5)[8] = 255;
  EXPECT_THAT(DetectBoundedFast(image, 20, 9, 16, Score::kSadCircle), ElementsAre(Corner{8, 5, 16 * 255}));
  EXPECT_THAT(DetectBoundedFast(image, 20, 9, 16, Score::kSadArc), ElementsAre(Corner{8, 5, 16 * 255}));
  EXPECT_THAT(DetectBoundedFast(image, 20, 9, 15, Score::kSadCircle), IsEmpty());
}

TEST(DetectBoundedFast, SadArcLeavesTheRestOfTheRingOut) {
  Image image = Flat({7, 7}, 100);
  const std::vector<uint8_t> ring = RingWithRun(14, 10, 50);
  for (int i = 0; i < 16; ++i) image.row(3 + FastRingY(i))[3 + FastRingX(i)] = ring[static_cast<size_t>(i)];
  image.row(3 + FastRingY(10))[3 + FastRingX(10)] = 95;  // not of the run
  EXPECT_THAT(DetectBoundedFast(image, 20, 9, 16, Score::kSadArc), ElementsAre(Corner{3, 3, 500}));
  EXPECT_THAT(DetectBoundedFast(image, 20, 9, 16, Score::kSadCircle), ElementsAre(Corner{3, 3, 505}));
  EXPECT_THAT(DetectBoundedFast(image, 20, 9, 16, Score::kMaxThreshold), ElementsAre(Corner{3, 3, 49}));
}

TEST(SuppressNonMaxima, LooksAsFarAsTheRadius) {
  const std::vector<Corner> corners = {{10, 10, 5}, {14, 10, 6}, {30, 10, 7}, {30, 14, 7}};
  EXPECT_EQ(SuppressNonMaxima(corners, {50, 50}, 0), corners);
  EXPECT_EQ(SuppressNonMaxima(corners, {50, 50}, 3), corners);
  EXPECT_THAT(SuppressNonMaxima(corners, {50, 50}, 4), ElementsAre(Corner{14, 10, 6})) << "and ties fall together";
}

TEST(Halve, TakesMeansAndLeavesOddEdgesOut) {
  Image image(5, 3);
  const uint8_t pixels[3][5] = {{1, 2, 200, 201, 9}, {2, 2, 202, 203, 9}, {9, 9, 9, 9, 9}};
  for (int y = 0; y < 3; ++y) std::copy(pixels[y], pixels[y] + 5, image.row(y));
  const Image half = Halve(image);
  ASSERT_EQ(half.shape(), (Shape{2, 1}));
  EXPECT_EQ(half.row(0)[0], 2);    // 7 / 4
  EXPECT_EQ(half.row(0)[1], 202);  // 201.5 goes up
}

TEST(BuildPyramid, DirectResizesTheImageItself) {
  DetectorOptions options = Preset("pyca");
  const Image image = Noise({90, 70}, 3);
  const PyramidPlan plan = PlanPyramid(options, image.shape());
  const std::vector<Image> levels = BuildPyramid(options.pyramid, plan, image);
  EXPECT_TRUE(SamePixels(levels[3], Resize(image, plan.level[3].shape)));
}

TEST(BestOfCells, KeepsOneOfEachAndDecidesTies) {
  const std::vector<LevelCorner> corners = {
      {0, {1, 1, 5}, 1, 1}, {0, {7, 7, 6}, 7, 7},   {1, {3, 0, 6}, 6, 0},  // one cell: octave 0 wins among the sixes
      {0, {8, 0, 1}, 8, 0},                                                // the next cell
      {0, {9, 9, 2}, 9, 9}, {0, {10, 8, 2}, 10, 8},                        // the smaller y wins
  };
  EXPECT_THAT(BestOfCells(corners, 8, 8), ElementsAre(::testing::Field(&LevelCorner::corner, Corner{7, 7, 6}),
                                                      ::testing::Field(&LevelCorner::corner, Corner{8, 0, 1}),
                                                      ::testing::Field(&LevelCorner::corner, Corner{10, 8, 2})));
}

TEST(Aggregate, PrefersLevelsThenTheSum) {
  const std::vector<LevelCorner> corners = {
      {0, {20, 20, 100}, 20, 20}, {2, {14, 14, 50}, 20, 20},  // on two levels: 150
      {0, {21, 20, 900}, 21, 20},                             // a stronger neighbour on one
      {0, {40, 40, 10}, 40, 40},  {0, {41, 41, 10}, 41, 41},  // a tie: the smaller y
      {0, {60, 60, 10}, 60, 60},  {0, {62, 60, 11}, 62, 60},  // out of each other's 3x3
  };
  std::vector<std::tuple<int, int, int, float>> kept;
  for (const LevelCorner& c : Aggregate(corners, 3)) {
    kept.emplace_back(c.octave, c.corner.x, c.corner.y, c.corner.response);
  }
  EXPECT_THAT(kept, ElementsAre(std::make_tuple(0, 20, 20, 150.0f), std::make_tuple(0, 40, 40, 10.0f),
                                std::make_tuple(0, 60, 60, 10.0f), std::make_tuple(0, 62, 60, 11.0f)));
}

TEST(BfrostPattern, TurnsIntoItself) {
  for (const float scale : {0.25f, 0.7f, 1.0f, 4.0f}) {
    const BfrostPattern pattern = MakeBfrostPattern(scale);
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < kBfrostRegions; ++i) {
        // Four directions on is a quarter turn: (x, y) becomes (-y, x).
        const BfrostRegion& a = pattern.regions[half][static_cast<size_t>(i)];
        const BfrostRegion& b = pattern.regions[half][static_cast<size_t>((i + 16) % kBfrostRegions)];
        EXPECT_THAT((std::vector<int>{b.x, b.y, b.radius}), ElementsAre(-a.y, a.x, a.radius));
      }
    }
  }
  const BfrostPattern upright = MakeBfrostPattern(1);
  const BfrostRegion far = upright.regions[0][3];
  EXPECT_THAT((std::vector<int>{far.x, far.y, far.radius}), ElementsAre(32, 0, 13));
}

TEST(DescribeBfrost, TurnsWithTheImage) {
  const Image image = Texture({129, 129}, 5, 3);
  Image turned(129, 129);  // a quarter turn clockwise
  for (int y = 0; y < 129; ++y) {
    for (int x = 0; x < 129; ++x) turned.row(x)[128 - y] = image.row(y)[x];
  }
  const BfrostPattern pattern = MakeBfrostPattern(1);
  for (int step = 0; step < kArcSteps; ++step) {
    EXPECT_EQ(DescribeBfrost(image, 64, 64, step, pattern),
              DescribeBfrost(turned, 64, 64, (step + kArcSteps / 4) % kArcSteps, pattern));
  }
  EXPECT_NE(DescribeBfrost(image, 64, 64, 0, pattern), DescribeBfrost(image, 64, 64, 1, pattern));
}

TEST(DescribeBfrost, WorksAtTheBorderOfTheSmallestImage) {
  const Image image = Noise({7, 7}, 4);
  DescribeBfrost(image, 3, 3, 5, MakeBfrostPattern(4));
}

TEST(HarrisMap, IsTheMeasureOfASingleCorner) {
  Image image = Flat({41, 41}, 0);
  for (int y = 20; y < 41; ++y) std::fill(image.row(y) + 20, image.row(y) + 41, uint8_t{200});
  const std::vector<float> map = HarrisMap(image, 7, 0.04f);
  const size_t best = static_cast<size_t>(std::max_element(map.begin(), map.end()) - map.begin());
  EXPECT_EQ(best % 41, best / 41) << "on the diagonal";
  EXPECT_NEAR(static_cast<int>(best % 41), 21, 2);
  EXPECT_LT(map[20 * 41 + 35], 0) << "an edge";
  EXPECT_EQ(map[0], 0) << "nothing";
}

TEST(OverThreshold, TakesAFractionOfTheMaximum) {
  const std::vector<float> map = {1, 2, 8, -1};
  EXPECT_THAT(OverThreshold(map, {4, 1}, 0.25f, true), ElementsAre(Corner{2, 0, 8}));
  EXPECT_THAT(OverThreshold(map, {4, 1}, 1.5f, false), ElementsAre(Corner{1, 0, 2}, Corner{2, 0, 8}));
  EXPECT_THAT(OverThreshold({0, 0, -2, -1}, {4, 1}, 0.5f, true), IsEmpty());
}

TEST(Detect, EveryPresetIsOrderedAndInside) {
  const Image image = Texture({331, 257}, 6);
  for (const char* const name : {"fast_grid", "pyca", "bfrost", "harris"}) {
    const DetectorOptions options = Preset(name);
    const Features f = Detect(options, image);
    ASSERT_GT(f.count(), 10u) << name;
    for (size_t i = 0; i < f.count(); ++i) {
      EXPECT_TRUE(f.x[i] >= 0 && f.x[i] < 331 && f.y[i] >= 0 && f.y[i] < 257) << name;
      if (i == 0) continue;
      EXPECT_LE(std::make_tuple(f.octave[i - 1], -f.response[i - 1]), std::make_tuple(f.octave[i], -f.response[i]))
          << name;
    }
    EXPECT_EQ(Detect(options, Flat({64, 64}, 7)).count(), 0u) << name;
    EXPECT_EQ(Detect(options, Flat({1, 1}, 7)).count(), 0u) << name;
  }
}

TEST(Detect, FastGridHasOneKeypointInACellAtMost) {
  DetectorOptions options = Preset("fast_grid");
  for (const int cell : {8, 13, 32, 200}) {
    options.cell_width = cell;
    options.cell_height = 2 * cell;
    const Features f = Detect(options, Texture({320, 240}, 7));
    std::set<std::pair<int, int>> cells;
    for (size_t i = 0; i < f.count(); ++i) {
      EXPECT_TRUE(cells.emplace(static_cast<int>(f.x[i]) / cell, static_cast<int>(f.y[i]) / (2 * cell)).second);
    }
    EXPECT_GT(cells.size(), 0u);
  }
}

TEST(Detect, KeepsTheBestOfAllLevelsWhenThereAreMoreThanAskedFor) {
  for (const char* const name : {"fast_grid", "pyca", "bfrost", "harris"}) {
    DetectorOptions options = Preset(name);
    const Image image = Texture({331, 257}, 8);
    std::vector<float> responses = Detect(options, image).response;
    std::sort(responses.begin(), responses.end(), std::greater<float>());
    options.max_features = 7;
    const Features f = Detect(options, image);
    ASSERT_GE(f.count(), 7u) << name;
    EXPECT_EQ(*std::min_element(f.response.begin(), f.response.end()), responses[6]) << name;
  }
}

TEST(Detect, MasksBeforeItSelects) {
  for (const char* const name : {"fast_grid", "pyca", "bfrost", "harris"}) {
    Image mask = Flat({331, 257}, 255);
    for (int y = 0; y < 257; ++y) std::fill(mask.row(y), mask.row(y) + 100, uint8_t{0});
    const Features f = Detect(Preset(name), Texture({331, 257}, 9), mask);
    ASSERT_GT(f.count(), 0u) << name;
    EXPECT_GE(*std::min_element(f.x.begin(), f.x.end()), 99.5f) << name;
  }
}

}  // namespace
}  // namespace glint::reference
