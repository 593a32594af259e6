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

#include "cuda/common/sort_key.cuh"
#include "cuda/common/suppression.cuh"
#include "cuda/corners/bounded_tile.cuh"
#include "cuda/corners/harris.cuh"
#include "cuda/corners/tile_cells.cuh"
#include "cuda/select/buckets.cuh"
#include "cuda/select/cells.cuh"
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
  using Response = typename TileType::Response;
  auto& tile = *reinterpret_cast<TileType*>(memory);
  constexpr int kRowsPerWarp = TileType::kRowsPerWarp;
  constexpr int kTestedRows = TileType::kTestedRows;
  constexpr int kWarps = TileType::kWarps;
  constexpr int kThreads = kWarps * kWarp;
  // Only the best survivor of a tile cell goes to its cell.
  constexpr bool kCollects = kTiles == BoundedTiles::kFew && kScore != Score::kHarris;
  constexpr bool kTileCells = kTiles == BoundedTiles::kTileCells;
  constexpr bool kTellsApart = kTileCells || kCollects;

  AllowSuccessor();
  int l = 0;
  while (l + 1 < frame.levels && static_cast<int>(blockIdx.x) >= params.level[l + 1].first_tile) ++l;
  const Level& level = frame.level[l];
  const LevelParams& tiles = params.level[l];
  const int number = blockIdx.x - tiles.first_tile;
  const int radius = params.radius;
  const int border = Max(frame.edge, kFastRadius);
  const int margin = BoundedHaloX(kTileCells ? kMaxTileCellRadius : radius);
  const int columns = kBoundedTestedColumns - 2 * margin;
  const int x0 = tiles.tile_x0 + number % tiles.tiles_x * columns;
  const int y0 = tiles.tile_y0 + number / tiles.tiles_x * (kTestedRows - 2 * radius);
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;

  // Level 0 was there before the frame's first kernel: its tiles need not wait for the pyramid.
  if (l > 0 || blockIdx.x == gridDim.x - 1) WaitForPredecessor();
  LoadTile<kThreads>(level, x0, y0 - kFastRadius, tile.pixels);

  // While the pixels are on their way.
  auto* responses = reinterpret_cast<uint4*>(&tile.response[0][0]);
#pragma unroll 4
  for (int i = threadIdx.x; i < static_cast<int>(sizeof(tile.response) / sizeof(uint4)); i += kThreads) {
    responses[i] = make_uint4(0, 0, 0, 0);
  }
  if (params.output == CornerOutput::kList) {
#pragma unroll 1
    for (int i = threadIdx.x; i < kBins; i += kThreads) tile.histogram[i] = 0;
  }
  if (threadIdx.x == 0) {
    tile.listed = 0;
    tile.tests_both = 0;
  }
  const bool by_tile_cells = kTellsApart && tiles.tile_cells_x > 0;
  OwnedRegion owned;
  if (kTellsApart) {
    owned = OwnedRegionOf(frame, level, x0, y0, margin, radius, kTestedRows);
    if (by_tile_cells) BeginTileCells(frame, params, l, owned, tile);
  }
  ClearRankCounters(frame);
  const uint32_t buffer = BeginBuffer(params);
  WaitForCopies();
  __syncthreads();

  // A pixel matters if it can be a corner and lies in the region or within the radius of it.
  const int x_low = Max(kFastRadius, Max(border, x0 + margin) - radius);
  const int x_high = Min(level.width - Max(kFastRadius, border - radius), x0 + margin + columns + radius);
  const int y_low = Max(kFastRadius, border - radius);
  const int y_high = level.height - y_low;
  const uint32_t matters = ColumnMask(x0 + lane * 4, x_low, x_high) & RowMask(y0 + warp * kRowsPerWarp, y_low, y_high);
  const SegmentMarks may_be =
      MarkRows<kArc, kRowsPerWarp>(&tile.pixels[warp * kRowsPerWarp][4 * lane], frame.threshold);
  ListMarked<kArc>({may_be.bright & matters, may_be.dark & matters}, tile);
  __syncthreads();

  // Each warp's part of the list: whole warps full.
  const auto runs = static_cast<int>((tile.listed + kWarp - 1) / kWarp);
  uint16_t* list = tile.list + warp * runs / kWarps * kWarp;
  const int listed =
      Min((warp + 1) * runs / kWarps * kWarp, static_cast<int>(tile.listed)) - warp * runs / kWarps * kWarp;

  if (!kTellsApart) owned = OwnedRegionOf(frame, level, x0, y0, margin, radius, kTestedRows);
  const unsigned below = (1u << lane) - 1;
  // Decide and score; corners in the region that the tile owns move to the front of the list.
  int corners = 0;
#pragma unroll 1
  for (int first = 0; first < listed; first += kWarp) {
    const int mark = list[Min(first + lane, listed - 1)];
    const int row = (mark >> 11) * kRowsPerWarp + (mark >> 1 & 7);
    const int column = mark >> 4 & 127;
    const uint8_t* centre = &tile.pixels[row + kFastRadius][column];
    uint32_t score = 0;
    bool is_dark = (mark & kDark) != 0;
    for (;;) {
      if (score == 0) score = ScoreAt<kArc, kScore>(centre, is_dark, frame.threshold, params.max_arc);
      if (!kMayBeBoth<kArc, kScore>) break;
      const bool again = score == 0 && !is_dark && (tile.tests_both >> (mark >> 11) & 1) != 0;
      if (!__any_sync(kFullWarp, again)) break;
      is_dark = is_dark || again;
    }
    if (first + lane >= listed) score = 0;
    if (kScore == Score::kHarris && score != 0) {
      score = OrderedKey(__float_as_uint(HarrisAt(level, x0 + column, y0 + row)));
    }
    if (score != 0) tile.response[row][column] = static_cast<Response>(score);
    if (kTileCells && by_tile_cells) {
      UpdateTileCellMax(score, row, column, tile);
      continue;
    }
    const bool is_owned = score != 0 && owned.HasRow(row) && owned.HasColumn(column);
    const unsigned lanes = __ballot_sync(kFullWarp, is_owned);
    __syncwarp();
    if (is_owned) list[corners + __popc(lanes & below)] = static_cast<uint16_t>(row << 7 | column);
    corners += __popc(lanes);
    __syncwarp();
  }
  __syncthreads();

  // Suppress.
  if (kTileCells && by_tile_cells)
    UpdateCellsFromTile(frame, params, l, owned, tile, params.cells + buffer * params.cell_count);
  int kept = 0;
#pragma unroll 1
  for (int first = 0; first < corners; first += kWarp) {
    const uint16_t entry = list[Min(first + lane, corners - 1)];
    const int row = entry >> 7;
    const int column = entry & 127;
    const bool keep = first + lane < corners &&
                      IsMaximum<TileType::kResponsePitch>(&tile.response[row][column], radius) &&
                      IsUnmasked(frame, params, level, x0 + column, y0 + row);
    if (kCollects && by_tile_cells) {
      UpdateTileCellMax(keep ? tile.response[row][column] : 0, row, column, tile);
      continue;
    }
    const unsigned lanes = __ballot_sync(kFullWarp, keep);
    __syncwarp();
    if (keep) list[kept + __popc(lanes & below)] = entry;
    kept += __popc(lanes);
    __syncwarp();
  }
  if (params.output == CornerOutput::kImageCells || params.output == CornerOutput::kLevelCells) {
    uint64_t* cells = params.cells + buffer * params.cell_count;
#pragma unroll 1
    for (int i = lane; i < kept; i += kWarp) {
      const int row = list[i] >> 7;
      const int column = list[i] & 127;
      UpdateCellMax(frame, params, cells, l, x0 + column, y0 + row, tile.response[row][column]);
    }
    if (kCollects && by_tile_cells) {
      __syncthreads();
      const uint32_t key = threadIdx.x < kMaxTileCells ? tile.best[threadIdx.x] : 0;
      if (key != 0) UpdateCellMax(frame, params, cells, l, x0 + ColumnIn(key), y0 + RowIn(key), ScoreIn(key));
    }
    if (kRanks<kScore, kTiles> && params.ranks_in_last_block) {
      LastBlockRank<kScore, kThreads>(frame, params, buffer, *reinterpret_cast<LastBlockMemory*>(memory));
    }
    return;
  }

  uint32_t base = 0;
  if (params.output != CornerOutput::kBuckets && lane == 0 && kept > 0) {
    base = atomicAdd(&frame.counters->candidates, static_cast<uint32_t>(kept));
  }
  base = __shfl_sync(kFullWarp, base, 0);
#pragma unroll 1
  for (int i = lane; i < kept; i += kWarp) {
    const int row = list[i] >> 7;
    const int column = list[i] & 127;
    const uint32_t raw = tile.response[row][column];
    const Candidate c = {PackPosition(l, x0 + column, y0 + row),
                         params.output == CornerOutput::kShortlists ? raw : KeyOf(params, raw)};
    if (params.output == CornerOutput::kBuckets) {
      PutIntoBucket(frame, l, c);
      continue;
    }
    frame.candidates[base + i] = c;
    atomicAdd(
        params.output == CornerOutput::kList ? &tile.histogram[HarrisBin(c.key)] : &frame.counters->histogram[l][raw],
        1u);
  }
  if (params.output != CornerOutput::kList) return;
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < kBins; i += kThreads) {
    const uint32_t n = tile.histogram[i];
    if (n != 0) atomicAdd(&frame.counters->histogram[0][i], n);
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_BOUNDED_FIND_CUH_
