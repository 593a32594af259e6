// Rectification as the kernel does it, run on the host: the reference's pixels, out of packed tables.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cuda/rectify/packed_table.h"
#include "cuda/rectify/remap_params.h"
#include "features/reference/remap.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"
#include "tests/support/random.h"
#include "tests/support/remap_cases.h"

namespace glint::cuda {
namespace {

using testing::EntryAt;
using testing::Random;

// Of a packed table, in bytes for each pixel of the image.
double BytesPerPixel(const RemapTable& table) {
  std::vector<uint64_t> words;
  PackRemapTable(table, &words);
  return 8.0 * static_cast<double>(words.size()) / static_cast<double>(table.shape.pixels());
}

::testing::AssertionResult IsTheReference(const ImageView& source, const RemapTable& table) {
  // No byte more than the source has, for tools to see what is read beyond.
  std::vector<uint8_t> pixels;
  for (int y = 0; y < source.height; ++y) pixels.insert(pixels.end(), source.row(y), source.row(y) + source.width);
  std::vector<uint64_t> words;
  RemapParams params{};
  PackRemapTable(table, &words).Place(words.data(), &params);
  params.source = pixels.data();
  params.source_shape = table.source;
  Image expected, actual(table.shape.width, table.shape.height);
  reference::Remap(source, table, &expected);
  for (int y = 0; y < table.shape.height; ++y) {
    for (int segment = 0; segment < params.segments; ++segment) {
      for (int lane = 0; lane < kLanes; ++lane) {
        uint32_t remapped[kLanePixels];
        RemapLane(params, static_cast<uint32_t>(segment), static_cast<uint32_t>(y), static_cast<uint32_t>(lane),
                  remapped);
        for (int k = 0; k < kLanePixels; ++k) {
          const int x = segment * kSegment + k * kLanes + lane;
          if (x < table.shape.width) actual.row(y)[x] = static_cast<uint8_t>(remapped[k]);
        }
      }
    }
  }
  if (testing::SamePixels(expected, actual)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << source.width << "x" << source.height << " to " << table.shape.width << "x"
                                       << table.shape.height;
}

TEST(RemapModelTest, IsTheReferenceOnAThousandRandomTables) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const int most = seed % 3 == 0 ? 24 : seed % 3 == 1 ? 150 : 400;
    const Shape source = {random.Uniform(1, most), random.Uniform(1, 150)};
    const Shape shape = {random.Uniform(1, most), random.Uniform(1, 60)};
    const Image image = testing::RandomImage(&random, source);
    ASSERT_TRUE(IsTheReference(image, testing::RandomRemapTable(&random, source, shape))) << "seed " << seed;
  }
}

// Every fraction, and differences as large as they can be.
TEST(RemapModelTest, AllFractions) {
  constexpr Shape kSource = {20, 6}, kShape = {32, 32};
  for (int corners = 0; corners < 16; ++corners) {
    Image image = testing::Noise(kSource, 3);
    for (int i = 0; i < 4; ++i) image.row(2 + i / 2)[5 + i % 2] = (corners >> i & 1) != 0 ? 255 : 0;
    const RemapTable table =
        testing::MakeTable(kSource, kShape, [](int x, int y) { return EntryAt(5 + x / 32.0, 2 + y / 32.0); });
    ASSERT_TRUE(IsTheReference(image, table)) << "corners " << corners;
  }
}

// Blocks of each kind beside each other: with sources, with some, with none.
TEST(RemapModelTest, KindsOfBlocks) {
  constexpr Shape kSource = {300, 40}, kShape = {290, 16};
  const Image image = testing::Noise(kSource, 5);
  for (int edge = 0; edge < 40; ++edge) {
    const RemapTable table = testing::MakeTable(kSource, kShape, [&](int x, int y) {
      const bool inside = x >= edge && x < kShape.width - edge && x / 40 % 3 != 1 && y < 12;
      return inside ? EntryAt(x + 0.25, y + 0.75) : RemapTable::Entry();
    });
    ASSERT_TRUE(IsTheReference(image, table)) << "edge " << edge;
  }
}

TEST(RemapModelTest, UpToTheLargestSizes) {
  constexpr Shape kLarge = {4096, 3000}, kSmall = {61, 40};
  for (const bool from_large : {false, true}) {
    const Shape source = from_large ? kLarge : kSmall, shape = from_large ? Shape{4096, 64} : Shape{4096, 3000};
    const RemapTable table = testing::MakeTable(source, shape, [&](int x, int y) {
      return testing::EntryAt32nds(x * (source.width + 4) / shape.width * 32 + y % 97 - 64,
                                   y * (source.height + 4) / shape.height * 32 + x % 97 - 64);
    });
    ASSERT_TRUE(IsTheReference(testing::Noise(source, 1), table));
  }
}

TEST(RemapModelTest, TablesOfCamerasAreCompact) {
  EXPECT_DOUBLE_EQ(BytesPerPixel(testing::LensTable({640, 480}, {640, 480}, 0.03, 0.8, 0.1)), 2.5);
  EXPECT_LT(BytesPerPixel(testing::LensTable({640, 480}, {640, 480}, 0.03, 1.2, 0.1)), 2.8);
  EXPECT_LT(BytesPerPixel(testing::LensTable({1920, 1080}, {1920, 1080}, 0.03, 1, -0.1)), 2.6);
  // At most 10.5, in whole segments.
  Random random(1);
  EXPECT_LT(BytesPerPixel(testing::WildTable(&random, {100, 100}, {640, 48})), 10.51);
}

TEST(RemapTableTest, EachHasAnIdOfItsOwn) {
  const RemapTable first = testing::LensTable({40, 30}, {40, 30}, 0, 1, 0);
  RemapTable second = testing::LensTable({40, 30}, {40, 30}, 0, 1, 0);
  EXPECT_EQ(RemapTable().id, 0u);
  EXPECT_NE(first.id, 0u);
  EXPECT_NE(first.id, second.id);
  const uint64_t before = second.id;
  MakeBlocks(&second);
  EXPECT_NE(second.id, before);
  EXPECT_NE(second.id, first.id);
}

}  // namespace
}  // namespace glint::cuda
