// One frame shared by several threads: the reference's bytes, at every SIMD target. Apart from the other pipeline tests
// so that it can run under the thread sanitizer, where those would take many minutes.
#include "cpu/pipeline.h"
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

class ThreadsTest : public testing::SimdTest {};
INSTANTIATE_TEST_SUITE_P(Simd, ThreadsTest, ::testing::ValuesIn(testing::TargetNames()), testing::ParamName);

TEST_P(ThreadsTest, AnyNumberOfThreads) {
  const Image image = testing::Texture({620, 410}, 5);
  testing::Random random(3);
  const Image mask = testing::RandomMask(&random, image.shape());
  for (const DetectorOptions& options : {OrbOptions(), OrientedFastOptions()}) {
    const Features expected = reference::Detect(options, image, mask);
    for (int threads = 1; threads <= 4; ++threads) {
      const auto pipeline = MakePipeline(threads);
      for (int repeat = 0; repeat < 3; ++repeat) {
        Features features;
        ASSERT_TRUE(pipeline->Detect(options, image, mask, &features, nullptr).ok());
        EXPECT_TRUE(testing::SameFeatures(expected, features)) << threads << " threads, " << testing::ToString(options);
      }
    }
  }
}

}  // namespace
}  // namespace glint
