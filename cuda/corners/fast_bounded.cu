// Launches of the corner stage: which tiles, and which of its kernels.
#include <algorithm>
#include <cstddef>

#include "cuda/corners/bounded_find.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

// Tiles of a multiprocessor beyond which they do not all run at once. Then what a tile costs counts, not how long it
// takes, and cells are served by pieces.
constexpr int kTilesAtOnce = 8;

template <Score kScore, Tiling kTiling>
const void* KernelFor(int arc_length) {
  switch (arc_length) {
    case 9:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<9, kScore, kTiling>);
    case 10:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<10, kScore, kTiling>);
    case 11:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<11, kScore, kTiling>);
    default:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<12, kScore, kTiling>);
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
      return KernelFor<Tiling::kPieces>(arc_length, score);
  }
}

// `map`, whose tiles are the usual ones, with those of another tiling.
MapFrame WithTiles(const Frame& frame, MapFrame map, Tiling tiling) {
  const int answered = ShapeOf(map.score, tiling).TestedRows() - 2 * map.radius;
  const int usual_tiles = map.tiles;
  map.tiles = 0;
  for (int l = 0; l < frame.levels; ++l) {
    const int usual_end = l + 1 < frame.levels ? map.level[l + 1].first_tile : usual_tiles;
    const bool has_tiles = map.level[l].first_tile < usual_end;
    map.level[l].first_tile = map.tiles;
    const int rows = Max(frame.level[l].height - 2 * Max(frame.edge, kFastRadius), 1);
    if (has_tiles) map.tiles += map.level[l].tiles_x * ((rows + answered - 1) / answered);
  }
  return map;
}

Tiling TilingFor(const Frame& frame, const MapFrame& map, int multiprocessors) {
  if (map.tiles <= multiprocessors) return Tiling::kFew;
  const int at_once = kTilesAtOnce * multiprocessors;
  if (map.in_pieces && map.tiles > at_once) return Tiling::kPieces;
  // Those of higher levels wait for the pyramid: what they do then takes less long if they are low.
  const bool waits = frame.levels > 1 && map.level[1].first_tile < map.tiles;
  if (waits && map.score != Score::kHarris && WithTiles(frame, map, Tiling::kLow).tiles <= at_once) return Tiling::kLow;
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
      return TileBytes<Tiling::kPieces>(score);
  }
}

// The histogram is at the end, and left out where it is not used.
int SharedBytes(Score score, Tiling tiling, bool histogram) {
  const size_t bytes = TileBytes(score, tiling);
  return static_cast<int>(std::max(bytes - (histogram ? 0 : kBins * sizeof(uint32_t)), sizeof(AtOnce)));
}

}  // namespace

MapTiling GetMapTiling(int radius) {
  return {kMapTestedColumns, ShapeOf(Score::kSadCircle, Tiling::kUsual).TestedRows(), MarginX(radius), 8};
}

absl::Status PrepareMapCorners(Api* api) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      for (Tiling tiling : {Tiling::kFew, Tiling::kLow, Tiling::kUsual, Tiling::kPieces}) {
        GLINT_RETURN_IF_ERROR(ToStatus(
            api->FuncSetSharedBytes(KernelFor(arc, score, tiling), SharedBytes(score, tiling, /*histogram=*/true)),
            "reserving shared memory for the corner stage"));
      }
    }
  }
  return absl::OkStatus();
}

bool CornersRank(const Frame& frame, const MapFrame& map, int multiprocessors) {
  if (!map.may_rank_at_once) return false;
  const Tiling tiling = TilingFor(frame, map, multiprocessors);
  return tiling == Tiling::kFew || tiling == Tiling::kPieces;
}

absl::Status FindMapCorners(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors) {
  const Tiling tiling = TilingFor(frame, map, multiprocessors);
  MapFrame tiled = WithTiles(frame, map, tiling);
  tiled.ranks_at_once = CornersRank(frame, map, multiprocessors);
  KernelLaunch launch;
  launch.kernel = KernelFor(map.arc_length, map.score, tiling);
  launch.block = dim3(ShapeOf(map.score, tiling).warps * kWarp);
  launch.grid = dim3(tiled.tiles);
  launch.shared_bytes = SharedBytes(map.score, tiling, /*histogram=*/!map.ranks);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), &tiled};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the corner stage");
}

}  // namespace glint::cuda
