// Every width and height from 1 to 67, in buffers that end with the last pixel: the narrow images, the vectors that
// just fit and those that just do not. GLINT_TEST_SWEEP=1 tries all pairs at every target; otherwise each width meets
// every height in turn, spread over the targets.
#include <memory>

#include "cpu/pipeline.h"
#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/cpu/simd.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint {
namespace {

constexpr int kMaxSide = 67;

class SizesTest : public testing::SimdTest {};
INSTANTIATE_TEST_SUITE_P(Simd, SizesTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

// Options under which small images have keypoints, and everything reads across the image's sides.
DetectorOptions SmallImageOptions(DetectorOptions options, int i) {
  options.edge_threshold = i % 4 == 0 ? 5 : 0;
  options.levels = 1 + i % 4;
  options.scale_factor = i % 3 == 0 ? 1.2f : i % 3 == 1 ? 2.0f : 1.05f;
  options.fast_threshold = 5 + i % 11;
  options.arc_length = 9 + (i % 8 == 7 ? i % 4 : 0);
  options.patch_size = i % 5 == 4 ? 2 + i % 62 : 31;
  return options;
}

TEST_P(SizesTest, EveryWidthAndHeight) {
  const auto pipeline = MakePipeline();
  const bool sweep = testing::Repetitions(1) > 1;
  const int part = static_cast<int>(GetParam().size() + static_cast<size_t>(GetParam().back()));
  int i = part;
  for (int height = 1; height <= kMaxSide; ++height) {
    for (int width = 1; width <= kMaxSide; ++width) {
      if (!sweep && (width + 3 * height + part) % 9 != 0) continue;
      ++i;
      const DetectorOptions base = i % 3 == 0 ? testing::OrientedFastOptions() : testing::OrbOptions();
      const DetectorOptions options = SmallImageOptions(base, i);
      const uint32_t seed = static_cast<uint32_t>(i);
      const Image image =
          i % 2 == 0 ? testing::Texture({width, height}, seed, 1) : testing::Speckle({width, height}, seed);
      const testing::StridedImage exact(image, i % 7 == 0 ? width + i % 13 : width, seed);
      Features features;
      ASSERT_TRUE(pipeline->Detect(options, exact, {}, &features, nullptr).ok());
      ASSERT_TRUE(testing::SameFeatures(reference::Detect(options, image), features))
          << width << "x" << height << " " << testing::ToString(options);
    }
  }
}

TEST_P(SizesTest, OtherDetectors) {
  const auto pipeline = MakePipeline();
  testing::Random random(static_cast<uint32_t>(GetParam().size()));
  for (int i = 0; i < testing::Repetitions(150); ++i) {
    const Shape shape = {random.Uniform(1, 2 * kMaxSide), random.Uniform(1, kMaxSide)};
    const DetectorOptions options = testing::RandomDetector(&random);
    const Image image = testing::RandomImage(&random, shape);
    const testing::StridedImage exact(image, shape.width, random.Bits());
    Features features;
    ASSERT_TRUE(pipeline->Detect(options, exact, {}, &features, nullptr).ok());
    ASSERT_TRUE(testing::SameFeatures(reference::Detect(options, image), features))
        << shape.width << "x" << shape.height << " " << testing::ToString(options);
  }
}

}  // namespace
}  // namespace glint
