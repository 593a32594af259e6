// The reference as a whole: what Detect() promises, for both presets.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "features/reference/fast.h"
#include "features/reference/harris.h"
#include "features/reference/reference.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::reference {
namespace {

using testing::Checkerboard;
using testing::Flat;
using testing::IsWellFormed;
using testing::Noise;
using testing::OrbOptions;
using testing::OrientedFastOptions;
using testing::Random;
using testing::RandomMask;
using testing::SameFeatures;
using testing::Speckle;
using testing::StridedImage;
using testing::Texture;
using testing::TieGrid;

const DetectorOptions kPresets[] = {OrbOptions(), OrientedFastOptions()};

DetectorOptions AtTheBorder(DetectorOptions options) {
  options.edge_threshold = 0;
  return options;
}

TEST(Detect, ReportsASingleDot) {
  for (DetectorOptions options : kPresets) {
    options.levels = 1;
    Image image = Flat({101, 91}, 0);
    image.row(44)[53] = 255;
    const Features found = Detect(options, image);
    ASSERT_EQ(found.count(), 1u);
    EXPECT_EQ(found.x[0], 53);
    EXPECT_EQ(found.y[0], 44);
    EXPECT_EQ(found.size[0], 31);
    EXPECT_EQ(found.angle[0], 0);
    EXPECT_EQ(found.octave[0], 0);
    EXPECT_EQ(found.response[0], HarrisAt(image, 53, 44));
    options.ranking = Ranking::kScore;
    EXPECT_EQ(Detect(options, image).response[0], options.score == Score::kHarris ? HarrisAt(image, 53, 44) : 254.0f);
  }
}

TEST(Detect, ScalesCoordinatesToTheImage) {
  const Image image = Texture({300, 200}, 1);
  const Features found = Detect(OrbOptions(), image);
  const PyramidPlan plan = PlanPyramid(OrbOptions(), image.shape());
  std::set<int> octaves;
  for (size_t i = 0; i < found.count(); ++i) {
    const float scale = plan.level[found.octave[i]].scale;
    octaves.insert(found.octave[i]);
    EXPECT_EQ(found.size[i], 31 * scale);
    const float x = found.x[i] / scale;
    EXPECT_NEAR(x, std::round(x), 1e-4);
    EXPECT_GE(std::round(x), 31);
    EXPECT_LT(std::round(x), plan.level[found.octave[i]].shape.width - 31);
  }
  EXPECT_GE(octaves.size(), 4u);
}

TEST(Detect, LeavesOutWhatIsNotAskedFor) {
  DetectorOptions options = OrbOptions();
  const Image image = Texture({200, 200}, 2);
  const Features all = Detect(options, image);
  ASSERT_GT(all.count(), 50u);
  EXPECT_EQ(all.descriptor_bytes, 32);
  options.descriptor = Descriptor::kNone;
  const Features undescribed = Detect(options, image);
  EXPECT_EQ(undescribed.descriptor_bytes, 0);
  EXPECT_TRUE(undescribed.descriptors.empty());
  EXPECT_EQ(undescribed.angle, all.angle);
  options.orientation = Orientation::kNone;
  const Features unoriented = Detect(options, image);
  EXPECT_EQ(unoriented.x, all.x);
  EXPECT_THAT(unoriented.angle, ::testing::Each(-1.0f));
}

// Sizes around those at which vector code and tiles change their ways; none may crash, and the stride must not matter.
TEST(Detect, TakesEverySizeAndStride) {
  const int sides[] = {1, 2, 3, 6, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  for (const DetectorOptions& preset : kPresets) {
    const DetectorOptions options = AtTheBorder(preset);
    for (const int width : sides) {
      for (const int height : sides) {
        const Image image = Noise({width, height}, 100 * width + height);
        const Features found = Detect(options, image);
        EXPECT_TRUE(IsWellFormed(found)) << width << "x" << height;
        if (width < 7 || height < 7) {
          EXPECT_EQ(found.count(), 0u) << width << "x" << height;
        }
        EXPECT_TRUE(SameFeatures(found, Detect(options, StridedImage(image, width + 13)))) << width << "x" << height;
      }
    }
  }
}

TEST(Detect, TakesAnOddLargeImage) {
  const Image image = Texture({631, 479}, 3);
  for (const DetectorOptions& options : kPresets) {
    const Features found = Detect(options, image);
    EXPECT_GE(found.count(), 490u);
    EXPECT_TRUE(SameFeatures(found, Detect(options, StridedImage(image, 700))));
  }
}

TEST(Detect, FindsNothingOnAPlain) {
  for (const DetectorOptions& options : kPresets) {
    for (const uint8_t value : {0, 100, 255}) EXPECT_EQ(Detect(options, Flat({200, 150}, value)).count(), 0u);
  }
}

TEST(Detect, HonoursTheMask) {
  const Image image = Texture({260, 200}, 4);
  for (const DetectorOptions& preset : kPresets) {
    DetectorOptions options = preset;
    options.max_features = kMaxFeatures;
    EXPECT_EQ(Detect(options, image, Flat(image.shape(), 0)).count(), 0u);
    const Features all = Detect(options, image);
    EXPECT_TRUE(SameFeatures(all, Detect(options, image, Flat(image.shape(), 255))));
    Image left = Flat(image.shape(), 0);
    for (int y = 0; y < left.height(); ++y) std::fill(left.row(y), left.row(y) + 130, 255);
    const Features masked = Detect(options, image, left);
    ASSERT_GT(masked.count(), 20u);
    EXPECT_LT(masked.count(), all.count());
    EXPECT_LT(*std::max_element(masked.x.begin(), masked.x.end()), 131);
  }
}

// But for cv::ORB's detectors, where 1 counts at level 0 alone.
TEST(Detect, TakesEveryMaskValueButZeroForSet) {
  const Image image = Texture({260, 200}, 4);
  for (const std::string& name : PresetNames()) {
    const DetectorOptions options = PresetOptions(name).value();
    Image set = Flat(image.shape(), 0), one = Flat(image.shape(), 0);
    for (int y = 0; y < set.height(); ++y) {
      std::fill(set.row(y) + 30, set.row(y) + 200, 255);
      for (int x = 30; x < 200; ++x) one.row(y)[x] = static_cast<uint8_t>(1 + (x + y) % 254);
    }
    const Features expected = Detect(options, image, set);
    const Features found = Detect(options, image, one);
    ASSERT_GT(expected.count(), 20u);
    if (AnyMaskValueIsSet(options) || options.levels == 1) {
      EXPECT_TRUE(SameFeatures(expected, found)) << name;
    } else {
      EXPECT_EQ(name, "orb");
      EXPECT_EQ(*std::max_element(found.octave.begin(), found.octave.end()), 0);
    }
  }
  EXPECT_FALSE(AnyMaskValueIsSet(PresetOptions("orb").value()));
  EXPECT_TRUE(AnyMaskValueIsSet(PresetOptions("oriented_fast").value()));
  EXPECT_TRUE(AnyMaskValueIsSet(PresetOptions("orbslam").value()));
}

TEST(Detect, TruncatesInOutputOrder) {
  for (const DetectorOptions& preset : kPresets) {
    DetectorOptions options = preset;
    options.max_features = 10;
    options.levels = 2;
    const Image image = TieGrid({500, 400});
    std::vector<LevelTrace> trace;
    const Features found = Detect(options, image, {}, &trace);
    ASSERT_EQ(trace.size(), 2u);
    const size_t capacity = static_cast<size_t>(OutputCapacity(options));
    ASSERT_GT(trace[0].keypoints.size(), capacity);
    EXPECT_TRUE(found.truncated);
    EXPECT_EQ(found.count(), capacity);
    for (size_t i = 0; i < found.count(); ++i) {
      ASSERT_EQ(found.octave[i], 0);
      ASSERT_EQ(found.x[i], trace[0].keypoints[i].x);
      ASSERT_EQ(found.y[i], trace[0].keypoints[i].y);
    }
    EXPECT_FALSE(Detect(options, TieGrid({150, 150})).truncated);
  }
}

TEST(Detect, TraceFollowsTheStages) {
  const Image image = Texture({200, 160}, 5);
  for (const DetectorOptions& options : kPresets) {
    std::vector<LevelTrace> trace;
    const Features found = Detect(options, image, {}, &trace);
    const PyramidPlan plan = PlanPyramid(options, image.shape());
    ASSERT_EQ(trace.size(), 8u);
    size_t total = 0;
    for (int l = 0; l < plan.levels; ++l) {
      const LevelTrace& t = trace[l];
      EXPECT_EQ(t.level.shape(), plan.level[l].shape);
      EXPECT_GE(t.corners.size(), t.maxima.size());
      EXPECT_GE(t.maxima.size(), t.inside.size());
      EXPECT_GE(t.inside.size(), t.ranked.size());
      EXPECT_GE(t.ranked.size(), t.keypoints.size());
      const size_t shortlist = plan.level[l].max_features * (options.ranking == Ranking::kHarris ? 2 : 1);
      EXPECT_GE(t.ranked.size(), std::min(shortlist, t.inside.size()));
      EXPECT_EQ(t.angles.size(), t.keypoints.size());
      EXPECT_EQ(t.blurred.width() > 0, options.descriptor == Descriptor::kRbrief);
      total += t.keypoints.size();
    }
    EXPECT_EQ(found.count(), total);
  }
}

// The definition of `oriented_fast`, once more and differently: corners in a set, compared pixel by pixel.
TEST(OrientedFast, KeepsTheCornersThatBeatTheirNeighbours) {
  DetectorOptions options = OrientedFastOptions();
  options.levels = 1;
  options.max_features = kMaxFeatures;
  options.edge_threshold = 0;
  for (options.arc_length = kMinArcLength; options.arc_length <= kMaxArcLength; ++options.arc_length) {
    for (const Image& image : {Texture({130, 110}, 6), Noise({90, 70}, 7), Speckle({90, 70}, 8, 20)}) {
      std::set<std::pair<int, int>> corners;
      for (const Corner& c : DetectFast(image, options.fast_threshold, options.arc_length)) corners.insert({c.x, c.y});
      std::set<std::pair<float, float>> expected;
      for (const auto& [x, y] : corners) {
        bool wins = true;
        for (int i = 0; i < 9; ++i) {
          const int u = x + i % 3 - 1;
          const int v = y + i / 3 - 1;
          if (i != 4 && corners.count({u, v}) > 0 && HarrisAt(image, u, v) >= HarrisAt(image, x, y)) wins = false;
        }
        if (wins) expected.insert({static_cast<float>(x), static_cast<float>(y)});
      }
      const Features found = Detect(options, image);
      std::set<std::pair<float, float>> actual;
      for (size_t i = 0; i < found.count(); ++i) actual.insert({found.x[i], found.y[i]});
      EXPECT_EQ(actual, expected);
      EXPECT_GT(actual.size(), 5u);
    }
  }
}

TEST(OrientedFast, RetainsEachLevelsShareByHarris) {
  DetectorOptions options = OrientedFastOptions();
  options.max_features = 200;
  const Image image = Texture({600, 450}, 9);
  std::vector<LevelTrace> trace;
  const Features found = Detect(options, image, {}, &trace);
  const PyramidPlan plan = PlanPyramid(options, image.shape());
  EXPECT_EQ(found.count(), 200u);  // no ties here
  for (int l = 0; l < plan.levels; ++l) {
    ASSERT_EQ(trace[l].keypoints.size(), static_cast<size_t>(plan.level[l].max_features));
    const float worst = trace[l].keypoints.back().response;
    const auto better = std::count_if(trace[l].inside.begin(), trace[l].inside.end(),
                                      [worst](const Corner& c) { return c.response >= worst; });
    EXPECT_EQ(better, plan.level[l].max_features);
  }
}

}  // namespace
}  // namespace glint::reference
