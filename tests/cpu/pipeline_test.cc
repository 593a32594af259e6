// The CPU pipeline against the reference, bit for bit, at every SIMD target: options, contents, strides, masks.
#include "cpu/pipeline.h"

#include <map>
#include <memory>
#include <string>

#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint {
namespace {

using testing::OrbOptions;
using testing::OrientedFastOptions;
using testing::Random;
using testing::SameFeatures;
using testing::StridedImage;
using testing::ToString;

class PipelineTest : public testing::SimdTest {};
INSTANTIATE_TEST_SUITE_P(Simd, PipelineTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

Features DetectOnCpu(cpu::Pipeline* pipeline, const DetectorOptions& options, const ImageView& image,
                     const ImageView& mask = {}) {
  Features features;
  EXPECT_TRUE(pipeline->Detect(options, image, mask, &features, nullptr).ok());
  return features;
}

TEST_P(PipelineTest, PresetsOnATexture) {
  const auto pipeline = MakePipeline();
  const Image image = testing::Texture({631, 479}, 1);
  for (const DetectorOptions& options : {OrbOptions(), OrientedFastOptions()}) {
    const Features expected = reference::Detect(options, image);
    ASSERT_GT(expected.count(), 100u);
    EXPECT_TRUE(SameFeatures(expected, DetectOnCpu(pipeline.get(), options, image))) << ToString(options);
  }
}

TEST_P(PipelineTest, PatchesAcrossBands) {
  // Patches cross every border between bands of blurred rows, and the end of the ring that these are in.
  const Image image = testing::Texture({200, 7 * cpu::kBlurRows / 2}, 2);
  const auto pipeline = MakePipeline();
  const auto threaded = MakePipeline(3);
  for (const int patch_size : {2, 31, 63}) {
    DetectorOptions options = OrbOptions();
    options.patch_size = patch_size;
    options.edge_threshold = 0;
    options.levels = 2;
    options.max_features = 1000;
    options.fast_threshold = 5;
    const Features expected = reference::Detect(options, image);
    ASSERT_GT(expected.count(), 500u);
    EXPECT_TRUE(SameFeatures(expected, DetectOnCpu(pipeline.get(), options, image))) << patch_size;
    EXPECT_TRUE(SameFeatures(expected, DetectOnCpu(threaded.get(), options, image))) << patch_size;
  }
}

TEST_P(PipelineTest, RandomOptionsImagesStridesAndMasks) {
  // One pipeline for all: what one frame leaves in its scratch must not matter to the next.
  const auto pipeline = MakePipeline();
  Random random(7);
  for (int i = 0; i < testing::Repetitions(60); ++i) {
    const Shape shape = {random.Uniform(1, 400), random.Uniform(1, 300)};
    const DetectorOptions options =
        testing::RandomOptions(&random, random.OneIn(3) ? OrientedFastOptions() : OrbOptions());
    const Image image = testing::RandomImage(&random, shape);
    const StridedImage strided(image, shape.width + random.Uniform(0, 70), random.Bits());
    const Image mask = testing::RandomMask(&random, shape);
    const StridedImage strided_mask(mask, shape.width + random.Uniform(0, 70), random.Bits());
    const ImageView mask_view = random.OneIn(3) ? strided_mask.view() : ImageView{};
    EXPECT_TRUE(SameFeatures(reference::Detect(options, image, mask_view),
                             DetectOnCpu(pipeline.get(), options, strided, mask_view)))
        << shape.width << "x" << shape.height << " " << ToString(options);
  }
}

TEST_P(PipelineTest, OtherDetectors) {
  const auto pipeline = MakePipeline();
  const auto threaded = MakePipeline(3);
  Random random(8);
  for (int i = 0; i < testing::Repetitions(120); ++i) {
    const Shape shape = {random.Uniform(1, 330), random.Uniform(1, 260)};
    const DetectorOptions options = testing::RandomDetector(&random);
    const Image image = testing::RandomImage(&random, shape);
    const StridedImage strided(image, shape.width + random.Uniform(0, 70), random.Bits());
    const Image mask = testing::RandomMask(&random, shape);
    const ImageView mask_view = random.OneIn(3) ? mask.view() : ImageView{};
    const Features expected = reference::Detect(options, image, mask_view);
    EXPECT_TRUE(SameFeatures(expected, DetectOnCpu(pipeline.get(), options, strided, mask_view)))
        << shape.width << "x" << shape.height << " " << ToString(options);
    EXPECT_TRUE(SameFeatures(expected, DetectOnCpu(threaded.get(), options, strided, mask_view)))
        << shape.width << "x" << shape.height << " threads " << ToString(options);
  }
}

TEST_P(PipelineTest, BestOfCells) {
  // Cells of all sizes beside the squares of suppression, rows of cells of one row and less, ties.
  const auto pipeline = MakePipeline();
  const auto threaded = MakePipeline(3);
  Random random(9);
  for (int i = 0; i < testing::Repetitions(60); ++i) {
    const Shape shape = {random.Uniform(30, 400), random.Uniform(30, 300)};
    DetectorOptions options = PresetOptions(random.OneIn(4) ? "pyca" : "fast_grid").value();
    options.levels = random.Uniform(1, 6);
    options.fast_threshold = random.Uniform(1, 40);
    options.arc_length = random.Uniform(9, 12);
    options.max_arc = random.OneIn(2) ? 16 : random.Uniform(options.arc_length, 16);
    options.suppression_radius = random.OneIn(2) ? 1 : random.Uniform(0, 4);
    options.cell_width = random.OneIn(3) ? 32 : random.Uniform(8, 70);
    options.cell_height = random.OneIn(3) ? 32 : random.Uniform(8, 70);
    options.edge_threshold = random.Uniform(0, 12);
    const Image image = random.OneIn(5) ? testing::TieGrid(shape) : testing::RandomImage(&random, shape);
    const StridedImage exact(image, shape.width);
    const Features expected = reference::Detect(options, image);
    EXPECT_TRUE(SameFeatures(expected, DetectOnCpu(pipeline.get(), options, exact))) << ToString(options);
    EXPECT_TRUE(SameFeatures(expected, DetectOnCpu(threaded.get(), options, exact))) << "threads " << ToString(options);
  }
}

TEST_P(PipelineTest, EmptyFlatAndTruncatingImages) {
  const auto pipeline = MakePipeline();
  const Image flat = testing::Flat({300, 200}, 77);
  EXPECT_EQ(DetectOnCpu(pipeline.get(), OrbOptions(), flat).count(), 0u);

  // Thousands of corners that all tie.
  DetectorOptions options = OrbOptions();
  options.levels = 2;
  options.edge_threshold = 3;
  const Image grid = testing::TieGrid({640, 400});
  for (options.max_features = 1; options.max_features < 10000; options.max_features *= 7) {
    const Features expected = reference::Detect(options, grid);
    EXPECT_TRUE(SameFeatures(expected, DetectOnCpu(pipeline.get(), options, grid))) << ToString(options);
    EXPECT_TRUE(expected.truncated || options.max_features > 1);
  }

  for (const Image& image : {testing::Checkerboard({333, 222}, 6), testing::Speckle({333, 222}, 3)}) {
    EXPECT_TRUE(SameFeatures(reference::Detect(OrbOptions(), image), DetectOnCpu(pipeline.get(), OrbOptions(), image)));
  }
}

TEST_P(PipelineTest, ManyWidthsAcrossStrips) {
  // The strips of blur are 512 pixels wide; descriptors reach across, and to the last pixel.
  const auto pipeline = MakePipeline();
  DetectorOptions harris = PresetOptions("harris").value();
  DetectorOptions options = OrbOptions();
  options.levels = 1;
  options.edge_threshold = 0;
  options.fast_threshold = 10;
  for (const int width : {127, 128, 129, 143, 500, 511, 512, 513, 527, 529, 1023, 1025, 1553}) {
    const Image image = testing::Texture({width, 45}, static_cast<uint32_t>(width));
    const StridedImage exact(image, width);
    EXPECT_TRUE(SameFeatures(reference::Detect(options, image), DetectOnCpu(pipeline.get(), options, exact))) << width;
    harris.harris_block = 3 + width % 7 * 2;
    EXPECT_TRUE(SameFeatures(reference::Detect(harris, image), DetectOnCpu(pipeline.get(), harris, exact))) << width;
  }
}

TEST_P(PipelineTest, TimesOfStagesAddUp) {
  const auto pipeline = MakePipeline();
  const Image image = testing::Texture({300, 200}, 9);
  Features features;
  StageTimes times;
  ASSERT_TRUE(pipeline->Detect(OrbOptions(), image, {}, &features, &times).ok());
  EXPECT_EQ(times.upload_ns, 0);
  const int64_t stages = times.pyramid_ns + times.corners_ns + times.select_ns + times.orient_ns + times.describe_ns;
  EXPECT_GT(stages, 0);
  EXPECT_LE(stages, times.detect_ns);
}

TEST_P(PipelineTest, LargeImages) {
  const auto pipeline = MakePipeline(2);
  DetectorOptions options = OrbOptions();
  options.max_features = 3000;
  for (const Shape shape : {Shape{1920, 1080}, Shape{16384, 48}, Shape{48, 16384}}) {
    const Image image = testing::Texture(shape, 2);
    // The reference takes its time: once for all targets.
    static auto* const expected = new std::map<int, Features>();
    if (expected->count(shape.width) == 0) (*expected)[shape.width] = reference::Detect(options, image);
    EXPECT_TRUE(SameFeatures((*expected)[shape.width], DetectOnCpu(pipeline.get(), options, image)))
        << shape.width << "x" << shape.height;
  }
}

}  // namespace
}  // namespace glint
