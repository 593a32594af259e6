// The quadtree's rounds (cuda/select/quadtree_rounds.h), run as a block of one thread, against
// features/reference/quadtree.h. Needs no GPU; what threads do side by side, select_stages_test.cc tests.
#include "cuda/select/quadtree_rounds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cuda/plan/quadtree_plan.h"
#include "features/reference/quadtree.h"
#include "gtest/gtest.h"
#include "tests/support/options.h"
#include "tests/support/random.h"

namespace glint::cuda {
namespace {

using reference::Corner;
using testing::Random;

// One thread.
struct SerialBlock {
  static constexpr uint32_t kThreads = 1;
  static constexpr uint32_t kLanes = 1;
  static constexpr uint32_t kGroup = 1;

  uint32_t thread() const { return 0; }
  uint32_t warp() const { return 0; }
  uint32_t lane() const { return 0; }
  uint32_t group() const { return 0; }
  uint32_t group_lane() const { return 0; }
  void Sync() const {}
  void SyncWarp() const {}
  uint32_t Ballot(bool b) const { return b ? 1 : 0; }
  uint32_t LanesBelow(uint32_t) const { return 0; }
  uint64_t GroupMax(uint64_t v) const { return v; }
  uint32_t SumBefore(uint32_t v, uint32_t* total) const {
    *total = v;
    return 0;
  }
};

bool RasterBefore(const Corner& a, const Corner& b) { return std::pair(a.y, a.x) < std::pair(b.y, b.x); }

// Corners of a level in the order that decides between equals: cells row by row, then raster.
void SortByCell(const QuadtreeLevel& tree, std::vector<Corner>* corners) {
  std::sort(corners->begin(), corners->end(), RasterBefore);
  std::stable_sort(corners->begin(), corners->end(), [&](const Corner& a, const Corner& b) {
    const auto cell = [&](const Corner& c) {
      return std::pair((c.y - kQuadtreeEdge) / tree.down.cell, (c.x - kQuadtreeEdge) / tree.across.cell);
    };
    return cell(a) < cell(b);
  });
}

std::vector<Corner> Distributed(const std::vector<Corner>& corners, const QuadtreeLevel& tree, Shape shape, int share) {
  std::vector<QuadtreeCorner> found;
  for (const Corner& c : corners) {
    const int x = c.x - kQuadtreeEdge;
    const int y = c.y - kQuadtreeEdge;
    const uint32_t place =
        PackPlace(x / tree.across.cell, y / tree.down.cell, x % tree.across.cell, y % tree.down.cell);
    const uint32_t bin = QuadtreeBinOf(tree, c.x - kQuadtreeBorder, c.y - kQuadtreeBorder);
    EXPECT_LT(bin, static_cast<uint32_t>(tree.bins()));
    found.push_back({place, bin << 8 | static_cast<uint32_t>(c.response)});
  }
  // Within a bin in any order: the reverse.
  std::reverse(found.begin(), found.end());
  std::stable_sort(found.begin(), found.end(), [](const QuadtreeCorner& a, const QuadtreeCorner& b) {
    return a.score_and_bin >> 8 < b.score_and_bin >> 8;
  });
  std::vector<uint32_t> begin(static_cast<size_t>(tree.bins()) + 1);
  for (const QuadtreeCorner& c : found) ++begin[(c.score_and_bin >> 8) + 1];
  for (size_t b = 1; b < begin.size(); ++b) begin[b] += begin[b - 1];

  const auto room = static_cast<int>(MostQuadtreeNodes(shape, share));
  std::vector<QuadtreeOrder> memory(static_cast<size_t>(QuadtreeNodeBytes(room)) / sizeof(QuadtreeOrder) + 1);
  std::vector<QuadtreeCorner> spare(found.size());
  QuadtreeProgress progress{};
  const SerialBlock block;
  QuadtreeRounds<SerialBlock> rounds(block, tree, begin.data(), found.data(), spare.data(),
                                     PlaceQuadtreeNodes(reinterpret_cast<uint8_t*>(memory.data()), room), &progress);
  std::vector<Corner> kept(static_cast<size_t>(room), Corner{-1, -1, 0});
  const uint32_t count = rounds.Run([&](uint32_t i, const QuadtreeCorner& c) {
    ASSERT_LT(i, kept.size());
    kept[i] = {PlaceX(c.place, tree.across.cell) + kQuadtreeBorder, PlaceY(c.place, tree.down.cell) + kQuadtreeBorder,
               static_cast<float>(c.score_and_bin & 0xff)};
  });
  EXPECT_LE(count, kept.size());
  kept.resize(count);
  std::sort(kept.begin(), kept.end(), RasterBefore);
  return kept;
}

void ExpectReference(std::vector<Corner> corners, Shape shape, int share) {
  const QuadtreeLevel tree = DivideQuadtreeLevel(shape, share);
  SortByCell(tree, &corners);
  std::vector<Corner> expected = reference::Distribute(corners, shape, share);
  std::sort(expected.begin(), expected.end(), RasterBefore);
  if (corners.empty()) return;  // the kernel does not begin
  EXPECT_EQ(Distributed(corners, tree, shape, share), expected)
      << corners.size() << " corners, " << shape.width << "x" << shape.height << ", share " << share;
}

// Crowded in places, with many ties, of any share.
TEST(QuadtreeRounds, EqualTheReferenceOnRandomCorners) {
  Random random(3);
  for (int i = 0; i < testing::Repetitions(3000); ++i) {
    const bool is_long = random.OneIn(6);
    const Shape shape = {random.Uniform(62, is_long ? 4000 : 900), random.Uniform(62, is_long ? 130 : 500)};
    const int crowd = random.OneIn(2) ? 12 : 4000;
    const int center_x = random.Uniform(kQuadtreeEdge, shape.width - kQuadtreeEdge - 1);
    const int center_y = random.Uniform(kQuadtreeEdge, shape.height - kQuadtreeEdge - 1);
    const int best = random.OneIn(2) ? 22 : 200;
    std::vector<Corner> corners;
    for (int n = random.Uniform(1, random.OneIn(20) ? 3000 : 300); n > 0; --n) {
      const auto near = [&](int center, int side) {
        return std::clamp(center + random.Uniform(-crowd, crowd), kQuadtreeEdge, side - kQuadtreeEdge - 1);
      };
      const int x = near(center_x, shape.width);
      corners.push_back({x, near(center_y, shape.height), static_cast<float>(random.Uniform(20, best))});
    }
    std::sort(corners.begin(), corners.end(), RasterBefore);
    corners.erase(std::unique(corners.begin(), corners.end(),
                              [](const Corner& a, const Corner& b) { return a.x == b.x && a.y == b.y; }),
                  corners.end());
    ExpectReference(corners, shape, random.OneIn(3) ? random.Uniform(0, 9) : random.Uniform(0, 1500));
  }
}

// Widths whose roots' float edges are not where positions change roots: a node beside its own right edge has no width.
TEST(QuadtreeRounds, EqualTheReferenceAtTheEdgesOfRoots) {
  for (int width = 62; width < 16384; width += 61) {
    const Shape shape = {width, 62 + width % 7};
    const QuadtreeLevel tree = DivideQuadtreeLevel(shape, 1);
    std::vector<Corner> corners;
    for (int i = 1; i < tree.roots.count; ++i) {
      for (int x = tree.roots.Edge(i) - 1; x <= tree.roots.Edge(i) + 1; ++x) {
        for (const int y : {20, 21, 30}) {
          if (x < 3 || x + 3 >= tree.across.size) continue;
          corners.push_back({x + kQuadtreeBorder, y, 50});
        }
      }
    }
    for (const int share : {1, 7, tree.roots.count * 5, 10000}) ExpectReference(corners, shape, share);
  }
}

TEST(QuadtreeRounds, BinsAreAsManyAsThereAreCountersFor) {
  for (const Shape shape : {Shape{62, 62}, Shape{62, 16384}, Shape{16384, 62}, Shape{752, 480}, Shape{16384, 8192}}) {
    const QuadtreeLevel tree = DivideQuadtreeLevel(shape, 100);
    EXPECT_LE(tree.bins(), kMaxQuadtreeBins);
    EXPECT_GT(4 * tree.bins(), kMaxQuadtreeBins);
  }
  EXPECT_EQ(DivideQuadtreeLevel({61, 500}, 100).across.cells, 0);
  EXPECT_EQ(DivideQuadtreeLevel({500, 61}, 100).across.cells, 0);
}

}  // namespace
}  // namespace glint::cuda
