// Options, their limits and what follows from them.
#include "features/options.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/status.h"

namespace glint {
namespace {

using testing::CodeAndText;
using ::testing::ElementsAre;
using testing::Flat;
using testing::OrbOptions;
using testing::OrientedFastOptions;

TEST(Presets, OrbIsCvOrbsDefaults) {
  const DetectorOptions orb = OrbOptions();
  EXPECT_EQ(orb.levels, 8);
  EXPECT_EQ(orb.scale_factor, 1.2f);
  EXPECT_EQ(orb.fast_threshold, 20);
  EXPECT_EQ(orb.arc_length, 9);
  EXPECT_EQ(orb.score, Score::kMaxThreshold);
  EXPECT_EQ(orb.ranking, Ranking::kHarris);
  EXPECT_EQ(orb.max_features, 500);
  EXPECT_EQ(orb.edge_threshold, 31);
  EXPECT_EQ(orb.patch_size, 31);
  EXPECT_EQ(orb.orientation, Orientation::kIntensityCentroid);
  EXPECT_EQ(orb.descriptor, Descriptor::kRbrief);
}

TEST(Presets, OrientedFastRanksByHarrisFromTheStart) {
  const DetectorOptions options = OrientedFastOptions();
  EXPECT_EQ(options.score, Score::kHarris);
  EXPECT_EQ(options.ranking, Ranking::kScore);
  EXPECT_EQ(options.descriptor, Descriptor::kNone);
  EXPECT_NE(options, OrbOptions());
}

TEST(Presets, AreNamedAndValid) {
  EXPECT_THAT(PresetNames(), ElementsAre("orb", "oriented_fast", "fast_grid", "pyca", "bfrost", "harris", "orbslam"));
  for (const std::string& name : PresetNames()) {
    ASSERT_TRUE(PresetOptions(name).ok()) << name;
    EXPECT_TRUE(ValidateOptions(*PresetOptions(name)).ok()) << name;
  }
  EXPECT_EQ(CodeAndText(PresetOptions("sift").status()),
            absl::InvalidArgumentError(
                "preset: \"sift\" is not one of orb, oriented_fast, fast_grid, pyca, bfrost, harris, orbslam"));
}

// What `change` makes of the orb preset is refused with exactly `message`.
void ExpectRefused(const std::function<void(DetectorOptions*)>& change, const std::string& message) {
  DetectorOptions options = OrbOptions();
  change(&options);
  EXPECT_EQ(CodeAndText(ValidateOptions(options)), absl::InvalidArgumentError(message));
}

void ExpectAccepted(const std::function<void(DetectorOptions*)>& change) {
  DetectorOptions options = OrbOptions();
  change(&options);
  EXPECT_EQ(ValidateOptions(options), absl::OkStatus());
}

struct IntField {
  int DetectorOptions::*field;
  std::string name;
  int low;
  int high;
};

TEST(ValidateOptions, EveryIntegerHasItsRange) {
  const std::vector<IntField> fields = {{&DetectorOptions::levels, "levels", 1, 12},
                                        {&DetectorOptions::fast_threshold, "fast_threshold", 1, 254},
                                        {&DetectorOptions::arc_length, "arc_length", 9, 12},
                                        {&DetectorOptions::max_arc, "max_arc", 9, 16},
                                        {&DetectorOptions::suppression_radius, "suppression_radius", 0, 4},
                                        {&DetectorOptions::cell_width, "cell_width", 8, 512},
                                        {&DetectorOptions::cell_height, "cell_height", 8, 512},
                                        {&DetectorOptions::max_features, "max_features", 1, 65536},
                                        {&DetectorOptions::edge_threshold, "edge_threshold", 0, 255},
                                        {&DetectorOptions::patch_size, "patch_size", 2, 63}};
  for (const IntField& f : fields) {
    for (const int good : {f.low, f.high}) ExpectAccepted([&](DetectorOptions* o) { o->*f.field = good; });
    for (const int bad : {f.low - 1, f.high + 1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
      ExpectRefused(
          [&](DetectorOptions* o) { o->*f.field = bad; },
          f.name + ": " + std::to_string(bad) + " is not in " + std::to_string(f.low) + ".." + std::to_string(f.high));
    }
  }
}

TEST(ValidateOptions, ScaleFactorHasItsRange) {
  for (const float good : {1.05f, 1.2f, 2.0f}) ExpectAccepted([=](DetectorOptions* o) { o->scale_factor = good; });
  ExpectRefused([](DetectorOptions* o) { o->scale_factor = 1; }, "scale_factor: 1 is not in 1.05..2");
  ExpectRefused([](DetectorOptions* o) { o->scale_factor = 2.5f; }, "scale_factor: 2.5 is not in 1.05..2");
  ExpectRefused([](DetectorOptions* o) { o->scale_factor = -1.2f; }, "scale_factor: -1.2 is not in 1.05..2");
  ExpectRefused([](DetectorOptions* o) { o->scale_factor = std::numeric_limits<float>::quiet_NaN(); },
                "scale_factor: nan is not in 1.05..2");
  ExpectRefused([](DetectorOptions* o) { o->scale_factor = std::numeric_limits<float>::infinity(); },
                "scale_factor: inf is not in 1.05..2");
}

TEST(ValidateOptions, StagesMustFitTogether) {
  ExpectRefused([](DetectorOptions* o) { o->score = Score::kHarris; },
                "ranking: HARRIS re-ranks another score; with score HARRIS it must be SCORE");
  ExpectRefused([](DetectorOptions* o) { o->orientation = Orientation::kNone; },
                "descriptor: RBRIEF needs an orientation; orientation is NONE");
  ExpectAccepted([](DetectorOptions* o) {
    o->orientation = Orientation::kNone;
    o->descriptor = Descriptor::kNone;
  });
}

// The same for another preset.
void ExpectRefusedOf(const std::string& preset, const std::function<void(DetectorOptions*)>& change,
                     const std::string& message) {
  DetectorOptions options = PresetOptions(preset).value();
  change(&options);
  EXPECT_EQ(CodeAndText(ValidateOptions(options)), absl::InvalidArgumentError(message));
}

TEST(ValidateOptions, StagesOfOtherDetectorsMustFitTogether) {
  ExpectRefusedOf(
      "pyca", [](DetectorOptions* o) { o->arc_length = 12, o->max_arc = 11; },
      "max_arc: 11 is less than arc_length 12");
  ExpectRefusedOf(
      "harris", [](DetectorOptions* o) { o->harris_block = 8; },
      "harris_block: 8 is even; a window has a middle pixel");
  ExpectRefusedOf(
      "harris", [](DetectorOptions* o) { o->harris_k = 0.3f; }, "harris_k: 0.3 is not in 0..0.25");
  ExpectRefusedOf(
      "harris", [](DetectorOptions* o) { o->response_threshold = -1; }, "response_threshold: -1 is not in 0..1");
  ExpectRefusedOf(
      "harris", [](DetectorOptions* o) { o->score = Score::kSadArc; },
      "score: corner_test EVERY_PIXEL needs score HARRIS");
  ExpectRefusedOf(
      "harris", [](DetectorOptions* o) { o->levels = 2; },
      "corner_test: EVERY_PIXEL needs selection THRESHOLD and levels 1");
  ExpectRefusedOf(
      "harris", [](DetectorOptions* o) { o->orientation = Orientation::kArcMidpoint; },
      "orientation: ARC_MIDPOINT needs corner_test FAST");
  ExpectRefusedOf(
      "harris", [](DetectorOptions* o) { o->max_arc = 13; }, "max_arc: 13, but corner_test EVERY_PIXEL has no arcs");
  ExpectRefusedOf(
      "bfrost", [](DetectorOptions* o) { o->smooth = true; }, "smooth: needs corner_test EVERY_PIXEL");
  ExpectRefusedOf(
      "bfrost", [](DetectorOptions* o) { o->response_threshold = 0.5f; },
      "response_threshold: 0.5, but corner_test FAST has only fast_threshold");
  ExpectRefusedOf(
      "fast_grid", [](DetectorOptions* o) { o->scale_factor = 1.5f; }, "scale_factor: 1.5, but pyramid HALF has 2");
  ExpectRefusedOf(
      "fast_grid", [](DetectorOptions* o) { o->pyramid = Pyramid::kDirect; },
      "selection: GRID needs pyramid HALF or levels 1");
  ExpectRefusedOf(
      "fast_grid", [](DetectorOptions* o) { o->ranking = Ranking::kHarris; }, "ranking: HARRIS needs selection TOP_N");
  ExpectRefusedOf(
      "pyca", [](DetectorOptions* o) { o->score = Score::kHarris; },
      "selection: PYCA adds scores up; score must be MAX_THRESHOLD, SAD_CIRCLE or SAD_ARC");
  ExpectRefusedOf(
      "pyca", [](DetectorOptions* o) { o->aggregation_window = 4; },
      "aggregation_window: 4 is even; a window has a middle pixel");
  ExpectRefusedOf(
      "bfrost", [](DetectorOptions* o) { o->orientation = Orientation::kIntensityCentroid; },
      "descriptor: BFROST needs orientation ARC_MIDPOINT");
  ExpectRefusedOf(
      "bfrost", [](DetectorOptions* o) { o->bfrost_scale = 5; }, "bfrost_scale: 5 is not in 0.25..4");
}

TEST(ValidateOptions, QuadtreeHasTheStagesOfOrbslamAlone) {
  ExpectRefused([](DetectorOptions* o) { o->ini_fast_threshold = 12; },
                "ini_fast_threshold: 12, but only selection QUADTREE has it");
  ExpectRefused([](DetectorOptions* o) { o->min_fast_threshold = 12; },
                "min_fast_threshold: 12, but only selection QUADTREE has it");
  ExpectRefusedOf(
      "orbslam", [](DetectorOptions* o) { o->ini_fast_threshold = 255; }, "ini_fast_threshold: 255 is not in 1..254");
  ExpectRefusedOf(
      "orbslam", [](DetectorOptions* o) { o->min_fast_threshold = 0; }, "min_fast_threshold: 0 is not in 1..254");
  ExpectRefusedOf(
      "orbslam", [](DetectorOptions* o) { o->min_fast_threshold = 21; },
      "min_fast_threshold: 21 is more than ini_fast_threshold 20");
  ExpectRefusedOf(
      "orbslam", [](DetectorOptions* o) { o->fast_threshold = 12; },
      "fast_threshold: 12, but selection QUADTREE has ini_fast_threshold and min_fast_threshold");
  ExpectRefusedOf(
      "orbslam", [](DetectorOptions* o) { o->pyramid = Pyramid::kDirect; },
      "selection: QUADTREE needs pyramid CASCADED, corner_test FAST, score MAX_THRESHOLD");
  ExpectRefusedOf(
      "orbslam", [](DetectorOptions* o) { o->arc_length = 10; }, "arc_length: 10, but selection QUADTREE has 9");
  ExpectRefusedOf(
      "orbslam", [](DetectorOptions* o) { o->edge_threshold = 18; },
      "edge_threshold: 18, but selection QUADTREE has 19");
  ExpectRefusedOf(
      "orbslam", [](DetectorOptions* o) { o->patch_size = 30; }, "patch_size: 30, but selection QUADTREE has 31");
  ExpectRefusedOf(
      "orbslam",
      [](DetectorOptions* o) {
        o->orientation = Orientation::kArcMidpoint;
        o->descriptor = Descriptor::kNone;
      },
      "orientation: selection QUADTREE needs INTENSITY_CENTROID or NONE");
  ExpectRefusedOf(
      "orbslam", [](DetectorOptions* o) { o->ranking = Ranking::kHarris; }, "ranking: HARRIS needs selection TOP_N");
}

TEST(SelectsTopNPerLevel, IsTrueOfTheFirstTwoPresetsOnly) {
  for (const std::string& name : PresetNames()) {
    EXPECT_EQ(SelectsTopNPerLevel(PresetOptions(name).value()), name == "orb" || name == "oriented_fast") << name;
  }
}

TEST(ValidateShape, NamesTheSide) {
  EXPECT_EQ(ValidateShape({1, 1}), absl::OkStatus());
  EXPECT_EQ(ValidateShape({16384, 8192}), absl::OkStatus());
  EXPECT_EQ(CodeAndText(ValidateShape({0, 5})), absl::InvalidArgumentError("image.width: 0 is not in 1..16384"));
  EXPECT_EQ(CodeAndText(ValidateShape({-3, 5})), absl::InvalidArgumentError("image.width: -3 is not in 1..16384"));
  EXPECT_EQ(CodeAndText(ValidateShape({5, 16385})),
            absl::InvalidArgumentError("image.height: 16385 is not in 1..16384"));
  EXPECT_EQ(CodeAndText(ValidateShape({16384, 8193})),
            absl::InvalidArgumentError("image.pixels: 134234112 is not in 1..134217728"));
  EXPECT_EQ(CodeAndText(ValidateShape({10, 11}, 100)),
            absl::InvalidArgumentError("image.pixels: 110 is not in 1..100"));
}

TEST(ValidateImages, ChecksStrideAndMask) {
  const Image image = Flat({12, 9}, 0);
  EXPECT_EQ(ValidateImages(image, {}), absl::OkStatus());
  EXPECT_EQ(ValidateImages(image, Flat({12, 9}, 1)), absl::OkStatus());
  EXPECT_EQ(CodeAndText(ValidateImages({}, {})), absl::InvalidArgumentError("image: has no pixels"));
  EXPECT_EQ(CodeAndText(ValidateImages(image, Flat({9, 12}, 1))),
            absl::InvalidArgumentError("mask: 9x12 is not the image's 12x9"));
  ImageView narrow = image;
  narrow.stride = 10;
  EXPECT_EQ(CodeAndText(ValidateImages(narrow, {})),
            absl::InvalidArgumentError("image.stride: 10 is less than the row of 12 bytes"));
  EXPECT_EQ(CodeAndText(ValidateImages(image, narrow)),
            absl::InvalidArgumentError("mask.stride: 10 is less than the row of 12 bytes"));
}

TEST(PlanPyramid, DefaultsOnVga) {
  const PyramidPlan plan = PlanPyramid(OrbOptions(), {640, 480});
  ASSERT_EQ(plan.levels, 8);
  EXPECT_EQ(plan.level[0].shape, (Shape{640, 480}));
  EXPECT_EQ(plan.level[1].shape, (Shape{533, 400}));
  EXPECT_EQ(plan.level[2].shape, (Shape{444, 333}));
  EXPECT_EQ(plan.level[7].shape, (Shape{179, 134}));
  EXPECT_EQ(plan.level[0].scale, 1.0f);
  EXPECT_EQ(plan.level[1].scale, 1.2f);
  EXPECT_EQ(plan.level[2].scale, 1.44f);
  int sum = 0;
  for (int l = 0; l < plan.levels; ++l) sum += plan.level[l].max_features;
  EXPECT_EQ(sum, 500);
  EXPECT_EQ(plan.level[0].max_features, 109);
  EXPECT_EQ(plan.level[1].max_features, 90);
}

TEST(PlanPyramid, HalvesRoundToEvenAndCanVanish) {
  DetectorOptions options = OrbOptions();
  options.scale_factor = 2;
  options.levels = 4;
  const PyramidPlan plan = PlanPyramid(options, {5, 3});
  EXPECT_EQ(plan.level[1].shape, (Shape{2, 2}));  // 2.5 and 1.5
  EXPECT_EQ(plan.level[2].shape, (Shape{1, 1}));
  EXPECT_EQ(plan.level[3].shape, (Shape{1, 0}));
}

TEST(PlanPyramid, SharesFallBySidesNotByAreas) {
  DetectorOptions options = OrbOptions();
  options.scale_factor = 2;
  options.levels = 4;
  options.max_features = 100;
  const PyramidPlan plan = PlanPyramid(options, {640, 480});
  // 53.3, 26.7, 13.3, and what is left.
  EXPECT_EQ(plan.level[0].max_features, 53);
  EXPECT_EQ(plan.level[1].max_features, 27);
  EXPECT_EQ(plan.level[2].max_features, 13);
  EXPECT_EQ(plan.level[3].max_features, 7);
}

// Rounding can give the levels before the last more than there is.
TEST(PlanPyramid, SharesAreNeverNegative) {
  DetectorOptions options = OrbOptions();
  for (options.levels = kMinLevels; options.levels <= kMaxLevels; ++options.levels) {
    for (options.max_features = 1; options.max_features <= 300; ++options.max_features) {
      for (options.scale_factor = kMinScaleFactor; options.scale_factor <= kMaxScaleFactor;
           options.scale_factor += 0.05f) {
        const PyramidPlan plan = PlanPyramid(options, {640, 480});
        for (int l = 0; l < options.levels; ++l) ASSERT_GE(plan.level[l].max_features, 0);
      }
    }
  }
}

TEST(OutputCapacity, LeavesRoomForTies) {
  DetectorOptions options = OrbOptions();
  EXPECT_EQ(OutputCapacity(options), 4596);
  options.max_features = 20000;
  EXPECT_EQ(OutputCapacity(options), 40000);
}

}  // namespace
}  // namespace glint
