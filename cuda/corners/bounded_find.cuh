// The corner stage's kernel: corners of all levels in one launch, for any score, bounded arcs and suppression of any
// radius; what survives goes to the candidates or, in the same pass, to the cells that it falls in.
//
// A block tests a tile of 128 x 32 pixels of one level, or of 24 rows, and owns the 120 x (32 - 2 radius) in the
// middle, 112 for a large radius, so that the rings of all that matters lie within the tile. A lane owns one word of
// four neighbouring pixels and walks down the rows of its warp with the ring's rows in registers; a conservative test
// of the ring's even pixels (segment_test.cuh), four pixels at once, marks what may be a corner, by polarity. The
// marked pixels of the block are listed, and the list is shared out among its warps, which decide exactly and score
// with all lanes (ring.cuh). Survivors of suppression are listed again, and go to their cells by 64-bit atomic maxima,
// which make the winner independent of order.
//
// For cells and a radius of at most kMaxTileCellRadius, a tile's part of a cell is a tile cell (tile_cells.cuh). With
// kTileCells nothing is suppressed but what may be a tile cell's best corner. Where tiles are few, blocks get to their
// cells all at once: there the best survivor of each tile cell goes to its cell. The last block may rank what the cells
// keep (last_block_rank.cuh).
//
// Shared memory, dynamic: pixels (pitch 144), scores, list, and for CornerOutput::kList a histogram: 26 KiB, with
// Harris 35 KiB, less 4 KiB without the histogram.
#ifndef GLINT_CUDA_CORNERS_BOUNDED_FIND_CUH_
#define GLINT_CUDA_CORNERS_BOUNDED_FIND_CUH_

#include <cstddef>

#include "cuda/corners/bounded_steps.cuh"
#include "cuda/corners/bounded_tile.cuh"
#include "cuda/corners/tile_cells.cuh"
#include "cuda/select/last_block_rank.cuh"

namespace glint::cuda {

inline constexpr int kThreadsPerMultiprocessor = 1024;

// Which kernels have code for SelectionParams::ranks_in_last_block.
template <Score kScore, BoundedTiles kTiles>
inline constexpr bool kRanks = kScore != Score::kHarris &&
                               (kTiles == BoundedTiles::kTileCells || kTiles == BoundedTiles::kFew);

template <int kArc, Score kScore, BoundedTiles kTiles>
__global__ void __launch_bounds__(ShapeOf(kScore, kTiles).warps* kWarp,
                                  (kScore == Score::kHarris ? 640 : kThreadsPerMultiprocessor) /
                                      (ShapeOf(kScore, kTiles).warps * kWarp))
    FindBoundedCornersKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  extern __shared__ __align__(16) uint8_t memory[];
  using TileType = Tile<kScore, kTiles>;
  auto& tile = *reinterpret_cast<TileType*>(memory);
  constexpr int kRowsPerWarp = TileType::kRowsPerWarp;
  constexpr int kTestedRows = TileType::kTestedRows;
  constexpr int kThreads = TileType::kWarps * kWarp;
  constexpr bool kTileCells = kTiles == BoundedTiles::kTileCells;
  constexpr bool kTellsApart = kTileCells || kCollects<kScore, kTiles>;

  AllowSuccessor();
  const TilePlace place = PlaceOfTile<kScore, kTiles>(frame, params);
  const Level& level = frame.level[place.l];
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;

  // Level 0 was there before the frame's first kernel: its tiles need not wait for the pyramid.
  if (place.l > 0 || blockIdx.x == gridDim.x - 1) WaitForPredecessor();
  LoadTile<kThreads>(level, place.x0, place.y0 - kFastRadius, tile.pixels);

  // While the pixels are on their way.
  ClearTile<kThreads>(params, tile);
  const bool by_tile_cells = kTellsApart && params.level[place.l].tile_cells_x > 0;
  const auto region = [&] {
    return OwnedRegionOf(frame, level, place.x0, place.y0, place.margin, params.radius, kTestedRows);
  };
  OwnedRegion owned;
  if (kTellsApart) {
    owned = region();
    if (by_tile_cells) BeginTileCells(frame, params, place.l, owned, tile);
  }
  ClearRankCounters(frame);
  const uint32_t buffer = BeginBuffer(params);
  WaitForCopies();
  __syncthreads();

  const uint32_t matters = MaskOfRegion<kRowsPerWarp>(frame, level, place, params.radius);
  const SegmentMarks may_be =
      MarkRows<kArc, kRowsPerWarp>(&tile.pixels[warp * kRowsPerWarp][4 * lane], frame.threshold);
  ListMarked<kArc>({may_be.bright & matters, may_be.dark & matters}, tile);
  __syncthreads();

  const WarpList list = ListOfWarp(tile);
  if (!kTellsApart) owned = region();
  const int corners = ScoreMarked<kArc>(frame, params, place, owned, by_tile_cells, list, tile);
  __syncthreads();

  const auto cells = [&] { return params.cells + buffer * params.cell_count; };
  if (kTileCells && by_tile_cells) UpdateCellsFromTile(frame, params, place.l, owned, tile, cells());
  const int kept = Suppress(frame, params, place, by_tile_cells, list, corners, tile);
  if (params.output != CornerOutput::kImageCells && params.output != CornerOutput::kLevelCells) {
    PutIntoCandidates<kThreads>(frame, params, place, list, kept, tile);
    return;
  }
  PutIntoCells(frame, params, place, by_tile_cells, list, kept, tile, cells());
  if (kRanks<kScore, kTiles> && params.ranks_in_last_block) {
    LastBlockRank<kScore, kThreads>(frame, params, buffer, *reinterpret_cast<LastBlockMemory*>(memory));
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_BOUNDED_FIND_CUH_
