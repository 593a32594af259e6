// What the stages of Selection::kQuadtree share beyond Frame: cells, tiles of cells, the quadtree's memory. Pointers
// are device addresses.
//
// A quadtree's bins are its nodes `depth` levels below the roots, in depth-first order: a node that is not deeper has
// the corners of consecutive bins.
#ifndef GLINT_CUDA_PLAN_QUADTREE_PARAMS_H_
#define GLINT_CUDA_PLAN_QUADTREE_PARAMS_H_

#include <cstdint>

#include "cuda/plan/frame.h"
#include "features/quadtree.h"

namespace glint::cuda {

inline constexpr int kMaxQuadtreeBins = kScores;  // Counters::histogram has the counts

// A corner in a cell. Of equal scores in a node, the one with the lesser `place` is kept.
struct alignas(8) QuadtreeCorner {
  uint32_t place;          // row and column of the cell, 10 bits each; row and column within the cell, 6 bits each
  uint32_t score_and_bin;  // FAST score in the lowest byte, the bin above it
};
static_assert(kMaxImageSide / kQuadtreeCell < 1 << 10 && 2 * kQuadtreeCell < 1 << 6);

GLINT_HD constexpr uint32_t PackPlace(int cell_x, int cell_y, int x, int y) {
  return static_cast<uint32_t>(cell_y) << 22 | static_cast<uint32_t>(cell_x) << 12 | static_cast<uint32_t>(y) << 6 |
         static_cast<uint32_t>(x);
}
// Positions from the corner of the divided rectangle. `cell`: QuadtreeAxis::cell.
GLINT_HD constexpr int PlaceX(uint32_t place, int cell) {
  return static_cast<int>(place >> 12 & 0x3ff) * cell + static_cast<int>(place & 0x3f) + kFastRadius;
}
GLINT_HD constexpr int PlaceY(uint32_t place, int cell) {
  return static_cast<int>(place >> 22) * cell + static_cast<int>(place >> 6 & 0x3f) + kFastRadius;
}

// A rectangle, from the corner of the divided one, and the corners in it.
struct QuadtreeNode {
  uint32_t first, count;  // of the sorted corners
  uint16_t left, top, right, bottom;
  uint16_t bin;    // its first
  uint16_t below;  // levels of bins below it; 0: it is a bin, or part of one
};

// Where the corners of a node's quadrants begin: upper left at the node's first, then the upper right, the lower left,
// the lower right.
struct QuadtreeQuadrants {
  uint32_t begin[3];
};

// A node's place among those that are split one after another: by `rank` descending, then by index descending.
struct alignas(16) QuadtreeOrder {
  uint64_t rank;   // number of corners, left edge, upper edge
  uint32_t index;  // of the node: those made later have greater ones
};

// Nodes of one level, of each kind `room`.
struct QuadtreeNodes {
  QuadtreeNode* open[2];         // with several corners, in the order in which they were made; double buffer
  QuadtreeQuadrants* quadrants;  // of the open ones
  QuadtreeOrder* order;          // likewise; room is rounded up to a power of 2
};

GLINT_HD constexpr int PowerOfTwoFrom(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}
GLINT_HD constexpr int64_t QuadtreeNodeBytes(int room) {
  return static_cast<int64_t>(sizeof(QuadtreeOrder)) * PowerOfTwoFrom(room) +
         static_cast<int64_t>(2 * sizeof(QuadtreeNode) + sizeof(QuadtreeQuadrants)) * room;
}
// `memory`: QuadtreeNodeBytes(), 16-byte aligned.
GLINT_HD inline QuadtreeNodes PlaceQuadtreeNodes(uint8_t* memory, int room) {
  QuadtreeNodes nodes;
  nodes.order = reinterpret_cast<QuadtreeOrder*>(memory);
  nodes.open[0] = reinterpret_cast<QuadtreeNode*>(nodes.order + PowerOfTwoFrom(room));
  nodes.open[1] = nodes.open[0] + room;
  nodes.quadrants = reinterpret_cast<QuadtreeQuadrants*>(nodes.open[1] + room);
  return nodes;
}

struct QuadtreeLevel {
  QuadtreeAxis across, down;
  QuadtreeRoots roots;
  int depth;
  int share;  // nodes wanted
  int room;   // most nodes there can be
  // Tiles of the corner stage, whole cells side by side: those of all levels follow each other.
  int first_tile;
  int tiles_x;
  int tile_cells;
  QuadtreeCorner* found;   // by the corner stage, Counters::found of them, in any order
  QuadtreeCorner* sorted;  // by bin, if there are more than kSharedQuadtreeCorners; room for as many as `found`
  uint8_t* nodes;          // null: in shared memory

  GLINT_HD int bins() const { return roots.count << 2 * depth; }
};

struct QuadtreeParams {
  int ini_threshold;
  int min_threshold;
  int tiles;
  QuadtreeLevel level[kMaxLevels];
};

// Shared memory of the block that has a level's quadtree: where bins begin, nodes if there is room, corners if there
// is.
inline constexpr int kSharedQuadtreeNodes = 320;
inline constexpr int kSharedQuadtreeCorners = 2800;
inline constexpr int kQuadtreeBinBytes = (kMaxQuadtreeBins + 4) * static_cast<int>(sizeof(uint32_t));
inline constexpr int kQuadtreeSharedBytes = kQuadtreeBinBytes +
                                            static_cast<int>(QuadtreeNodeBytes(kSharedQuadtreeNodes)) +
                                            kSharedQuadtreeCorners * static_cast<int>(sizeof(QuadtreeCorner));
static_assert(kQuadtreeSharedBytes <= 64 * 1024, "what a block may have on every device");

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_QUADTREE_PARAMS_H_
