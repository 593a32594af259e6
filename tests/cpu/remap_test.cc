// Rectification on the CPU at every SIMD target: the reference's pixels.
#include "cpu/rectify/remap.h"

#include <algorithm>
#include <vector>

#include "cpu/common/stages.h"
#include "features/reference/remap.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"
#include "tests/support/random.h"
#include "tests/support/remap_cases.h"

namespace glint {
namespace {

using testing::EntryAt;
using testing::Random;

// All rows at every target, as an image whose rows follow each other.
::testing::AssertionResult IsTheReference(const ImageView& source, const RemapTable& table) {
  const Shape shape = table.shape;
  Image expected;
  reference::Remap(source, table, &expected);
  std::vector<uint8_t> actual(static_cast<size_t>(shape.pixels()));
  for (const int64_t target : cpu::SimdTargets()) {
    std::fill(actual.begin(), actual.end(), uint8_t{7});
    cpu::RemapRowsFor(target)(source, table, 0, shape.height, actual.data(), shape.width);
    if (!testing::SamePixels(expected, {actual.data(), shape.width, shape.height, shape.width})) {
      return ::testing::AssertionFailure() << cpu::SimdTargetName(target) << ": " << source.width << "x"
                                           << source.height << " to " << shape.width << "x" << shape.height;
    }
  }
  return ::testing::AssertionSuccess();
}

TEST(RemapTest, IsTheReferenceOnAThousandRandomTables) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const int most = seed % 3 == 0 ? 24 : 150;
    const Shape source = {random.Uniform(1, most), random.Uniform(1, most)};
    const Shape shape = {random.Uniform(1, most), random.Uniform(1, most)};
    const Image image = testing::RandomImage(&random, source);
    const testing::StridedImage exact(image, source.width + (seed % 2 == 0 ? 0 : random.Uniform(0, 70)), seed);
    ASSERT_TRUE(IsTheReference(exact, testing::RandomRemapTable(&random, source, shape))) << "seed " << seed;
  }
}

// Every fraction, and differences as large as they can be.
TEST(RemapTest, AllFractions) {
  constexpr Shape kSource = {20, 6}, kShape = {32, 32};
  for (int corners = 0; corners < 16; ++corners) {
    Image image = testing::Noise(kSource, 3);
    for (int i = 0; i < 4; ++i) image.row(2 + i / 2)[5 + i % 2] = (corners >> i & 1) != 0 ? 255 : 0;
    const RemapTable table =
        testing::MakeTable(kSource, kShape, [](int x, int y) { return EntryAt(5 + x / 32.0, 2 + y / 32.0); });
    ASSERT_TRUE(table.blocks.exceptions.empty());
    ASSERT_TRUE(IsTheReference(image, table)) << "corners " << corners;
  }
}

// Rows of a block: the last that fit, and the first that do not.
TEST(RemapTest, SlopesAndScales) {
  constexpr Shape kSource = {300, 200}, kShape = {131, 64};
  const Image image = testing::Noise(kSource, 5);
  for (int i = 0; i <= 40; ++i) {
    const double slope = (i - 20) / 32.0, scale = 0.5 + i / 16.0;
    ASSERT_TRUE(IsTheReference(
        image,
        testing::MakeTable(kSource, kShape, [&](int x, int y) { return EntryAt(1 + scale * x, 60 + y + slope * x); })))
        << "slope " << slope << ", scale " << scale;
  }
}

TEST(RemapTest, WritesItsRowsAlone) {
  constexpr Shape kShape = {83, 40};
  const Image image = testing::Texture({90, 50}, 1);
  const RemapTable table = testing::LensTable(image.shape(), kShape, 0.03, 1.02, -0.1);
  Image expected;
  reference::Remap(image, table, &expected);
  Random random(2);
  const std::vector<int64_t> targets = cpu::SimdTargets();
  for (size_t i = 0; i < 20 * targets.size(); ++i) {
    const int first = random.Uniform(0, kShape.height - 1), count = random.Uniform(0, kShape.height - first);
    const ptrdiff_t stride = kShape.width + random.Uniform(0, 3);
    std::vector<uint8_t> rows(static_cast<size_t>(stride * (count + 2)), 0xa5);
    std::vector<uint8_t> wanted = rows;
    for (int y = 0; y < count; ++y) {
      std::copy_n(expected.row(first + y), kShape.width, wanted.begin() + stride * (y + 1));
    }
    cpu::RemapRowsFor(targets[i % targets.size()])(image, table, first, count, rows.data() + stride, stride);
    ASSERT_EQ(rows, wanted) << "rows " << first << " + " << count << ", stride " << stride;
  }
}

// Of the table of a camera next to nothing is left to be computed pixel by pixel, but along the picture's outline.
TEST(RemapBlocksTest, HoldTheTablesOfCameras) {
  EXPECT_EQ(testing::LensTable({752, 480}, {752, 480}, 0.03, 0.8, 0.1).blocks.exceptions.size(), 0u);
  EXPECT_LT(testing::LensTable({752, 480}, {752, 480}, 0.03, 1.2, 0.1).blocks.exceptions.size(), 2 * (752 + 480u));
  EXPECT_LT(testing::LensTable({752, 480}, {376, 240}, 0.03, 2, -0.1).blocks.exceptions.size(), 2 * (376 + 240u));
}

TEST(RemapTest, UpToTheLargestSizes) {
  constexpr Shape kLarge = {4096, 3000}, kSmall = {61, 40};
  for (const bool from_large : {false, true}) {
    const Shape source = from_large ? kLarge : kSmall, shape = from_large ? Shape{4096, 64} : kLarge;
    const Image image = testing::Noise(source, 1);
    const RemapTable table = testing::MakeTable(source, shape, [&](int x, int y) {
      return testing::EntryAt32nds(x * (source.width + 4) / shape.width * 32 + y % 97 - 64,
                                   y * (source.height + 4) / shape.height * 32 + x % 97 - 64);
    });
    Image expected, actual(shape.width, shape.height);
    reference::Remap(image, table, &expected);
    cpu::BestRemapRows()(image, table, 0, shape.height, actual.row(0), actual.stride());
    EXPECT_TRUE(testing::SamePixels(expected, actual)) << "from " << source.width << "x" << source.height;
  }
}

}  // namespace
}  // namespace glint
