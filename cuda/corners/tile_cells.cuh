// Of a tile's corners, the one that each cell keeps, without suppression of the others: a tile cell is what a
// tile owns of one cell. Its best corner most often is a maximum, and then the only one that matters; else the tile
// cell is gone through.
#ifndef GLINT_CUDA_CORNERS_TILE_CELLS_CUH_
#define GLINT_CUDA_CORNERS_TILE_CELLS_CUH_

#include "cuda/common/append.cuh"
#include "cuda/common/suppression.cuh"
#include "cuda/corners/bounded_tile.cuh"
#include "cuda/select/cells.cuh"

namespace glint::cuda {

// Place and score of a corner in a tile, larger the earlier it is preferred. Never 0.
inline constexpr int kEntryBits = 12;  // row << 7 | column
inline constexpr uint32_t kEntries = 1u << kEntryBits;
__device__ __forceinline__ uint32_t TileCellKey(uint32_t score, int row, int column) {
  return (score << kEntryBits) + (kEntries - 1) - static_cast<uint32_t>(row * kBoundedTestedColumns + column);
}
__device__ __forceinline__ uint32_t ScoreIn(uint32_t key) { return key >> kEntryBits; }
__device__ __forceinline__ int RowIn(uint32_t key) { return static_cast<int>((~key & (kEntries - 1)) >> 7); }
__device__ __forceinline__ int ColumnIn(uint32_t key) { return static_cast<int>(~key & (kBoundedTestedColumns - 1)); }

// The region that a tile owns: pixels of its level, from (x0 + left, y0 + top) on.
struct OwnedRegion {
  int x0, y0;
  int left, top;
  unsigned columns, rows;

  __device__ __forceinline__ bool HasColumn(int column) const { return static_cast<unsigned>(column - left) < columns; }
  __device__ __forceinline__ bool HasRow(int row) const { return static_cast<unsigned>(row - top) < rows; }
};

__device__ __forceinline__ OwnedRegion OwnedRegionOf(const Frame& frame, const Level& level, int x0, int y0, int margin,
                                                     int radius, int tested_rows) {
  const int top = Max(radius, frame.edge - y0);
  const int left = Max(margin, frame.edge - x0);
  return {x0,
          y0,
          left,
          top,
          static_cast<unsigned>(Max(Min(kBoundedTestedColumns - margin, level.width - frame.edge - x0) - left, 0)),
          static_cast<unsigned>(Max(Min(tested_rows - radius, level.height - frame.edge - y0) - top, 0))};
}

// All threads must call, and then __syncthreads().
template <typename TileType>
__device__ __forceinline__ void BeginTileCells(const Frame& frame, const SelectionParams& params, int l,
                                               const OwnedRegion& owned, TileType& tile) {
  constexpr int kTestedRows = TileType::kTestedRows;
  static_assert(kTestedRows * kBoundedTestedColumns <= static_cast<int>(kEntries) && kTestedRows <= kWarp);
  static_assert(kMaxTileCells <= TileType::kWarps * kWarp && kMaxTileCells == 128);
  const int i = threadIdx.x;
  if (i < kMaxTileCells) tile.best[i] = 0;
  if (i < kBoundedTestedColumns) {
    const int first = CellColumn(frame, params, l, owned.x0 + owned.left);
    const int own = CellColumn(frame, params, l, owned.x0 + i) - first;
    tile.column_cell[i] = static_cast<uint8_t>(owned.HasColumn(i) ? own : kMaxTileCells);
  }
  if (i < kTestedRows) {
    const int first = CellRow(frame, params, l, owned.y0 + owned.top);
    const int own = (CellRow(frame, params, l, owned.y0 + i) - first) * params.level[l].tile_cells_x;
    tile.row_cell[i] = static_cast<uint8_t>(owned.HasRow(i) ? own : kMaxTileCells);
  }
}

// A corner, or score 0. The tile cell's best is there after a __syncthreads().
template <typename TileType>
__device__ __forceinline__ void UpdateTileCellMax(uint32_t score, int row, int column, TileType& tile) {
  const int tile_cell = tile.row_cell[row] + tile.column_cell[column];
  if (score == 0 || tile_cell >= kMaxTileCells) return;
  const uint32_t key = TileCellKey(score, row, column);
  atomicMax(&tile.best[tile_cell], key);
}

// The best corner of a tile cell that survives suppression, 0: none. All lanes of the warp must call.
template <typename TileType, typename F>
__device__ __forceinline__ uint32_t BestSurvivor(int tile_cell, int tile_cells_x, const TileType& tile, F survives) {
  const int lane = threadIdx.x % kWarp;
  const int across = tile_cell % tile_cells_x;
  const bool in_row = lane < TileType::kTestedRows && tile.row_cell[lane] == tile_cell - across;
  const unsigned rows = __ballot_sync(kFullWarp, in_row);
  const int first_row = __ffs(static_cast<int>(rows)) - 1;
  const int end_row = kWarp - __clz(static_cast<int>(rows));
  int first_column = kBoundedTestedColumns;
  int end_column = 0;
#pragma unroll 1
  for (int i = 0; i < kBoundedTestedColumns; i += kWarp) {
    const unsigned columns = __ballot_sync(kFullWarp, tile.column_cell[i + lane] == across);
    if (columns == 0) continue;
    first_column = Min(first_column, i + __ffs(static_cast<int>(columns)) - 1);
    end_column = i + kWarp - __clz(static_cast<int>(columns));
  }
  uint32_t best = 0;
#pragma unroll 1
  for (int first = first_column; first < end_column; first += kWarp) {
    const int column = first + lane;
#pragma unroll 1
    for (int row = first_row; row < end_row; ++row) {
      const uint32_t score = column < end_column ? tile.response[row][column] : 0;
      const uint32_t key = score != 0 ? TileCellKey(score, row, column) : 0;
      if (!__any_sync(kFullWarp, key > best)) continue;
      best = max(best, WarpMax(key > best && survives(key) ? key : 0));
    }
  }
  return best;
}

// After all corners were put to their tile cells and a __syncthreads(): from the tile cells to the cells. All threads
// must call.
template <typename TileType>
__device__ __forceinline__ void UpdateCellsFromTile(const Frame& frame, const SelectionParams& params, int l,
                                                    const OwnedRegion& owned, const TileType& tile, uint64_t* cells) {
  constexpr int kWarps = TileType::kWarps;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const auto survives = [&](uint32_t key) {
    return IsMaximum<TileType::kResponsePitch>(&tile.response[RowIn(key)][ColumnIn(key)], params.radius) &&
           IsUnmasked(frame, params, frame.level[l], owned.x0 + ColumnIn(key), owned.y0 + RowIn(key));
  };
  const auto update = [&](uint32_t key) {
    const int x = owned.x0 + ColumnIn(key);
    const int y = owned.y0 + RowIn(key);
    UpdateCellMax(frame, params, cells, l, x, y, ScoreIn(key));
  };
  const int tile_cell = lane * kWarps + warp;
  const uint32_t key = tile_cell < kMaxTileCells ? tile.best[tile_cell] : 0;
  bool wins = false;
  if (key != 0) {
    wins = survives(key);
    if (wins) update(key);
  }
  unsigned open = __ballot_sync(kFullWarp, key != 0 && !wins);
#pragma unroll 1
  while (open != 0) {
    const int next = __ffs(static_cast<int>(open)) - 1;
    open &= open - 1;
    const uint32_t best = BestSurvivor(next * kWarps + warp, params.level[l].tile_cells_x, tile, survives);
    if (best != 0 && lane == 0) update(best);
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_TILE_CELLS_CUH_
