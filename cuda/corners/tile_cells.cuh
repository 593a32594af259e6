// Of a tile's corners, the one that each cell keeps, without suppression of the others: a piece is what the tile
// answers for of one cell. The piece's best corner most often is a maximum, and then the only one that matters; else
// the piece is gone through.
#ifndef GLINT_CUDA_CORNERS_TILE_CELLS_CUH_
#define GLINT_CUDA_CORNERS_TILE_CELLS_CUH_

#include "cuda/common/map_device.cuh"
#include "cuda/corners/bounded_tile.cuh"
#include "cuda/select/map_cells.cuh"

namespace glint::cuda {

// Place and score of a corner in a tile, larger the earlier it is preferred. Never 0.
inline constexpr int kEntryBits = 12;  // row << 7 | column
inline constexpr uint32_t kEntries = 1u << kEntryBits;
__device__ __forceinline__ uint32_t PieceKey(uint32_t score, int row, int column) {
  return (score << kEntryBits) + (kEntries - 1) - static_cast<uint32_t>(row * kMapTestedColumns + column);
}
__device__ __forceinline__ uint32_t ScoreIn(uint32_t key) { return key >> kEntryBits; }
__device__ __forceinline__ int RowIn(uint32_t key) { return static_cast<int>((~key & (kEntries - 1)) >> 7); }
__device__ __forceinline__ int ColumnIn(uint32_t key) { return static_cast<int>(~key & (kMapTestedColumns - 1)); }

// What a tile answers for: pixels of its level, from (x0 + left, y0 + top) on.
struct Answered {
  int x0, y0;
  int left, top;
  unsigned columns, rows;

  __device__ __forceinline__ bool HasColumn(int column) const { return static_cast<unsigned>(column - left) < columns; }
  __device__ __forceinline__ bool HasRow(int row) const { return static_cast<unsigned>(row - top) < rows; }
};

__device__ __forceinline__ Answered AnsweredBy(const Frame& frame, const Level& level, int x0, int y0, int margin,
                                               int radius, int tested_rows) {
  const int top = Max(radius, frame.edge - y0);
  const int left = Max(margin, frame.edge - x0);
  return {x0,
          y0,
          left,
          top,
          static_cast<unsigned>(Max(Min(kMapTestedColumns - margin, level.width - frame.edge - x0) - left, 0)),
          static_cast<unsigned>(Max(Min(tested_rows - radius, level.height - frame.edge - y0) - top, 0))};
}

// All threads must call, and then __syncthreads().
template <typename TileType>
__device__ __forceinline__ void BeginPieces(const Frame& frame, const MapFrame& map, int l, const Answered& answered,
                                            TileType& tile) {
  constexpr int kTestedRows = TileType::kTestedRows;
  static_assert(kTestedRows * kMapTestedColumns <= static_cast<int>(kEntries) && kTestedRows <= kWarp);
  static_assert(kMostPieces <= TileType::kWarps * kWarp && kMostPieces == 128);
  const int i = threadIdx.x;
  if (i < kMostPieces) tile.best[i] = 0;
  if (i < kMapTestedColumns) {
    const int first = CellColumn(frame, map, l, answered.x0 + answered.left);
    const int own = CellColumn(frame, map, l, answered.x0 + i) - first;
    tile.column_piece[i] = static_cast<uint8_t>(answered.HasColumn(i) ? own : kMostPieces);
  }
  if (i < kTestedRows) {
    const int first = CellRow(frame, map, l, answered.y0 + answered.top);
    const int own = (CellRow(frame, map, l, answered.y0 + i) - first) * map.level[l].pieces_x;
    tile.row_piece[i] = static_cast<uint8_t>(answered.HasRow(i) ? own : kMostPieces);
  }
}

// A corner, or score 0. The piece's best is there after a __syncthreads().
template <typename TileType>
__device__ __forceinline__ void OfferToPiece(uint32_t score, int row, int column, TileType& tile) {
  const int piece = tile.row_piece[row] + tile.column_piece[column];
  if (score == 0 || piece >= kMostPieces) return;
  const uint32_t key = PieceKey(score, row, column);
  atomicMax(&tile.best[piece], key);
}

// The best corner of a piece that survives suppression, 0: none. All lanes of the warp must call.
template <typename TileType, typename F>
__device__ __forceinline__ uint32_t BestSurvivor(int piece, int pieces_x, const TileType& tile, F survives) {
  const int lane = threadIdx.x % kWarp;
  const int across = piece % pieces_x;
  const bool in_row = lane < TileType::kTestedRows && tile.row_piece[lane] == piece - across;
  const unsigned rows = __ballot_sync(kFullWarp, in_row);
  const int first_row = __ffs(static_cast<int>(rows)) - 1;
  const int end_row = kWarp - __clz(static_cast<int>(rows));
  int first_column = kMapTestedColumns;
  int end_column = 0;
#pragma unroll 1
  for (int i = 0; i < kMapTestedColumns; i += kWarp) {
    const unsigned columns = __ballot_sync(kFullWarp, tile.column_piece[i + lane] == across);
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
      const uint32_t key = score != 0 ? PieceKey(score, row, column) : 0;
      if (!__any_sync(kFullWarp, key > best)) continue;
      best = max(best, WarpMax(key > best && survives(key) ? key : 0));
    }
  }
  return best;
}

// After all corners were offered to their pieces and a __syncthreads(): from the pieces to the cells. All threads must
// call.
template <typename TileType>
__device__ __forceinline__ void OfferPiecesToCells(const Frame& frame, const MapFrame& map, int l,
                                                   const Answered& answered, const TileType& tile, uint64_t* cells) {
  constexpr int kWarps = TileType::kWarps;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const auto survives = [&](uint32_t key) {
    return IsMaximum<TileType::kResponsePitch>(&tile.response[RowIn(key)][ColumnIn(key)], map.radius) &&
           IsUnmasked(frame, map, frame.level[l], answered.x0 + ColumnIn(key), answered.y0 + RowIn(key));
  };
  const auto offer = [&](uint32_t key) {
    const int x = answered.x0 + ColumnIn(key);
    const int y = answered.y0 + RowIn(key);
    OfferToCell(frame, map, cells, l, x, y, ScoreIn(key));
  };
  const int piece = lane * kWarps + warp;
  const uint32_t key = piece < kMostPieces ? tile.best[piece] : 0;
  bool wins = false;
  if (key != 0) {
    wins = survives(key);
    if (wins) offer(key);
  }
  unsigned open = __ballot_sync(kFullWarp, key != 0 && !wins);
#pragma unroll 1
  while (open != 0) {
    const int next = __ffs(static_cast<int>(open)) - 1;
    open &= open - 1;
    const uint32_t best = BestSurvivor(next * kWarps + warp, map.level[l].pieces_x, tile, survives);
    if (best != 0 && lane == 0) offer(best);
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_TILE_CELLS_CUH_
