// Random options on random images, against cv::ORB: whatever the tests of single options and sizes do not combine.
#include "gtest/gtest.h"
#include "tests/conformance/backends.h"
#include "tests/conformance/oracle.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::testing {
namespace {

void CompareRandomly(uint32_t seed, int repetitions, int largest_side) {
  Random random(seed);
  size_t keypoints = 0;
  for (int i = 0; i < repetitions; ++i) {
    const DetectorOptions options = RandomOptions(&random, OrbOptions());
    const Image image = RandomImage(&random, {random.Uniform(1, largest_side), random.Uniform(1, largest_side)});
    const Image mask = random.OneIn(4) ? RandomMask(&random, image.shape()) : Image();
    const ptrdiff_t stride = image.width() + (random.OneIn(2) ? random.Uniform(0, 70) : 0);
    const StridedImage strided(image, stride, random.Bits());
    ASSERT_TRUE(BackendsEqualOrb(options, strided, mask)) << "repetition " << i;
    keypoints += AskOrb(options, strided, mask).features.count();
  }
  EXPECT_GT(keypoints, 10u * repetitions);
}

TEST(OrbRandom, Small) { CompareRandomly(1, Repetitions(1500), 120); }
TEST(OrbRandom, Medium) { CompareRandomly(2, Repetitions(150), 500); }
TEST(OrbRandom, Large) { CompareRandomly(3, Repetitions(6), 1600); }

}  // namespace
}  // namespace glint::testing
