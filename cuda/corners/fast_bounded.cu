// Launches of the corner stage: which tiles, and which of its kernels.
#include <algorithm>
#include <cstddef>

#include "cuda/corners/bounded_find.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Tiles of a multiprocessor beyond which they do not all run at once. Then what a tile costs counts, not how long it
// takes, and cells are updated by tile cells.
constexpr int kTilesAtOnce = 8;

template <Score kScore, Tiling kTiling>
const void* KernelFor(int arc_length) {
  switch (arc_length) {
    case 9:
      return reinterpret_cast<const void*>(&FindBoundedCornersKernel<9, kScore, kTiling>);
    case 10:
      return reinterpret_cast<const void*>(&FindBoundedCornersKernel<10, kScore, kTiling>);
    case 11:
      return reinterpret_cast<const void*>(&FindBoundedCornersKernel<11, kScore, kTiling>);
    default:
      return reinterpret_cast<const void*>(&FindBoundedCornersKernel<12, kScore, kTiling>);
  }
}

// Of which tiling the kernels with Harris are.
constexpr Tiling HarrisTiling(Tiling tiling) { return tiling == Tiling::kFew ? tiling : Tiling::kUsual; }

template <Tiling kTiling>
const void* KernelFor(int arc_length, Score score) {
  switch (score) {
    case Score::kMaxThreshold:
      return KernelFor<Score::kMaxThreshold, kTiling>(arc_length);
    case Score::kSadCircle:
      return KernelFor<Score::kSadCircle, kTiling>(arc_length);
    case Score::kSadArc:
      return KernelFor<Score::kSadArc, kTiling>(arc_length);
    default:
      return KernelFor<Score::kHarris, HarrisTiling(kTiling)>(arc_length);
  }
}

const void* KernelFor(int arc_length, Score score, Tiling tiling) {
  switch (tiling) {
    case Tiling::kFew:
      return KernelFor<Tiling::kFew>(arc_length, score);
    case Tiling::kLow:
      return KernelFor<Tiling::kLow>(arc_length, score);
    case Tiling::kUsual:
      return KernelFor<Tiling::kUsual>(arc_length, score);
    default:
      return KernelFor<Tiling::kTileCells>(arc_length, score);
  }
}

// `params`, whose tiles are the usual ones, with those of another tiling.
SelectionParams WithTiles(const Frame& frame, SelectionParams params, Tiling tiling) {
  const int owned = ShapeOf(params.score, tiling).TestedRows() - 2 * params.radius;
  const int usual_tiles = params.tiles;
  params.tiles = 0;
  for (int l = 0; l < frame.levels; ++l) {
    const int usual_end = l + 1 < frame.levels ? params.level[l + 1].first_tile : usual_tiles;
    const bool has_tiles = params.level[l].first_tile < usual_end;
    params.level[l].first_tile = params.tiles;
    const int rows = Max(frame.level[l].height - 2 * Max(frame.edge, kFastRadius), 1);
    if (has_tiles) params.tiles += params.level[l].tiles_x * ((rows + owned - 1) / owned);
  }
  return params;
}

Tiling TilingFor(const Frame& frame, const SelectionParams& params, int multiprocessors) {
  if (params.tiles <= multiprocessors) return Tiling::kFew;
  const int at_once = kTilesAtOnce * multiprocessors;
  if (params.by_tile_cells && params.tiles > at_once) return Tiling::kTileCells;
  // Those of higher levels wait for the pyramid: what they do then takes less long if they are low.
  const bool waits = frame.levels > 1 && params.level[1].first_tile < params.tiles;
  if (waits && params.score != Score::kHarris && WithTiles(frame, params, Tiling::kLow).tiles <= at_once)
    return Tiling::kLow;
  return Tiling::kUsual;
}

template <Tiling kTiling>
size_t TileBytes(Score score) {
  return score == Score::kHarris ? sizeof(Tile<Score::kHarris, HarrisTiling(kTiling)>)
                                 : sizeof(Tile<Score::kSadCircle, kTiling>);
}

size_t TileBytes(Score score, Tiling tiling) {
  switch (tiling) {
    case Tiling::kFew:
      return TileBytes<Tiling::kFew>(score);
    case Tiling::kLow:
      return TileBytes<Tiling::kLow>(score);
    case Tiling::kUsual:
      return TileBytes<Tiling::kUsual>(score);
    default:
      return TileBytes<Tiling::kTileCells>(score);
  }
}

// The histogram is at the end, and left out where it is not used.
int SharedBytes(Score score, Tiling tiling, bool histogram) {
  const size_t bytes = TileBytes(score, tiling);
  return static_cast<int>(std::max(bytes - (histogram ? 0 : kBins * sizeof(uint32_t)), sizeof(LastBlockMemory)));
}

}  // namespace

BoundedTiling GetBoundedTiling(int radius) {
  return {kBoundedTestedColumns, ShapeOf(Score::kSadCircle, Tiling::kUsual).TestedRows(), MarginX(radius), 8};
}

absl::Status PrepareBoundedCorners(Api* api) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      for (Tiling tiling : {Tiling::kFew, Tiling::kLow, Tiling::kUsual, Tiling::kTileCells}) {
        GLINT_RETURN_IF_ERROR(ToStatus(
            api->FuncSetSharedBytes(KernelFor(arc, score, tiling), SharedBytes(score, tiling, /*histogram=*/true)),
            "reserving shared memory for the corner stage"));
      }
    }
  }
  return absl::OkStatus();
}

bool CornersRank(const Frame& frame, const SelectionParams& params, int multiprocessors) {
  if (!params.may_rank_in_last_block) return false;
  const Tiling tiling = TilingFor(frame, params, multiprocessors);
  return tiling == Tiling::kFew || tiling == Tiling::kTileCells;
}

absl::Status FindBoundedCorners(StreamView stream, const Frame& frame, const SelectionParams& params,
                                int multiprocessors) {
  const Tiling tiling = TilingFor(frame, params, multiprocessors);
  SelectionParams tiled = WithTiles(frame, params, tiling);
  tiled.ranks_in_last_block = CornersRank(frame, params, multiprocessors);
  KernelLaunch launch;
  launch.kernel = KernelFor(params.arc_length, params.score, tiling);
  launch.block = dim3(ShapeOf(params.score, tiling).warps * kWarp);
  launch.grid = dim3(tiled.tiles);
  launch.shared_bytes = SharedBytes(params.score, tiling, /*histogram=*/params.output == CornerOutput::kList);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), &tiled};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the corner stage");
}

}  // namespace glint::cuda
