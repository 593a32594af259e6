#include "server/operations/track/track_cells.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>
#include <vector>

#include "features/reference/reference.h"
#include "tests/support/images.h"

namespace glint {
namespace {

using Keypoint = std::tuple<float, float, float, int>;

// The keypoints in cells that are free.
std::vector<Keypoint> InFreeCells(const Features& found, const TrackCells& cells,
                                  const std::vector<uint8_t>& occupied) {
  std::vector<Keypoint> keypoints;
  for (size_t i = 0; i < found.count(); ++i) {
    if (occupied[cells.IndexOf(found.x[i], found.y[i])] != 0) continue;
    keypoints.emplace_back(found.x[i], found.y[i], found.response[i], found.octave[i]);
  }
  return keypoints;
}

TEST(TrackCellsTest, WhereTheMaskDoesNotMatterFreeCellsKeepTheirKeypoints) {
  std::mt19937 random(5);
  const auto up_to = [&random](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  };
  size_t compared = 0;
  for (int i = 0; i < 60; ++i) {
    DetectorOptions options = *PresetOptions("fast_grid");
    options.levels = up_to(1, 4);
    options.cell_width = up_to(kMinCell, 50);
    options.cell_height = up_to(kMinCell, 50);
    options.suppression_radius = up_to(1, 3);
    const Shape shape = {up_to(16, 200), up_to(16, 150)};
    const TrackCells cells(options, shape);
    options.max_features = static_cast<int>(cells.count());
    ASSERT_FALSE(cells.MaskMatters(options));

    const Image image = testing::Noise(shape, random());
    std::vector<uint8_t> occupied(cells.count());
    for (uint8_t& cell : occupied) cell = random() % 2;
    Image mask;
    cells.DrawMask(occupied, &mask);
    const Features masked = reference::Detect(options, image, mask);
    const Features whole = reference::Detect(options, image, {});
    EXPECT_EQ(InFreeCells(masked, cells, occupied).size(), masked.count());
    EXPECT_EQ(InFreeCells(masked, cells, occupied), InFreeCells(whole, cells, occupied));
    compared += masked.count();
  }
  EXPECT_GT(compared, 500u);
}

TEST(TrackCellsTest, TheMaskMattersToOtherDetectors) {
  const Shape shape = {320, 240};
  DetectorOptions options = *PresetOptions("fast_grid");
  const TrackCells cells(options, shape);  // 10 x 8
  EXPECT_FALSE(cells.MaskMatters(options));
  options.max_features = 79;
  EXPECT_TRUE(cells.MaskMatters(options)) << "the best of all may lie in occupied cells";
  for (const char* preset : {"orb", "oriented_fast", "pyca", "bfrost", "harris", "orbslam"}) {
    EXPECT_TRUE(cells.MaskMatters(*PresetOptions(preset))) << preset;
  }
  options = *PresetOptions("fast_grid");
  options.pyramid = Pyramid::kCascaded;
  EXPECT_TRUE(cells.MaskMatters(options)) << "a level's pixel may lie in another cell than its keypoint";
  options.levels = 1;
  EXPECT_FALSE(cells.MaskMatters(options));
}

}  // namespace
}  // namespace glint
