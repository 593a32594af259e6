// What a block of the corner stage (bounded_find.cuh) does with the list of its tile: it decides and scores,
// suppresses, and hands on what is left. Each warp has a part of the list of its own, whose front keeps what passes.
#ifndef GLINT_CUDA_CORNERS_BOUNDED_STEPS_CUH_
#define GLINT_CUDA_CORNERS_BOUNDED_STEPS_CUH_

#include "cuda/common/sort_key.cuh"
#include "cuda/common/suppression.cuh"
#include "cuda/corners/bounded_tile.cuh"
#include "cuda/corners/harris.cuh"
#include "cuda/corners/tile_cells.cuh"
#include "cuda/select/buckets.cuh"
#include "cuda/select/cells.cuh"

namespace glint::cuda {

// Only the best survivor of a tile cell goes to its cell.
template <Score kScore, BoundedTiles kTiles>
inline constexpr bool kCollects = kTiles == BoundedTiles::kFew&& kScore != Score::kHarris;

// A block's tile: its level, and the level's coordinates of its first tested pixel.
struct TilePlace {
  int l;
  int x0, y0;
  int margin;  // tested columns at each side that the tile does not own
};

template <Score kScore, BoundedTiles kTiles>
__device__ __forceinline__ TilePlace PlaceOfTile(const Frame& frame, const SelectionParams& params) {
  int l = 0;
  while (l + 1 < frame.levels && static_cast<int>(blockIdx.x) >= params.level[l + 1].first_tile) ++l;
  const LevelParams& tiles = params.level[l];
  const int number = blockIdx.x - tiles.first_tile;
  const int margin = BoundedHaloX(kTiles == BoundedTiles::kTileCells ? kMaxTileCellRadius : params.radius);
  return {l, tiles.tile_x0 + number % tiles.tiles_x * (kBoundedTestedColumns - 2 * margin),
          tiles.tile_y0 + number / tiles.tiles_x * (Tile<kScore, kTiles>::kTestedRows - 2 * params.radius), margin};
}

// All threads must call, and then __syncthreads().
template <int kThreads, typename TileType>
__device__ __forceinline__ void ClearTile(const SelectionParams& params, TileType& tile) {
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
}

// Those of a lane's pixels, as SegmentMarks has them, that can be corners and lie in the level's region or within the
// radius of it.
template <int kRowsPerWarp>
__device__ __forceinline__ uint32_t MaskOfRegion(const Frame& frame, const Level& level, const TilePlace& place,
                                                 int radius) {
  const int border = Max(frame.edge, kFastRadius);
  const int columns = kBoundedTestedColumns - 2 * place.margin;
  const int x_low = Max(kFastRadius, Max(border, place.x0 + place.margin) - radius);
  const int x_high = Min(level.width - Max(kFastRadius, border - radius), place.x0 + place.margin + columns + radius);
  const int y_low = Max(kFastRadius, border - radius);
  const int y_high = level.height - y_low;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  return ColumnMask(place.x0 + lane * 4, x_low, x_high) & RowMask(place.y0 + warp * kRowsPerWarp, y_low, y_high);
}

// A warp's part of a list.
struct WarpList {
  uint16_t* entries;
  int count;

  // Writes the entries of lanes with `keep` behind the `front` entries that were kept before; returns how many those
  // are now. They replace entries that the warp has read. All lanes of the warp must call.
  __device__ __forceinline__ int Keep(int front, bool keep, int entry) const {
    const unsigned below = (1u << threadIdx.x % kWarp) - 1;
    const unsigned lanes = __ballot_sync(kFullWarp, keep);
    __syncwarp();
    if (keep) entries[front + __popc(lanes & below)] = static_cast<uint16_t>(entry);
    __syncwarp();
    return front + __popc(lanes);
  }
};

// Whole warps full, as far as the list goes.
template <typename TileType>
__device__ __forceinline__ WarpList ListOfWarp(TileType& tile) {
  constexpr int kWarps = TileType::kWarps;
  const int warp = threadIdx.x / kWarp;
  const auto runs = static_cast<int>((tile.listed + kWarp - 1) / kWarp);
  return {tile.list + warp * runs / kWarps * kWarp,
          Min((warp + 1) * runs / kWarps * kWarp, static_cast<int>(tile.listed)) - warp * runs / kWarps * kWarp};
}

// Decides and scores what is marked. Corners in `owned` move to the front, as row << 7 | column, or go to their tile
// cells; returns how many are in front. All threads must call, and then __syncthreads().
template <int kArc, Score kScore, BoundedTiles kTiles>
__device__ __forceinline__ int ScoreMarked(const Frame& frame, const SelectionParams& params, const TilePlace& place,
                                           const OwnedRegion& owned, bool by_tile_cells, const WarpList& list,
                                           Tile<kScore, kTiles>& tile) {
  using TileType = Tile<kScore, kTiles>;
  const int lane = threadIdx.x % kWarp;
  int corners = 0;
#pragma unroll 1
  for (int first = 0; first < list.count; first += kWarp) {
    const int mark = list.entries[Min(first + lane, list.count - 1)];
    const int row = (mark >> 11) * TileType::kRowsPerWarp + (mark >> 1 & 7);
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
    if (first + lane >= list.count) score = 0;
    if (kScore == Score::kHarris && score != 0) {
      score = OrderedKey(__float_as_uint(HarrisAt(frame.level[place.l], place.x0 + column, place.y0 + row)));
    }
    if (score != 0) tile.response[row][column] = static_cast<typename TileType::Response>(score);
    if (kTiles == BoundedTiles::kTileCells && by_tile_cells) {
      UpdateTileCellMax(score, row, column, tile);
      continue;
    }
    corners = list.Keep(corners, score != 0 && owned.HasRow(row) && owned.HasColumn(column), row << 7 | column);
  }
  return corners;
}

// Of the `corners` in front, those that survive suppression and mask stay in front, or go to their tile cells; returns
// how many are in front. All lanes of the warp must call.
template <Score kScore, BoundedTiles kTiles>
__device__ __forceinline__ int Suppress(const Frame& frame, const SelectionParams& params, const TilePlace& place,
                                        bool by_tile_cells, const WarpList& list, int corners,
                                        Tile<kScore, kTiles>& tile) {
  const int lane = threadIdx.x % kWarp;
  int kept = 0;
#pragma unroll 1
  for (int first = 0; first < corners; first += kWarp) {
    const int entry = list.entries[Min(first + lane, corners - 1)];
    const int row = entry >> 7;
    const int column = entry & 127;
    const bool keep = first + lane < corners &&
                      IsMaximum<Tile<kScore, kTiles>::kResponsePitch>(&tile.response[row][column], params.radius) &&
                      IsUnmasked(frame, params, frame.level[place.l], place.x0 + column, place.y0 + row);
    if (kCollects<kScore, kTiles> && by_tile_cells) {
      UpdateTileCellMax(keep ? tile.response[row][column] : 0, row, column, tile);
      continue;
    }
    kept = list.Keep(kept, keep, entry);
  }
  return kept;
}

// The `kept` in front, and with kCollects the best of each tile cell, to `cells`. All threads must call.
template <Score kScore, BoundedTiles kTiles>
__device__ __forceinline__ void PutIntoCells(const Frame& frame, const SelectionParams& params, const TilePlace& place,
                                             bool by_tile_cells, const WarpList& list, int kept,
                                             const Tile<kScore, kTiles>& tile, uint64_t* cells) {
#pragma unroll 1
  for (int i = threadIdx.x % kWarp; i < kept; i += kWarp) {
    const int row = list.entries[i] >> 7;
    const int column = list.entries[i] & 127;
    UpdateCellMax(frame, params, cells, place.l, place.x0 + column, place.y0 + row, tile.response[row][column]);
  }
  if (kCollects<kScore, kTiles> && by_tile_cells) {
    __syncthreads();
    const uint32_t key = threadIdx.x < kMaxTileCells ? tile.best[threadIdx.x] : 0;
    if (key == 0) return;
    UpdateCellMax(frame, params, cells, place.l, place.x0 + ColumnIn(key), place.y0 + RowIn(key), ScoreIn(key));
  }
}

// The `kept` in front to the frame's candidates or buckets, with their histograms. All threads must call.
template <int kThreads, typename TileType>
__device__ __forceinline__ void PutIntoCandidates(const Frame& frame, const SelectionParams& params,
                                                  const TilePlace& place, const WarpList& list, int kept,
                                                  TileType& tile) {
  const int lane = threadIdx.x % kWarp;
  uint32_t base = 0;
  if (params.output != CornerOutput::kBuckets && lane == 0 && kept > 0) {
    base = atomicAdd(&frame.counters->candidates, static_cast<uint32_t>(kept));
  }
  base = __shfl_sync(kFullWarp, base, 0);
#pragma unroll 1
  for (int i = lane; i < kept; i += kWarp) {
    const int row = list.entries[i] >> 7;
    const int column = list.entries[i] & 127;
    const uint32_t raw = tile.response[row][column];
    const Candidate c = {PackPosition(place.l, place.x0 + column, place.y0 + row),
                         params.output == CornerOutput::kShortlists ? raw : KeyOf(params, raw)};
    if (params.output == CornerOutput::kBuckets) {
      PutIntoBucket(frame, place.l, c);
      continue;
    }
    frame.candidates[base + i] = c;
    atomicAdd(params.output == CornerOutput::kList ? &tile.histogram[HarrisBin(c.key)]
                                                   : &frame.counters->histogram[place.l][raw],
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

#endif  // GLINT_CUDA_CORNERS_BOUNDED_STEPS_CUH_
