#include "cuda/plan/tiling.h"

#include <algorithm>

namespace glint::cuda {
namespace {

int BorderOf(const DetectorOptions& options) { return std::max(options.edge_threshold, kFastRadius); }

}  // namespace

int StripsIn(const DetectorOptions& options, const Frame& frame, const Level& level, int rows) {
  const int border = BorderOf(options);
  const bool strips = frame.corners == CornerBlocks::kStrips;
  const int tested = strips ? frame.strip_steps * kStep : TileRows(frame.corners == CornerBlocks::kQuickTiles);
  const int owned = tested - 2;  // rows of a strip
  const int all = DivideUp(std::max(level.height - 2 * border, 0), owned);
  const int room = rows - border - kHarrisRadius - 1;  // for owned rows, and one more
  const int down = rows == level.height ? all : std::min(std::max(room, 0) / owned, all);
  return level.strips_x * down;
}

void CountBlocks(Frame* frame) {
  frame->corner_blocks = 0;
  for (int l = 0; l < frame->levels; ++l) {
    Level& level = frame->level[l];
    level.first_block = frame->corner_blocks;
    const int per_block = frame->corners == CornerBlocks::kStrips ? kStripWarps : 1;
    frame->corner_blocks += DivideUp(level.end_strip - level.first_strip, per_block);
    // The corner stage runs in any case, if only to clear counters.
    if (l == 0) frame->corner_blocks = std::max(frame->corner_blocks, 1);
  }
}

void DivideForCorners(const DetectorOptions& options, CornerBlocks kind, int steps, Frame* frame) {
  frame->corners = kind;
  frame->strip_steps = steps;
  const int border = BorderOf(options);
  for (int l = 0; l < frame->levels; ++l) {
    Level& level = frame->level[l];
    level.strip_x0 = (border - kHaloX) & ~3;
    const int columns = level.width - border - (level.strip_x0 + kHaloX);
    level.strips_x = level.width > 2 * border ? DivideUp(columns, kOwnedColumns) : 0;
    level.end_strip = StripsIn(options, *frame, level, level.height);
  }
  CountBlocks(frame);
}

void DivideForBoundedCorners(const DetectorOptions& options, const Frame& frame, BoundedTiles kind,
                             SelectionParams* params) {
  const int border = BorderOf(options);
  const int radius = options.suppression_radius;
  const int halo = BoundedHaloX(radius);
  const int owned_rows = ShapeOf(options.score, kind).TestedRows() - 2 * radius;
  params->tiles = 0;
  for (int l = 0; l < frame.levels; ++l) {
    const Level& level = frame.level[l];
    LevelParams& tiles = params->level[l];
    tiles.first_tile = params->tiles;
    tiles.tile_x0 = (border - halo) & ~(kBoundedAlignment - 1);
    tiles.tile_y0 = border - radius;
    tiles.tiles_x = 1;
    const int columns = level.width - border - (tiles.tile_x0 + halo);
    const int rows = level.height - 2 * border;
    if (level.width > 2 * border && rows > 0) {
      tiles.tiles_x = DivideUp(columns, kBoundedTestedColumns - 2 * halo);
      params->tiles += tiles.tiles_x * DivideUp(rows, owned_rows);
    }
    // The corner stage runs in any case, if only to clear counters.
    if (l == 0) params->tiles = std::max(params->tiles, 1);
  }
}

DenseTiling DenseTilingOf(int width, int block_radius, int radius) {
  const StripSpan span = SpanOf(block_radius, radius);
  const bool three = radius == 1;
  const int warps = three ? kTileWarps<true> : kTileWarps<false>;
  const int rows = three ? kTileRows<true> : kTileRows<false>;
  return {DivideUp(width + LeadOf(span) - span.first, span.columns), warps,
          (rows - 2 * (block_radius + radius)) / warps / 2 * 2};
}

}  // namespace glint::cuda
