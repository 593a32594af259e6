// Each option of `orb` over its range, the others at their defaults, against cv::ORB.
#include <algorithm>
#include <vector>

#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/conformance/backends.h"
#include "tests/conformance/oracle.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::testing {
namespace {

const Image& Scene() {
  static const Image* const kScene = new Image(Texture({320, 240}, 1, 2));
  return *kScene;
}

void ExpectEqual(const DetectorOptions& options, const ImageView& image = Scene(), const ImageView& mask = {}) {
  ASSERT_TRUE(ValidateOptions(options).ok()) << ToString(options);
  EXPECT_TRUE(BackendsEqualOrb(options, image, mask));
}

// Every test below compares descriptors too, where that is possible.
TEST(OrbOptions, DescriptorsAreCompared) {
  if (const std::string why = WhyDescriptorsCannotBeCompared(); !why.empty()) GTEST_SKIP() << why;
  const OrbAnswer orb = AskOrb(OrbOptions(), Scene());
  Features changed = orb.features;
  EXPECT_GT(changed.count(), 400u);
  EXPECT_TRUE(EqualsOrb(orb, changed));
  changed.descriptors[1000] ^= 1;
  EXPECT_FALSE(EqualsOrb(orb, changed));
}

TEST(OrbOptions, MaxFeatures) {
  for (const Ranking ranking : {Ranking::kHarris, Ranking::kScore}) {
    DetectorOptions options = OrbOptions();
    options.ranking = ranking;
    for (const int n : {1, 2, 3, 5, 8, 10, 50, 100, 500, 1000, 2000, 5000, 20000, 65536}) {
      options.max_features = n;
      ExpectEqual(options);
    }
  }
}

TEST(OrbOptions, LevelsAndScaleFactor) {
  DetectorOptions options = OrbOptions();
  for (const float factor : {1.05f, 1.1f, 1.2f, 1.25f, 1.4142135f, 1.5f, 1.7f, 1.99f, 2.0f}) {
    for (int levels = kMinLevels; levels <= kMaxLevels; ++levels) {
      options.scale_factor = factor;
      options.levels = levels;
      ExpectEqual(options);
    }
  }
}

TEST(OrbOptions, FastThreshold) {
  for (const Ranking ranking : {Ranking::kHarris, Ranking::kScore}) {
    DetectorOptions options = OrbOptions();
    options.ranking = ranking;
    const Image noise = Noise({160, 120}, 2);
    for (int threshold = kMinFastThreshold; threshold <= kMaxFastThreshold; threshold += threshold < 100 ? 3 : 11) {
      options.fast_threshold = threshold;
      ExpectEqual(options);
      ExpectEqual(options, noise);
    }
    options.fast_threshold = kMaxFastThreshold;
    ExpectEqual(options, Speckle({160, 120}, 3, 30));
  }
}

TEST(OrbOptions, EdgeThreshold) {
  DetectorOptions options = OrbOptions();
  const Image small = Texture({150, 130}, 3, 2);
  for (int edge = kMinEdgeThreshold; edge <= kMaxEdgeThreshold; edge += edge < 80 ? 1 : 25) {
    options.edge_threshold = edge;
    ExpectEqual(options, small);
  }
}

// Below edge 45 large patches reach outside the level, where the descriptor sees the reflection of unblurred pixels.
TEST(OrbOptions, PatchSize) {
  DetectorOptions options = OrbOptions();
  const Image small = Texture({150, 130}, 4, 1);
  for (int patch_size = kMinPatchSize; patch_size <= kMaxPatchSize; ++patch_size) {
    for (const int edge : {0, 3, 8, 31, 50}) {
      options.patch_size = patch_size;
      options.edge_threshold = edge;
      ExpectEqual(options, small);
    }
  }
}

TEST(OrbOptions, WithoutDescriptor) {
  DetectorOptions options = OrbOptions();
  options.descriptor = Descriptor::kNone;
  ExpectEqual(options);
}

TEST(OrbOptions, Masks) {
  DetectorOptions options = OrbOptions();
  Random random(5);
  for (int i = 0; i < Repetitions(20); ++i) {
    const Image mask = RandomMask(&random, Scene().shape());
    options.ranking = i % 2 == 0 ? Ranking::kHarris : Ranking::kScore;
    options.edge_threshold = i % 3 == 0 ? 3 : 31;
    options.scale_factor = i % 5 == 0 ? 2.0f : 1.2f;
    ExpectEqual(options, Scene(), mask);
  }
  ExpectEqual(options, Scene(), Flat(Scene().shape(), 0));
  ExpectEqual(options, Scene(), Flat(Scene().shape(), 255));
  // 254 counts at level 0 and vanishes from level 1 on.
  ExpectEqual(options, Scene(), Flat(Scene().shape(), 254));
  ExpectEqual(options, Scene(), Flat(Scene().shape(), 1));
}

TEST(OrbOptions, Strides) {
  const DetectorOptions options = OrbOptions();
  Random random(6);
  const Image mask = RandomMask(&random, Scene().shape());
  for (const int extra : {1, 3, 16, 61, 1000}) {
    const StridedImage image(Scene(), Scene().width() + extra, extra);
    const StridedImage strided_mask(mask, mask.width() + 2 * extra, extra);
    ExpectEqual(options, image, strided_mask);
  }
}

TEST(OrbOptions, TiesAreKeptUpToTheCapacity) {
  for (const Ranking ranking : {Ranking::kHarris, Ranking::kScore}) {
    DetectorOptions options = OrbOptions();
    options.ranking = ranking;
    options.max_features = 10;
    for (const int side : {100, 200, 400, 600}) {
      ExpectEqual(options, TieGrid({side, side}));
      ExpectEqual(options, Checkerboard({side, side}, 4));
    }
    // The last one overflows the capacity, so that truncation has been compared.
    EXPECT_TRUE(reference::Detect(options, TieGrid({600, 600})).truncated);
  }
}

TEST(OrbOptions, FlatAndEmpty) {
  for (const uint8_t value : {0, 128, 255}) ExpectEqual(OrbOptions(), Flat({200, 150}, value));
}

}  // namespace
}  // namespace glint::testing
