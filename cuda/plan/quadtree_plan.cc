#include "cuda/plan/quadtree_plan.h"

#include <algorithm>

#include "cuda/plan/tiling.h"

namespace glint::cuda {
namespace {

// Pixels with centres, and cells with any, along an axis.
int CentresOf(const QuadtreeAxis& axis) { return axis.cells > 0 ? axis.size - 2 * kFastRadius : 0; }
int SearchedCells(const QuadtreeAxis& axis) { return axis.cells > 0 ? DivideUp(CentresOf(axis), axis.cell) : 0; }

// What suppression can leave along an axis: every other pixel of each cell.
size_t MostAlong(const QuadtreeAxis& axis) {
  size_t most = 0;
  for (int first = 0; first < CentresOf(axis); first += axis.cell) {
    most += static_cast<size_t>(DivideUp(std::min(axis.cell, CentresOf(axis) - first), 2));
  }
  return most;
}

}  // namespace

size_t MostQuadtreeNodes(Shape level, int share) {
  // The first pass splits every root; later ones begin only if they cannot exceed the share, or end when they reach it
  // with a split, which adds 3 nodes at most.
  const QuadtreeLevel tree = DivideQuadtreeLevel(level, share);
  return std::max(size_t{4} * tree.roots.count, static_cast<size_t>(share) + 3);
}

QuadtreeLevel DivideQuadtreeLevel(Shape level, int share) {
  QuadtreeLevel tree{};
  tree.across = DivideQuadtreeAxis(level.width);
  tree.down = DivideQuadtreeAxis(level.height);
  tree.share = share;
  if (tree.across.cells == 0 || tree.down.cells == 0) tree.across.cells = tree.down.cells = 0;
  if (tree.across.cells == 0) return tree;
  tree.roots = MakeQuadtreeRoots(tree.across.size, tree.down.size);
  while (tree.roots.count << 2 * (tree.depth + 1) <= kMaxQuadtreeBins) ++tree.depth;
  return tree;
}

QuadtreePlan::QuadtreePlan(const DetectorOptions& options, const Frame& frame, const AddScratch& add_scratch) {
  params_.ini_threshold = options.ini_fast_threshold;
  params_.min_threshold = options.min_fast_threshold;
  for (int l = 0; l < frame.levels; ++l) {
    const Level& level = frame.level[l];
    QuadtreeLevel& tree = params_.level[l];
    const Shape shape = {level.width, level.height};
    tree = DivideQuadtreeLevel(shape, level.first_share);
    tree.room = static_cast<int>(MostQuadtreeNodes(shape, level.first_share));
    tree.first_tile = params_.tiles;
    if (tree.across.cells > 0) {
      tree.tile_cells = kCellTileColumns / tree.across.cell;
      tree.tiles_x = DivideUp(SearchedCells(tree.across), tree.tile_cells);
      params_.tiles += tree.tiles_x * SearchedCells(tree.down);
      const size_t most = MostAlong(tree.across) * MostAlong(tree.down);
      found_offset_[l] = add_scratch(most * sizeof(QuadtreeCorner));
      sorted_offset_[l] = add_scratch(most * sizeof(QuadtreeCorner));
      nodes_offset_[l] = add_scratch(static_cast<size_t>(QuadtreeNodeBytes(tree.room)));
    }
    // The corner stage runs in any case, if only to clear counters.
    if (l == 0) params_.tiles = std::max(params_.tiles, 1);
  }
}

QuadtreeParams QuadtreePlan::Place(uint8_t* scratch) const {
  QuadtreeParams params = params_;
  for (int l = 0; l < kMaxLevels; ++l) {
    QuadtreeLevel& tree = params.level[l];
    tree.found = reinterpret_cast<QuadtreeCorner*>(scratch + found_offset_[l]);
    tree.sorted = reinterpret_cast<QuadtreeCorner*>(scratch + sorted_offset_[l]);
    if (tree.room > kSharedQuadtreeNodes) tree.nodes = scratch + nodes_offset_[l];
  }
  return params;
}

}  // namespace glint::cuda
