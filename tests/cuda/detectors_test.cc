// Detectors for which SelectsTopNPerLevel() is false on the CUDA pipeline, against the scalar reference, byte for byte.
// Skips without a usable GPU and says why.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cuda/pipeline.h"
#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/cuda/pipeline_fixture.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint::cuda {
namespace {

using ::glint::testing::Random;
using ::glint::testing::SameFeatures;
using ::glint::testing::ToString;

class CudaDetectorsTest : public PipelineFixture {
 protected:
  // Random detectors, masks and strides.
  void RunRandom(uint32_t seed, int rounds);
};

DetectorOptions Preset(const std::string& name) { return PresetOptions(name).value(); }
std::vector<DetectorOptions> Presets() {
  return {Preset("fast_grid"), Preset("pyca"), Preset("bfrost"), Preset("harris")};  // whose stages may be changed
}

void CudaDetectorsTest::RunRandom(uint32_t seed, int rounds) {
  Random random(seed);
  for (int i = 0; i < testing::Repetitions(rounds); ++i) {
    const bool large = random.OneIn(6);
    const Shape shape = {random.Uniform(1, large ? 900 : 330), random.Uniform(1, large ? 600 : 260)};
    const DetectorOptions options = testing::RandomDetector(&random);
    const Image image = testing::RandomImage(&random, shape);
    const testing::StridedImage strided(image, shape.width + random.Uniform(0, 70), random.Bits());
    const Image mask = testing::RandomMask(&random, shape);
    EXPECT_TRUE(Equal(options, strided, random.OneIn(3) ? mask.view() : ImageView{})) << "round " << i;
  }
  EXPECT_GT(found_, 10000u);
}

TEST_F(CudaDetectorsTest, RandomDetectorsMasksAndStrides) { RunRandom(8, 300); }

TEST_F(CudaDetectorsTest, SmallAndOddSizes) {
  uint32_t seed = 1;
  for (DetectorOptions options : Presets()) {
    for (int side : {1, 2, 3, 6, 7, 8, 15, 16, 17, 31, 33, 64, 65}) {
      for (Shape shape : {Shape{side, side}, Shape{side, 50}, Shape{90, side}}) {
        for (int edge : {0, 3}) {
          options.edge_threshold = edge;
          EXPECT_TRUE(Equal(options, testing::Texture(shape, ++seed)));
        }
      }
    }
  }
}

TEST_F(CudaDetectorsTest, EveryArcScoreAndRadius) {
  const Image image = testing::Texture({200, 150}, 11, 1);
  for (DetectorOptions options : {Preset("fast_grid"), Preset("pyca"), Preset("bfrost")}) {
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      if (score == Score::kHarris && options.selection == Selection::kPyca) continue;
      options.score = score;
      for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
        for (int max_arc : {arc, 14, 16}) {
          options.arc_length = arc;
          options.max_arc = max_arc;
          options.suppression_radius = (arc + max_arc) % (kMaxSuppressionRadius + 1);
          options.fast_threshold = 5 + arc;
          EXPECT_TRUE(Equal(options, image));
        }
      }
    }
  }
  EXPECT_GT(found_, 1000u);
}

// The cut by score must be exact, whatever ties.
TEST_F(CudaDetectorsTest, FlatDenseAndTyingImages) {
  const Shape shape = {500, 400};
  for (DetectorOptions options : Presets()) {
    for (int features : {1, 37, 700, 10000}) {
      options.max_features = features;
      options.cell_width = options.cell_height = 8;
      options.edge_threshold = 3;
      EXPECT_TRUE(Equal(options, testing::Flat(shape, 128)));
      EXPECT_TRUE(Equal(options, testing::Noise(shape, 3)));
      EXPECT_TRUE(Equal(options, testing::Speckle(shape, 3)));
      EXPECT_TRUE(Equal(options, testing::Checkerboard(shape, 5)));
      EXPECT_TRUE(Equal(options, testing::TieGrid(shape)));
    }
  }
}

// The best of each level, of detectors that are not orb's kind: by every score and by Harris, ties in abundance.
TEST_F(CudaDetectorsTest, SharesOfLevels) {
  const Shape shape = {400, 300};
  const Image images[] = {testing::Noise(shape, 5), testing::TieGrid(shape), testing::Checkerboard(shape, 7)};
  DetectorOptions options = Preset("pyca");
  options.selection = Selection::kTopN;
  for (Pyramid pyramid : {Pyramid::kDirect, Pyramid::kHalf, Pyramid::kCascaded}) {
    options.pyramid = pyramid;
    options.scale_factor = pyramid == Pyramid::kHalf ? 2.0f : 1.3f;
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      options.score = score;
      for (Ranking ranking : {Ranking::kScore, Ranking::kHarris}) {
        if (score == Score::kHarris && ranking == Ranking::kHarris) continue;
        options.ranking = ranking;
        options.orientation = ranking == Ranking::kScore ? Orientation::kNone : Orientation::kIntensityCentroid;
        options.descriptor = Descriptor::kNone;
        for (int features : {1, 50, 700, 3000}) {
          options.max_features = features;
          for (const Image& image : images) EXPECT_TRUE(Equal(options, image));
        }
      }
    }
  }
  EXPECT_GT(found_, 10000u);
}

TEST_F(CudaDetectorsTest, EveryHarrisWindow) {
  DetectorOptions options = Preset("harris");
  for (int block = kMinHarrisBlock; block <= kMaxHarrisBlock; block += 2) {
    options.harris_block = block;
    for (int radius = 0; radius <= kMaxSuppressionRadius; ++radius) {
      options.suppression_radius = radius;
      options.smooth = radius % 2 == 0;
      options.threshold_unit = radius < 2 ? ThresholdUnit::kFractionOfMax : ThresholdUnit::kAbsolute;
      options.response_threshold = radius < 2 ? 0.02f : 1e-5f;
      for (Shape shape : {Shape{1, 9}, Shape{2, 2}, Shape{9, 1}, Shape{5, 40}, Shape{203, 117}}) {
        EXPECT_TRUE(Equal(options, testing::Texture(shape, 20 + block)));
      }
    }
  }
  EXPECT_GT(found_, 1000u);
}

TEST_F(CudaDetectorsTest, PyramidsOfEveryDepth) {
  const Image image = testing::Texture({413, 299}, 31);
  for (int levels = 1; levels <= kMaxLevels; ++levels) {
    for (DetectorOptions options : {Preset("fast_grid"), Preset("pyca")}) {
      options.levels = levels;
      options.fast_threshold = 8;
      options.edge_threshold = 3;
      EXPECT_TRUE(Equal(options, image));
    }
  }
}

TEST_F(CudaDetectorsTest, BfrostOfEveryScale) {
  const Image image = testing::Texture({300, 200}, 9);
  DetectorOptions options = Preset("bfrost");
  options.pyramid = Pyramid::kHalf;
  options.scale_factor = 2;
  for (float scale : {0.25f, 0.5f, 1.0f, 1.7f, 4.0f}) {
    for (int levels : {1, 3}) {
      options.bfrost_scale = scale;
      options.levels = levels;
      options.edge_threshold = levels == 1 ? 3 : 31;
      EXPECT_TRUE(Equal(options, image));
    }
  }
}

// Far more than is wanted, most of it just below what is.
TEST_F(CudaDetectorsTest, MoreThanWanted) {
  const Image image = testing::Noise({900, 600}, 12);
  for (DetectorOptions options : Presets()) {
    options.suppression_radius = 0;
    options.response_threshold = 0;
    options.fast_threshold = 3;
    options.cell_width = options.cell_height = kMinCell;
    options.edge_threshold = 3;
    for (int features : {1, 500, 5000}) {
      options.max_features = features;
      EXPECT_TRUE(Equal(options, image));
    }
  }
}

// All of what is found stays, with angles and without; then all but a few, and ties in abundance.
TEST_F(CudaDetectorsTest, ManyOfWhichMostStay) {
  for (DetectorOptions options : {Preset("pyca"), Preset("harris"), Preset("bfrost")}) {
    options.edge_threshold = 3;
    if (options.corner_test == CornerTest::kEveryPixel) options.response_threshold = 1e-3f;
    options.cell_width = options.cell_height = 16;
    for (Orientation orientation : {Orientation::kNone, Orientation::kIntensityCentroid}) {
      if (options.descriptor == Descriptor::kRbrief) options.descriptor = Descriptor::kNone;
      if (options.descriptor == Descriptor::kNone) options.orientation = orientation;
      for (int features : {kMaxFeatures, 3000, 1000}) {
        options.max_features = features;
        EXPECT_TRUE(Equal(options, testing::Texture({1000, 700}, 21)));
        EXPECT_TRUE(Equal(options, testing::Speckle({1000, 700}, 22)));
      }
    }
  }
  EXPECT_GT(found_, 10000u);
}

// Thousands in a bin of the ranking: what ties, and measures below all that bins tell apart.
TEST_F(CudaDetectorsTest, ManyInOneBin) {
  const Shape shape = {600, 400};
  for (DetectorOptions options : Presets()) {
    options.edge_threshold = 3;
    options.cell_width = options.cell_height = kMinCell;
    for (int features : {1, 3000, kMaxFeatures}) {
      options.max_features = features;
      EXPECT_TRUE(Equal(options, testing::TieGrid(shape)));
      EXPECT_TRUE(Equal(options, testing::Checkerboard(shape, 7)));
      EXPECT_TRUE(Equal(options, testing::Noise(shape, 4, 40, 41)));
    }
  }
  DetectorOptions options = Preset("harris");
  options.orientation = Orientation::kIntensityCentroid;
  EXPECT_TRUE(Equal(options, testing::TieGrid(shape)));
  EXPECT_TRUE(Equal(options, testing::Noise(shape, 4, 40, 41)));
  EXPECT_GT(found_, 30000u);
}

TEST_F(CudaDetectorsTest, EveryCellOccupiedAndNone) {
  for (DetectorOptions options : {Preset("fast_grid"), Preset("pyca")}) {
    options.edge_threshold = 3;
    options.fast_threshold = 2;
    for (Shape shape : {Shape{40, 40}, Shape{641, 479}}) {
      const Image image = testing::Noise(shape, 4);
      Image mask(shape.width, shape.height);
      for (int y = 0; y < shape.height; ++y) std::fill_n(mask.row(y), shape.width, uint8_t{0});
      EXPECT_TRUE(Equal(options, image));
      EXPECT_TRUE(Equal(options, image, mask.view())) << "all masked";
      for (int y = 0; y < shape.height / 2; ++y) std::fill_n(mask.row(y), shape.width, uint8_t{255});
      EXPECT_TRUE(Equal(options, image, mask.view())) << "the lower half masked";
      EXPECT_TRUE(Equal(options, image)) << "after masked frames";
    }
  }
}

// Some 1750 to 5000 cells, of which all stay, and whose scores may all tie.
TEST_F(CudaDetectorsTest, ManyCells) {
  DetectorOptions options = Preset("fast_grid");
  const Shape shape = {1000, 701};
  for (int cell : {12, 17, 20}) {
    options.cell_width = options.cell_height = cell;
    options.levels = cell == 17 ? 4 : 1;
    EXPECT_TRUE(Equal(options, testing::Noise(shape, cell)));
    EXPECT_TRUE(Equal(options, testing::TieGrid(shape)));
  }
  EXPECT_GT(found_, 10000u);
}

// Tiles for which all multiprocessors have room, of a single level and of more.
TEST_F(CudaDetectorsTest, ManyTiles) {
  const Image image = testing::Texture({1000, 701}, 12, 1);
  for (DetectorOptions options : {Preset("fast_grid"), Preset("bfrost")}) {
    options.descriptor = Descriptor::kNone;
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      options.score = score;
      for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
        options.arc_length = arc;
        options.levels = arc % 2 + static_cast<int>(score) % 2 + 1;
        options.suppression_radius = (arc + static_cast<int>(score)) % (kMaxSuppressionRadius + 1);
        EXPECT_TRUE(Equal(options, image));
      }
    }
  }
}

TEST_F(CudaDetectorsTest, LongestSides) {
  for (const DetectorOptions& options : Presets()) {
    EXPECT_TRUE(Equal(options, testing::Texture({kMaxImageSide, 70}, 6)));
    EXPECT_TRUE(Equal(options, testing::Texture({70, kMaxImageSide}, 7)));
  }
}

TEST_F(CudaDetectorsTest, LargeImages) {
  for (const DetectorOptions& options : Presets()) {
    EXPECT_TRUE(Equal(options, testing::Texture({1920, 1080}, 2)));
    EXPECT_TRUE(Equal(options, testing::Noise({1300, 900}, 9)));
  }
}

// What one frame leaves behind must not matter to the next, of whatever detector and shape.
TEST_F(CudaDetectorsTest, DetectorsInTurn) {
  const Image a = testing::Texture({640, 480}, 1);
  const Image b = testing::Noise({500, 300}, 2);
  std::vector<DetectorOptions> all = Presets();
  all.push_back(testing::OrbOptions());
  all.push_back(Preset("orbslam"));
  for (DetectorOptions& options : all) options.max_features = std::min(options.max_features, 1000);
  std::vector<Features> expected;
  for (const DetectorOptions& options : all) {
    expected.push_back(reference::Detect(options, a));
    expected.push_back(reference::Detect(options, b));
  }
  for (int round = 0; round < 100; ++round) {
    for (size_t i = 0; i < expected.size(); ++i) {
      Features actual;
      ASSERT_TRUE(pipeline_->Detect(all[i / 2], i % 2 == 0 ? a : b, {}, &actual, nullptr).ok());
      ASSERT_TRUE(SameFeatures(expected[i], actual)) << "round " << round << ", " << ToString(all[i / 2]);
    }
  }
}

TEST_F(CudaDetectorsTest, TimesReplays) {
  const Image image = testing::Texture({640, 480}, 1);
  for (const DetectorOptions& options : Presets()) {
    const auto timing = pipeline_->TimeOnDevice(options, image, {}, 40);
    ASSERT_TRUE(timing.ok()) << timing.status();
    EXPECT_EQ(timing->keypoints, static_cast<int>(reference::Detect(options, image).count()));
    EXPECT_GE(timing->launches, 2);
    EXPECT_TRUE(Equal(options, image));
  }
}

TEST_F(CudaDetectorsTest, OnFewMultiprocessors) {
  PipelineOptions few;
  few.sm_limit = 8;
  auto limited = Pipeline::Create(few);
  if (limited.status().code() == absl::StatusCode::kFailedPrecondition) GTEST_SKIP() << limited.status();
  ASSERT_TRUE(limited.ok()) << limited.status();
  pipeline_ = *std::move(limited);
  for (const DetectorOptions& options : Presets()) {
    EXPECT_TRUE(Equal(options, testing::Noise({640, 480}, 6)));
    EXPECT_TRUE(Equal(options, testing::Noise({640, 480}, 6, 40, 41)));
    EXPECT_TRUE(Equal(options, testing::TieGrid({640, 480})));
  }
  // The corners of cells, found piece by piece where tiles are many, up to the borders.
  for (DetectorOptions options : {Preset("fast_grid"), Preset("pyca")}) {
    options.edge_threshold = 3;
    for (int radius : {0, 1, 2}) {
      options.suppression_radius = radius;
      EXPECT_TRUE(Equal(options, testing::Noise({651, 487}, 7)));
      EXPECT_TRUE(Equal(options, testing::Texture({723, 500}, 8)));
    }
  }
  RunRandom(9, 150);
}

}  // namespace
}  // namespace glint::cuda
