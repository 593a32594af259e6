// Selection: threshold, ranking, aggregation and the angles that are found with the ranking, against the reference.
// Each test runs the corner stage on levels that the reference made, which corners_stages_test.cc tests alone, and then
// the selection, twice on the same memory: a frame must leave it as the next one needs it.
#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cuda/stage_checks.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::cuda {
namespace {

using reference::LevelTrace;
using testing::ToString;

class CudaSelectStagesTest : public StageTest {
 protected:
  void ExpectSelected(const DetectorOptions& options, const ImageView& image) {
    SCOPED_TRACE(::testing::Message() << image.width << "x" << image.height << " " << ToString(options));
    const std::vector<LevelTrace> trace = TraceOf(options, image);
    for (const LevelTrace& level : trace) found_ += level.keypoints.size();
    const bool angles = options.orientation == Orientation::kIntensityCentroid;
    ForEachDevice([&](StageDevice* device) {
      StageFrame frame(device, {options, image.shape()});
      frame.SetLevels(trace);
      for (int round = 0; round < 2; ++round) {
        frame.FindCorners();
        frame.Select();
        for (int l = 0; l < frame.levels(); ++l) {
          EXPECT_TRUE(SameKept(trace[static_cast<size_t>(l)], frame, l, angles)) << "round " << round;
        }
      }
    });
  }

  size_t found_ = 0;  // by the reference
};

DetectorOptions Preset(const char* name, int features) {
  DetectorOptions options = PresetOptions(name).value();
  options.max_features = features;
  options.edge_threshold = 0;
  options.descriptor = Descriptor::kNone;
  return options;
}

// One level, FAST score, all corners in one list: cut for the level and cut for the image.
DetectorOptions ByLevel(int features) {
  DetectorOptions options = Preset("orb", features);
  options.levels = 1;
  options.ranking = Ranking::kScore;
  options.fast_threshold = 1;
  return options;
}
DetectorOptions ByImage(int features) {
  DetectorOptions options = Preset("fast_grid", features);
  options.levels = 1;
  options.selection = Selection::kThreshold;
  options.fast_threshold = 1;
  options.suppression_radius = 4;
  return options;
}
DetectorOptions ByCell(int features) {
  DetectorOptions options = ByImage(features);
  options.selection = Selection::kGrid;
  options.cell_width = options.cell_height = kMinCell;
  return options;
}

// `better` that exceed `ties` equal ones, and `worse`.
std::vector<uint8_t> Scores(size_t better, size_t ties, size_t worse) {
  std::vector<uint8_t> scores;
  for (size_t i = 0; i < better; ++i) scores.push_back(static_cast<uint8_t>(120 + i * 7 % 130));
  scores.insert(scores.end(), ties, uint8_t{100});
  for (size_t i = 0; i < worse; ++i) scores.push_back(static_cast<uint8_t>(10 + i % 80));
  return scores;
}

// Each number of features that a cut may fall on: before, at the ends of, within and behind the ties.
std::vector<int> Wanted(size_t better, size_t ties, size_t all) {
  std::vector<int> wanted;
  for (const size_t n :
       {size_t{1}, better, better + 1, better + ties / 2, better + ties, better + ties + 1, all, all + 1000}) {
    const int features = std::clamp(static_cast<int>(n), kMinFeatures, kMaxFeatures);
    if (std::find(wanted.begin(), wanted.end(), features) == wanted.end()) wanted.push_back(features);
  }
  return wanted;
}

// Whose stages may be changed.
std::vector<std::string> FreePresets() {
  std::vector<std::string> names = PresetNames();
  names.erase(std::remove(names.begin(), names.end(), "orbslam"), names.end());
  return names;
}

TEST_F(CudaSelectStagesTest, TiesOfEveryNumber) {
  for (const size_t ties : {1, 2, 31, 32, 33, 64, 65, 255, 2048, 2049, 5000}) {
    constexpr size_t kBetter = 300, kWorse = 500;
    const Image close = Dots(Scores(kBetter, ties, kWorse), 1);
    const Image apart = Dots(Scores(kBetter, ties, kWorse), 2, kMinCell);  // a cell each
    for (const int features : Wanted(kBetter, ties, kBetter + ties + kWorse)) {
      DetectorOptions by_level = ByLevel(features);
      ExpectSelected(by_level, close);
      by_level.ranking = Ranking::kHarris;
      ExpectSelected(by_level, close);
      by_level.score = Score::kHarris;
      by_level.ranking = Ranking::kScore;
      ExpectSelected(by_level, close);
      ExpectSelected(ByImage(features), close);
      ExpectSelected(ByCell(features), apart);
      DetectorOptions bounded = ByImage(features);  // shares of levels, suppression of another radius
      bounded.selection = Selection::kTopN;
      ExpectSelected(bounded, close);
      bounded.score = Score::kSadCircle;
      ExpectSelected(bounded, close);
    }
  }
}

// Far more than a block, a bin or the result has room for.
TEST_F(CudaSelectStagesTest, SeventyThousandTies) {
  constexpr size_t kTies = 70000;
  const Image close = Dots(Scores(20, kTies, 30), 3);
  const Image apart = Dots(Scores(20, kTies, 30), 4, kMinCell);
  for (const int features : {1, 21, 3000, kMaxFeatures}) {
    ExpectSelected(ByLevel(features), close);
    DetectorOptions harris = ByLevel(features);
    harris.score = Score::kHarris;
    ExpectSelected(harris, close);
    ExpectSelected(ByImage(features), close);
    ExpectSelected(ByCell(features), apart);
    DetectorOptions bounded = ByImage(features);
    bounded.selection = Selection::kTopN;
    ExpectSelected(bounded, close);
  }
}

TEST_F(CudaSelectStagesTest, NothingOneAndTwo) {
  for (const size_t count : {0, 1, 2}) {
    const Image image = count > 0 ? Dots(Scores(0, count, 0), 1, 60) : testing::Flat({64, 64}, 9);
    for (const int features : {1, 2, 500}) {
      ExpectSelected(ByLevel(features), image);
      ExpectSelected(ByImage(features), image);
      ExpectSelected(ByCell(features), image);
      for (const char* name : {"orb", "oriented_fast", "pyca", "harris", "bfrost"}) {
        ExpectSelected(Preset(name, features), image);
      }
    }
  }
}

TEST_F(CudaSelectStagesTest, EverySizeAndPreset) {
  uint32_t seed = 0;
  for (const Shape shape : StageShapes()) {
    for (const std::string& name : FreePresets()) {
      DetectorOptions options = Preset(name.c_str(), 200);
      options.fast_threshold = 8;
      ExpectSelected(options, testing::Texture(shape, ++seed, 1));
    }
  }
  EXPECT_GT(found_, 1000u);
}

// All share out the levels: fewer and more than there are, angles early, late or none.
TEST_F(CudaSelectStagesTest, TopNPerLevelOfEveryRankingAndOrientation) {
  const Image photograph = testing::Texture({631, 479}, 12);
  const Image noise = testing::Noise({400, 300}, 13);
  for (const Orientation orientation : {Orientation::kIntensityCentroid, Orientation::kNone}) {
    for (const int features : {1, 50, 500, 2000, 12000, 60000}) {
      DetectorOptions options = Preset("orb", features);
      options.orientation = orientation;
      for (const Ranking ranking : {Ranking::kHarris, Ranking::kScore}) {
        options.ranking = ranking;
        ExpectSelected(options, photograph);
        ExpectSelected(options, noise);
      }
      options.score = Score::kHarris;
      ExpectSelected(options, photograph);
      ExpectSelected(options, noise);
    }
  }
}

// Levels with corners of any number, in shared memory and beyond, shares from none of them to all.
TEST_F(CudaSelectStagesTest, QuadtreesOfEverySizeAndShare) {
  DetectorOptions options = PresetOptions("orbslam").value();
  options.descriptor = Descriptor::kNone;
  std::vector<Shape> shapes = StageShapes();
  shapes.insert(shapes.end(), {{62, 62}, {62, 500}, {2000, 62}, {1300, 90}, {97, 411}, {900, 700}});
  uint32_t seed = 0;
  for (const Shape shape : shapes) {
    for (const int features : {1, 20, 300, 2000, 20000}) {
      options.max_features = features;
      options.levels = 1 + static_cast<int>(++seed % 8);
      options.orientation = seed % 5 == 0 ? Orientation::kNone : Orientation::kIntensityCentroid;
      ExpectSelected(options, testing::Texture(shape, seed, static_cast<int>(1 + seed % 2)));
    }
  }
  options.orientation = Orientation::kIntensityCentroid;
  options.levels = 2;
  for (const int features : {1, 700, 3000}) {
    options.max_features = features;
    const Shape shape = {500, 400};
    for (const Image& image : {testing::Noise(shape, 3), testing::Speckle(shape, 3), testing::TieGrid(shape),
                               testing::Checkerboard(shape, 5), testing::Flat(shape, 7)}) {
      ExpectSelected(options, image);
    }
  }
  EXPECT_GT(found_, 10000u);
}

TEST_F(CudaSelectStagesTest, TyingPatterns) {
  const Shape shape = {300, 211};
  for (const std::string& name : FreePresets()) {
    for (const int features : {1, 37, 700, 10000}) {
      DetectorOptions options = Preset(name.c_str(), features);
      options.cell_width = options.cell_height = kMinCell;
      options.fast_threshold = 1;
      ExpectSelected(options, testing::TieGrid(shape));
      ExpectSelected(options, testing::Checkerboard(shape, 7));
      ExpectSelected(options, testing::Speckle(shape, 4));
      ExpectSelected(options, testing::Noise(shape, 5, 40, 41));
    }
  }
}

// The disc of a corner near the sides reaches beyond them, into reflections.
TEST_F(CudaSelectStagesTest, AnglesOfEveryPatch) {
  for (const int patch : {kMinPatchSize, 3, 15, 30, 31, 32, 47, kMaxPatchSize}) {
    for (const char* name : {"orb", "oriented_fast", "pyca", "harris", "fast_grid"}) {
      DetectorOptions options = Preset(name, 300);
      options.patch_size = patch;
      options.orientation = Orientation::kIntensityCentroid;
      options.fast_threshold = 10;
      ExpectSelected(options, testing::Texture({97, 71}, 14, 1));
      ExpectSelected(options, testing::Noise({40, 131}, 15));
    }
  }
}

TEST_F(CudaSelectStagesTest, CutsOfBoundedDetectors) {
  const Image image = testing::Noise({400, 300}, 16);
  for (const Selection selection : {Selection::kTopN, Selection::kThreshold}) {
    for (const Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      for (const Ranking ranking : {Ranking::kScore, Ranking::kHarris}) {
        for (const int features : {1, 100, 3000, 60000}) {
          DetectorOptions options = Preset("pyca", features);
          options.selection = selection;
          options.score = score;
          options.ranking = ranking;
          options.fast_threshold = 5;
          options.suppression_radius = features % 2;
          if (ValidateOptions(options).ok()) ExpectSelected(options, image);
        }
      }
    }
  }
}

TEST_F(CudaSelectStagesTest, AggregationOfEveryWindowAndCell) {
  for (int window = 1; window <= kMaxAggregationWindow; window += 2) {
    for (const int cell : {kMinCell, 17, 40}) {
      for (const Pyramid pyramid : {Pyramid::kDirect, Pyramid::kCascaded, Pyramid::kHalf}) {
        DetectorOptions options = Preset("pyca", 5000);
        options.aggregation_window = window;
        options.cell_width = cell;
        options.cell_height = cell + window;
        options.pyramid = pyramid;
        options.levels = 5;
        options.scale_factor = pyramid == Pyramid::kHalf ? 2.0f : 1.25f;
        options.fast_threshold = 6;
        options.score = window % 4 == 1 ? Score::kSadCircle : Score::kMaxThreshold;
        ExpectSelected(options, testing::Texture({320, 201}, 17, 1));
        options.max_features = 60;
        ExpectSelected(options, testing::TieGrid({200, 160}));
      }
    }
  }
  EXPECT_GT(found_, 1000u);
}

TEST_F(CudaSelectStagesTest, HarrisAtEveryPixelOfEveryWindow) {
  uint32_t seed = 30;
  for (int block = kMinHarrisBlock; block <= kMaxHarrisBlock; block += 2) {
    for (int radius = 0; radius <= kMaxSuppressionRadius; ++radius) {
      DetectorOptions options = Preset("harris", 20000);
      options.harris_block = block;
      options.suppression_radius = radius;
      options.smooth = radius % 2 == 0;
      options.harris_k = radius < 3 ? 0.04f : 0.2f;
      options.threshold_unit = radius < 2 ? ThresholdUnit::kFractionOfMax : ThresholdUnit::kAbsolute;
      options.response_threshold = radius < 2 ? 0.02f : radius < 4 ? 1e-5f : 0.0f;
      for (const Shape shape : StageShapes()) {
        if (shape.width > 200 && block % 4 != 3) continue;
        ExpectSelected(options, testing::Texture(shape, ++seed));
      }
    }
  }
  EXPECT_GT(found_, 1000u);
}

// Flat images, plateaus of equal measures, and more maxima than the bins and the result have room for.
TEST_F(CudaSelectStagesTest, HarrisAtEveryPixelOfFlatDenseAndTyingImages) {
  const Shape shape = {500, 333};
  for (const int radius : {0, 1, 4}) {
    for (const int features : {1, 700, kMaxFeatures}) {
      DetectorOptions options = Preset("harris", features);
      options.suppression_radius = radius;
      options.harris_block = 3;
      options.smooth = false;
      for (const float threshold : {0.0f, 0.01f}) {
        options.response_threshold = threshold;
        ExpectSelected(options, testing::Flat(shape, 128));
        ExpectSelected(options, testing::Noise(shape, 18));
        ExpectSelected(options, testing::TieGrid(shape));
        ExpectSelected(options, testing::Noise(shape, 19, 40, 41));
      }
    }
  }
}

}  // namespace
}  // namespace glint::cuda
