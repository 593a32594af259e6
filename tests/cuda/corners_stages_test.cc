// The corner stages' launchers, each alone on levels that the reference made, against features/reference/fast.h,
// harris.h and cells.h: places and scores of all that survives suppression, border and mask. The measure at every pixel
// leaves its corners to the ranking in a form of its own: see select_stages_test.cc.
#include <algorithm>
#include <string>
#include <vector>

#include "features/reference/cells.h"
#include "gtest/gtest.h"
#include "tests/cuda/stage_checks.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint::cuda {
namespace {

using reference::Corner;
using reference::LevelTrace;
using testing::Random;
using testing::ToString;

// What the stage hands on: all corners of each level or the best of each cell.
std::vector<std::vector<Corner>> HandedOn(const DetectorOptions& options, const std::vector<LevelTrace>& trace,
                                          Shape image) {
  std::vector<std::vector<Corner>> corners(trace.size());
  const PyramidPlan plan = PlanPyramid(options, image);
  std::vector<reference::LevelCorner> all;
  for (int l = 0; l < plan.levels; ++l) {
    const LevelTrace& t = trace[static_cast<size_t>(l)];
    corners[static_cast<size_t>(l)] = options.selection == Selection::kPyca ? t.ranked : t.inside;
    const float scale = plan.level[l].scale;
    for (const Corner& c : t.inside) {
      all.push_back({l, c, ImagePosition(c.x, scale, image.width), ImagePosition(c.y, scale, image.height)});
    }
  }
  if (options.selection != Selection::kGrid) return corners;
  for (std::vector<Corner>& level : corners) level.clear();
  for (const auto& c : reference::BestOfCells(all, options.cell_width, options.cell_height)) {
    corners[static_cast<size_t>(c.octave)].push_back(c.corner);
  }
  return corners;
}

class CudaCornersStagesTest : public StageTest {
 protected:
  void ExpectCorners(const DetectorOptions& options, const ImageView& image, const ImageView& mask = {}) {
    SCOPED_TRACE(::testing::Message() << image.width << "x" << image.height << (mask.empty() ? " " : " masked ")
                                      << ToString(options));
    const std::vector<LevelTrace> trace = TraceOf(options, image, mask);
    const std::vector<std::vector<Corner>> expected = HandedOn(options, trace, image.shape());
    for (const std::vector<Corner>& level : expected) found_ += level.size();
    ForEachDevice([&](StageDevice* device) {
      StageFrame frame(device, {options, image.shape(), !mask.empty()});
      frame.SetLevels(trace);
      if (!mask.empty()) frame.SetMask(0, mask);
      frame.FindCorners();
      for (int l = 0; l < frame.levels(); ++l) {
        EXPECT_TRUE(SameCorners(expected[static_cast<size_t>(l)], frame.Candidates(l))) << "level " << l;
      }
    });
  }

  size_t found_ = 0;  // by the reference
};

DetectorOptions Orb(int arc, Score score) {
  DetectorOptions options = score == Score::kHarris ? testing::OrientedFastOptions() : testing::OrbOptions();
  options.arc_length = arc;
  options.edge_threshold = 0;
  options.levels = 3;
  return options;
}

// Of the detectors with bounded arcs: every corner, or the best of each cell of the image or of the levels.
DetectorOptions Bounded(Selection selection, int arc, Score score) {
  DetectorOptions options = PresetOptions(selection == Selection::kPyca ? "pyca" : "fast_grid").value();
  options.selection = selection;
  options.arc_length = arc;
  options.max_arc = std::max(arc, 14);
  options.score = score;
  options.edge_threshold = 0;
  options.levels = 2;
  return options;
}

constexpr Selection kSelections[] = {Selection::kGrid, Selection::kPyca, Selection::kThreshold, Selection::kTopN};
constexpr Score kScores[] = {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc};

bool IsValid(const DetectorOptions& options) { return ValidateOptions(options).ok(); }

TEST_F(CudaCornersStagesTest, FastOfEverySizeArcAndScore) {
  uint32_t seed = 0;
  for (const Shape shape : StageShapes()) {
    for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
      for (const Score score : {Score::kMaxThreshold, Score::kHarris}) {
        DetectorOptions options = Orb(arc, score);
        options.fast_threshold = 10;
        options.edge_threshold = static_cast<int>(seed % 6);
        ExpectCorners(options, testing::Texture(shape, ++seed, 1));
      }
    }
  }
  EXPECT_GT(found_, 1000u);
}

TEST_F(CudaCornersStagesTest, BoundedFastOfEverySizeArcAndScore) {
  uint32_t seed = 0;
  for (const Shape shape : StageShapes()) {
    for (const Selection selection : kSelections) {
      for (const Score score : kScores) {
        ++seed;
        DetectorOptions options = Bounded(selection, kMinArcLength + static_cast<int>(seed % 4), score);
        options.edge_threshold = static_cast<int>(seed % 6);
        options.suppression_radius = static_cast<int>(seed % 5);
        options.fast_threshold = 10;
        if (IsValid(options)) ExpectCorners(options, testing::Texture(shape, seed, 1));
      }
    }
  }
  EXPECT_GT(found_, 1000u);
}

// Cells of every side, partly or wholly at the lesser threshold.
TEST_F(CudaCornersStagesTest, CellsOfEverySizeAndThreshold) {
  Random random(5);
  DetectorOptions options = PresetOptions("orbslam").value();
  options.levels = 3;
  std::vector<Shape> shapes = StageShapes();
  for (const int side : {61, 62, 63, 75, 91, 92, 121, 122, 160, 400}) {
    shapes.push_back({side, 100 + side % 50});
    shapes.push_back({300 + side % 30, side});
  }
  for (const Shape shape : shapes) {
    for (const int ini : {5, 20, 90}) {
      options.ini_fast_threshold = ini;
      options.min_fast_threshold = random.Uniform(1, ini);
      const Image mask = testing::RandomMask(&random, shape);
      ExpectCorners(options, testing::Texture(shape, random.Bits(), 1));
      ExpectCorners(options, testing::RandomImage(&random, shape), mask);
    }
  }
  EXPECT_GT(found_, 1000u);
}

TEST_F(CudaCornersStagesTest, EveryRadiusScoreAndArc) {
  const Image image = testing::Texture({201, 143}, 3, 1);
  for (const Selection selection : kSelections) {
    for (const Score score : kScores) {
      for (int radius = 0; radius <= kMaxSuppressionRadius; ++radius) {
        for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
          DetectorOptions options = Bounded(selection, arc, score);
          options.suppression_radius = radius;
          options.max_arc = radius % 2 == 0 ? arc : 16;
          options.fast_threshold = 8;
          if (IsValid(options)) ExpectCorners(options, image);
        }
      }
    }
  }
  EXPECT_GT(found_, 1000u);
}

// Nothing, almost everything, only ties, and as much as lists and buckets overflow.
TEST_F(CudaCornersStagesTest, FlatDenseAndTyingImages) {
  const Shape shape = {300, 211};
  std::vector<DetectorOptions> all = {Orb(9, Score::kMaxThreshold), Orb(9, Score::kHarris),
                                      Orb(12, Score::kMaxThreshold)};
  for (const Selection selection : kSelections) {
    for (const int radius : {0, 1, 4}) {
      DetectorOptions options = Bounded(selection, 9, Score::kMaxThreshold);
      options.suppression_radius = radius;
      options.max_arc = 16;
      options.cell_width = options.cell_height = kMinCell;
      all.push_back(options);
    }
  }
  for (DetectorOptions options : all) {
    for (const int threshold : {kMinFastThreshold, 60, kMaxFastThreshold}) {
      options.fast_threshold = threshold;
      ExpectCorners(options, testing::Flat(shape, 255));
      ExpectCorners(options, testing::Noise(shape, 3));
      ExpectCorners(options, testing::Noise(shape, 3, 100, 103));
      ExpectCorners(options, testing::Speckle(shape, 3, 20));
      ExpectCorners(options, testing::Checkerboard(shape, 7));
      ExpectCorners(options, testing::TieGrid(shape));
    }
  }
  EXPECT_GT(found_, 10000u);
}

TEST_F(CudaCornersStagesTest, LargeImage) {
  const Shape shape = {631, 479};
  std::vector<DetectorOptions> all = {
      testing::OrbOptions(), testing::OrientedFastOptions(), Bounded(Selection::kGrid, 10, Score::kSadCircle),
      Bounded(Selection::kPyca, 9, Score::kSadArc), Bounded(Selection::kThreshold, 9, Score::kMaxThreshold)};
  for (DetectorOptions options : all) {
    for (const int threshold : {3, 20}) {
      options.fast_threshold = threshold;
      ExpectCorners(options, testing::Noise(shape, 4));
      ExpectCorners(options, testing::Texture(shape, 5));
      ExpectCorners(options, testing::TieGrid(shape, 5));
    }
  }
}

// Larger than what a multiprocessor works on at once, so that plans for one of them differ.
TEST_F(CudaCornersStagesTest, ManyTilesOfOneMultiprocessor) {
  const Image image = testing::Texture({1503, 1001}, 6);
  DetectorOptions orb = Orb(9, Score::kMaxThreshold);
  ExpectCorners(orb, image);
  orb.arc_length = 12;
  ExpectCorners(orb, image);
  ExpectCorners(Orb(10, Score::kHarris), image);
  for (const Score score : kScores) ExpectCorners(Bounded(Selection::kGrid, 9, score), image);
  ExpectCorners(Bounded(Selection::kPyca, 11, Score::kMaxThreshold), image);
}

TEST_F(CudaCornersStagesTest, MasksAndBorders) {
  Random random(5);
  for (const Shape shape : {Shape{64, 64}, Shape{131, 33}, Shape{255, 190}}) {
    const Image image = testing::Noise(shape, 6);
    for (const int edge : {0, 3, 4, 17, 31, 100}) {
      const Image mask = testing::RandomMask(&random, shape);
      std::vector<DetectorOptions> all = {Orb(9, Score::kMaxThreshold), Orb(9, Score::kHarris)};
      for (const Selection selection : kSelections) all.push_back(Bounded(selection, 9, Score::kMaxThreshold));
      DetectorOptions direct = Bounded(Selection::kThreshold, 9, Score::kSadCircle);
      direct.pyramid = Pyramid::kDirect;
      direct.scale_factor = 1.3f;
      direct.levels = 4;
      all.push_back(direct);
      for (DetectorOptions options : all) {
        options.edge_threshold = edge;
        ExpectCorners(options, image, mask);
        ExpectCorners(options, image, testing::Flat(shape, 0));
        ExpectCorners(options, image, testing::Flat(shape, 255));
      }
    }
  }
  EXPECT_GT(found_, 1000u);
}

TEST_F(CudaCornersStagesTest, ImageInParts) {
  for (const Shape shape : {Shape{131, 40}, Shape{300, 211}, Shape{631, 479}}) {
    const Image image = testing::Texture(shape, 8, 1);
    for (const Score score : {Score::kMaxThreshold, Score::kHarris}) {
      const DetectorOptions options = Orb(9, score);
      const std::vector<LevelTrace> trace = TraceOf(options, image);
      ForEachDevice([&](StageDevice* device) {
        constexpr int kParts = 2;
        StageFrame frame(device, {options, shape, /*masked=*/false, kParts});
        frame.SetLevels(trace);
        for (int part = 0; part < kParts; ++part) frame.FindCorners(part);
        for (int l = 0; l < frame.levels(); ++l) {
          EXPECT_TRUE(SameCorners(trace[static_cast<size_t>(l)].inside, frame.Candidates(l))) << "level " << l;
        }
      });
    }
  }
}

}  // namespace
}  // namespace glint::cuda
