// Rectified rows as a source of pixels of lanes.
#include "lane/rectified_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "features/reference/remap.h"
#include "gtest/gtest.h"
#include "lane/lane.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"
#include "tests/support/remap_cases.h"

namespace glint {
namespace {

// An image without a view, which counts the rows that are asked for.
class CountedRows final : public PixelRows {
 public:
  explicit CountedRows(Image image) : image_(std::move(image)) {}
  Shape shape() const override { return image_.shape(); }
  void CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const override {
    copied += count;
    for (int y = 0; y < count; ++y) {
      std::memcpy(to + y * stride, image_.row(first + y), static_cast<size_t>(image_.width()));
    }
  }
  const Image& image() const { return image_; }

  mutable int copied = 0;

 private:
  Image image_;
};

Image Rectified(const ImageView& source, const RemapTable& table) {
  Image image;
  reference::Remap(source, table, &image);
  return image;
}

// The rows in bands, the last first.
Image InBands(const PixelRows& rows, int band) {
  Image image(rows.shape().width, rows.shape().height);
  for (int end = image.height(); end > 0; end -= band) {
    const int first = std::max(end - band, 0);
    rows.CopyRows(first, end - first, image.row(first), image.stride());
  }
  return image;
}

TEST(RectifiedRowsTest, OfAViewAndOfRows) {
  const CountedRows source(testing::Texture({211, 120}, 1));
  const RemapTable table = testing::LensTable({211, 120}, {180, 101}, 0.02, 1.05, -0.1);
  const Image expected = Rectified(source.image(), table);
  RectifiedRows rows;
  for (const Pixels& pixels : {Pixels(source.image()), Pixels(&source)}) {
    rows.Use(pixels, table);
    EXPECT_EQ(rows.shape(), table.shape);
    for (const int band : {101, 16, 1}) EXPECT_TRUE(testing::SamePixels(expected, InBands(rows, band)));
  }
  EXPECT_EQ(source.copied, 120);
}

TEST(RectifiedRowsTest, OfOneImageAfterAnother) {
  RectifiedRows rows;
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    const Shape shape = {static_cast<int>(90 + 7 * (seed % 3)), 70};
    const CountedRows source(testing::Texture(shape, seed));
    const RemapTable table = testing::LensTable(shape, {64, 48}, 0.01 * seed, 1, 0.1);
    rows.Use(Pixels(&source), table);
    EXPECT_TRUE(testing::SamePixels(Rectified(source.image(), table), InBands(rows, 48)));
    EXPECT_EQ(source.copied, shape.height);
  }
}

TEST(RectifiedRowsTest, TheSourceIsLoadedOnce) {
  const CountedRows source(testing::Texture({90, 70}, 1));
  const RemapTable table = testing::LensTable({90, 70}, {64, 48}, 0.01, 1, 0.1);
  RectifiedRows rows;
  rows.Use(Pixels(&source), table);
  EXPECT_TRUE(rows.remap()->source.view.empty());
  rows.LoadSource();
  EXPECT_TRUE(testing::SamePixels(source.image(), rows.remap()->source.view));
  EXPECT_TRUE(testing::SamePixels(Rectified(source.image(), table), InBands(rows, 16)));
  EXPECT_EQ(source.copied, 70);
}

TEST(RectifiedRowsTest, ALaneDetectsInThem) {
  LaneOptions lane_options;
  lane_options.backend = Backend::kCpu;
  lane_options.lanes = 1;
  absl::StatusOr<LaneSet> set = CreateLanes(lane_options);
  ASSERT_TRUE(set.ok()) << set.status();
  const CountedRows source(testing::Texture({400, 300}, 3));
  const RemapTable table = testing::LensTable({400, 300}, {400, 300}, 0.02, 0.9, 0.1);
  const Image rectified = Rectified(source.image(), table);
  RectifiedRows rows;
  rows.Use(Pixels(&source), table);
  Features expected, actual;
  StageTimes times;
  Lane& lane = *set->lanes[0];
  ASSERT_TRUE(lane.Run(testing::OrbOptions(), rectified, {}, &expected, &times).ok());
  ASSERT_TRUE(lane.Run(testing::OrbOptions(), Pixels(&rows), {}, &actual, &times).ok());
  EXPECT_GT(actual.count(), 100u);
  EXPECT_TRUE(testing::SameFeatures(expected, actual));
  EXPECT_EQ(source.copied, 300);
}

}  // namespace
}  // namespace glint
