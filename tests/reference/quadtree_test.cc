// The stages of Selection::kQuadtree on cases with known answers.
#include "features/reference/quadtree.h"

#include <vector>

#include "features/quadtree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"

namespace glint::reference {
namespace {

using ::testing::ElementsAre;
using testing::Flat;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr int kGround = 100;
// Two cells side by side, of centres at 19..48 and 49..72, 30 rows of which 24 hold centres.
constexpr Shape kTwoCells = {92, 62};
// A rectangle of 200x200 is divided, by one root.
constexpr Shape kSquare = {232, 232};

// In the square's rectangle.
Corner At(int x, int y, float response) { return {x + kQuadtreeBorder, y + kQuadtreeBorder, response}; }

TEST(QuadtreeGeometry, CellsAndRoots) {
  EXPECT_EQ(DivideQuadtreeAxis(61).cells, 0);
  EXPECT_EQ(DivideQuadtreeAxis(62).cells, 1);
  EXPECT_EQ(DivideQuadtreeAxis(91).cell, 59);
  EXPECT_EQ(DivideQuadtreeAxis(752).cells, 24);
  EXPECT_EQ(DivideQuadtreeAxis(752).cell, 30);
  EXPECT_EQ(MakeQuadtreeRoots(720, 448).count, 2);  // 1.61
  EXPECT_EQ(MakeQuadtreeRoots(300, 200).count, 2);  // halves up
  EXPECT_EQ(MakeQuadtreeRoots(100, 900).count, 1);
  const QuadtreeRoots roots = MakeQuadtreeRoots(601, 400);
  EXPECT_EQ(roots.count, 2);
  EXPECT_EQ(roots.Edge(1), 300);  // of 300.5
  EXPECT_EQ(roots.Of(300), 0);    // beyond the edge of its root
  EXPECT_EQ(roots.Of(301), 1);
}

TEST(DetectInCells, TheLowThresholdIsForCellsWithoutCorners) {
  Image level = Flat(kTwoCells, kGround);
  level.row(30)[30] = kGround + 50;
  level.row(30)[40] = kGround + 10;  // in the same cell
  level.row(30)[60] = kGround + 10;
  EXPECT_THAT(DetectInCells(level, 20, 7), ElementsAre(Corner{30, 30, 49}, Corner{60, 30, 9}));
  EXPECT_THAT(DetectInCells(level, 5, 5), ElementsAre(Corner{30, 30, 49}, Corner{40, 30, 9}, Corner{60, 30, 9}));
  EXPECT_THAT(DetectInCells(level, 60, 51), IsEmpty());
}

TEST(DetectInCells, SuppressionEndsAtCells) {
  Image level = Flat(kTwoCells, kGround);
  level.row(25)[48] = level.row(25)[49] = kGround + 50;  // neighbours in different cells
  level.row(35)[30] = level.row(35)[31] = kGround + 50;  // in the same cell: neither is greater
  EXPECT_THAT(DetectInCells(level, 20, 7), ElementsAre(Corner{48, 25, 49}, Corner{49, 25, 49}));
}

TEST(DetectInCells, CornersKeepAway) {
  Image level = Flat(kTwoCells, kGround);
  for (const int x : {18, 19, 72, 73}) level.row(30)[x] = kGround + 50;
  level.row(18)[40] = level.row(43)[40] = kGround + 50;
  // 18 and 19 are neighbours, but one of them is outside.
  EXPECT_THAT(DetectInCells(level, 20, 7), ElementsAre(Corner{19, 30, 49}, Corner{72, 30, 49}));
  EXPECT_THAT(DetectInCells(Flat({92, 61}, 3), 20, 7), IsEmpty());
}

TEST(Distribute, KeepsTheBestOfANodeTheFirstOfEquals) {
  EXPECT_THAT(Distribute({At(10, 10, 5), At(12, 10, 9), At(14, 10, 9)}, kSquare, 1), ElementsAre(At(12, 10, 9)));
  EXPECT_THAT(Distribute({}, kSquare, 9), IsEmpty());
}

TEST(Distribute, SplitsEveryRootOnce) {
  const std::vector<Corner> corners = {At(10, 10, 5), At(110, 10, 6), At(10, 110, 7), At(110, 110, 8)};
  EXPECT_THAT(Distribute(corners, kSquare, 1), UnorderedElementsAre(corners[0], corners[1], corners[2], corners[3]));
}

TEST(Distribute, OfEqualNodesTheRightOneIsSplitFirst) {
  const std::vector<Corner> corners = {At(110, 10, 3), At(190, 10, 4), At(10, 150, 7), At(90, 150, 8)};
  EXPECT_THAT(Distribute(corners, kSquare, 3), UnorderedElementsAre(corners[0], corners[1], corners[3]));
}

TEST(Distribute, TheFullestNodeIsSplitFirst) {
  const std::vector<Corner> corners = {At(110, 10, 3), At(190, 10, 4), At(10, 150, 7), At(90, 150, 8), At(12, 150, 1)};
  EXPECT_THAT(Distribute(corners, kSquare, 3), UnorderedElementsAre(corners[1], corners[2], corners[3]));
}

TEST(Distribute, EndsWhenAPassAddsNoNode) {
  EXPECT_THAT(Distribute({At(10, 10, 5), At(90, 90, 9)}, kSquare, 100), ElementsAre(At(90, 90, 9)));
}

}  // namespace
}  // namespace glint::reference
