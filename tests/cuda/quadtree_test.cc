// The preset orbslam on the CUDA pipeline, against the scalar reference, byte for byte. Skips without a usable GPU and
// says why.
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

class CudaQuadtreeTest : public PipelineFixture {};

DetectorOptions Orbslam() { return PresetOptions("orbslam").value(); }

DetectorOptions RandomOrbslam(Random* random) {
  DetectorOptions options = Orbslam();
  options.levels = random->Uniform(1, kMaxLevels);
  options.scale_factor = random->OneIn(2) ? 1.2f : random->Uniform(kMinScaleFactor, kMaxScaleFactor);
  options.max_features = random->OneIn(3) ? random->Uniform(1, 30) : random->Uniform(1, 5000);
  options.ini_fast_threshold = random->OneIn(3) ? 20 : random->Uniform(1, 120);
  options.min_fast_threshold =
      random->OneIn(5) ? options.ini_fast_threshold : random->Uniform(1, options.ini_fast_threshold);
  if (random->OneIn(4)) options.descriptor = Descriptor::kNone;
  if (options.descriptor == Descriptor::kNone && random->OneIn(2)) options.orientation = Orientation::kNone;
  return options;
}

// Any image, mask and stride; each frame after another one of the same pipeline.
TEST_F(CudaQuadtreeTest, RandomOptionsMasksAndStrides) {
  Random random(6);
  for (int i = 0; i < testing::Repetitions(300); ++i) {
    const Shape shape = {random.Uniform(1, 700), random.Uniform(1, 400)};
    const DetectorOptions options = RandomOrbslam(&random);
    const Image image = random.OneIn(3) ? testing::Texture(shape, random.Bits()) : testing::RandomImage(&random, shape);
    const testing::StridedImage strided(image, shape.width + random.Uniform(0, 70), random.Bits());
    const Image mask = testing::RandomMask(&random, shape);
    EXPECT_TRUE(Equal(options, strided, random.OneIn(3) ? mask.view() : ImageView{})) << "round " << i;
  }
  EXPECT_GT(found_, 10000u);
}

TEST_F(CudaQuadtreeTest, SmallAndLongImages) {
  DetectorOptions options = Orbslam();
  std::vector<Shape> shapes = {{1, 1},     {61, 61},   {62, 61},   {62, 62},    {63, 67},
                               {3000, 62}, {62, 3000}, {5000, 95}, {110, 2000}, {kMaxImageSide, 70}};
  uint32_t seed = 0;
  for (const Shape shape : shapes) {
    for (const int features : {1, 30, 1000, 20000}) {
      options.max_features = features;
      EXPECT_TRUE(Equal(options, testing::Texture(shape, ++seed, 1)));
    }
  }
  EXPECT_GT(found_, 1000u);
}

// Nodes and corners within shared memory and beyond; all cells at either threshold.
TEST_F(CudaQuadtreeTest, FewAndManyFeatures) {
  DetectorOptions options = Orbslam();
  const Shape shape = {1300, 900};
  for (const int features : {1, 10, 1200, 4000, 65536}) {
    options.max_features = features;
    for (const auto& [ini, min] : {std::pair(20, 7), std::pair(1, 1), std::pair(150, 3), std::pair(254, 254)}) {
      options.ini_fast_threshold = ini;
      options.min_fast_threshold = min;
      EXPECT_TRUE(Equal(options, testing::Texture(shape, 3)));
    }
    options.levels = features % 3 == 1 ? 1 : 8;
    EXPECT_TRUE(Equal(options, testing::Noise(shape, 4)));
  }
}

TEST_F(CudaQuadtreeTest, FlatDenseAndTyingImages) {
  DetectorOptions options = Orbslam();
  const Shape shape = {500, 400};
  for (const int features : {1, 37, 700, 10000}) {
    options.max_features = features;
    EXPECT_TRUE(Equal(options, testing::Flat(shape, 128)));
    EXPECT_TRUE(Equal(options, testing::Speckle(shape, 3)));
    EXPECT_TRUE(Equal(options, testing::Speckle(shape, 3, 4000)));
    EXPECT_TRUE(Equal(options, testing::Checkerboard(shape, 5)));
    EXPECT_TRUE(Equal(options, testing::TieGrid(shape)));
  }
}

TEST_F(CudaQuadtreeTest, TheSameFrameAThousandTimes) {
  const Image image = testing::Texture({752, 480}, 5);
  const Features expected = reference::Detect(Orbslam(), image);
  for (int i = 0; i < 1000; ++i) {
    Features actual;
    ASSERT_TRUE(pipeline_->Detect(Orbslam(), image, {}, &actual, nullptr).ok());
    ASSERT_TRUE(SameFeatures(expected, actual)) << i;
  }
}

}  // namespace
}  // namespace glint::cuda
