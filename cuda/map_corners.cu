// Launches of the corner stage: which tiles, and which of its kernels.
#include <algorithm>
#include <cstddef>

#include "cuda/map_find.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

// Tiles of a multiprocessor beyond which they do not all run at once. Then what a tile costs counts, not how long it
// takes, and cells are served by pieces.
constexpr int kTilesAtOnce = 8;

// Which tiles a launch has.
enum class Tiling { kFew, kUsual, kPieces };

template <Score kScore, int kRows, bool kPieces>
const void* KernelFor(int arc_length) {
  switch (arc_length) {
    case 9:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<9, kScore, kRows, kPieces>);
    case 10:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<10, kScore, kRows, kPieces>);
    case 11:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<11, kScore, kRows, kPieces>);
    default:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<12, kScore, kRows, kPieces>);
  }
}

template <int kRows, bool kPieces>
const void* KernelFor(int arc_length, Score score) {
  constexpr int kHarrisRows = kRows == kFewRows ? kFewHarrisRows : kRows;
  switch (score) {
    case Score::kMaxThreshold:
      return KernelFor<Score::kMaxThreshold, kRows, kPieces>(arc_length);
    case Score::kSadCircle:
      return KernelFor<Score::kSadCircle, kRows, kPieces>(arc_length);
    case Score::kSadArc:
      return KernelFor<Score::kSadArc, kRows, kPieces>(arc_length);
    default:
      return KernelFor<Score::kHarris, kHarrisRows, false>(arc_length);
  }
}

const void* KernelFor(int arc_length, Score score, Tiling tiling) {
  switch (tiling) {
    case Tiling::kFew:
      return KernelFor<kFewRows, false>(arc_length, score);
    case Tiling::kUsual:
      return KernelFor<kUsualRows, false>(arc_length, score);
    default:
      return KernelFor<kUsualRows, true>(arc_length, score);
  }
}

Tiling TilingFor(const MapFrame& map, int multiprocessors) {
  if (map.tiles <= multiprocessors) return Tiling::kFew;
  return map.in_pieces && map.tiles > kTilesAtOnce * multiprocessors ? Tiling::kPieces : Tiling::kUsual;
}

template <int kRows>
size_t TileBytes(Score score) {
  return score == Score::kHarris ? sizeof(Tile<Score::kHarris, kRows>) : sizeof(Tile<Score::kSadCircle, kRows>);
}

// The histogram is at the end, and left out where it is not used.
int SharedBytes(Score score, Tiling tiling, bool histogram) {
  const size_t bytes = tiling == Tiling::kFew ? TileBytes<kFewRows>(score) : TileBytes<kUsualRows>(score);
  return static_cast<int>(std::max(bytes - (histogram ? 0 : kBins * sizeof(uint32_t)), sizeof(AtOnce)));
}

// With tiles of kFewRows instead of the usual ones.
MapFrame InLowTiles(const Frame& frame, MapFrame map) {
  const int answered = TestedRows(kFewRows) - 2 * map.radius;
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

}  // namespace

MapTiling GetMapTiling() { return {kTestedColumns, TestedRows(kUsualRows), kMarginX, 8}; }

absl::Status PrepareMapCorners(Api* api) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      for (Tiling tiling : {Tiling::kFew, Tiling::kUsual, Tiling::kPieces}) {
        GLINT_RETURN_IF_ERROR(ToStatus(
            api->FuncSetSharedBytes(KernelFor(arc, score, tiling), SharedBytes(score, tiling, /*histogram=*/true)),
            "reserving shared memory for the corner stage"));
      }
    }
  }
  return absl::OkStatus();
}

bool CornersRank(const MapFrame& map, int multiprocessors) {
  return map.may_rank_at_once && TilingFor(map, multiprocessors) != Tiling::kUsual;
}

absl::Status FindMapCorners(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors) {
  const Tiling tiling = TilingFor(map, multiprocessors);
  const int rows = tiling != Tiling::kFew ? kUsualRows : map.score == Score::kHarris ? kFewHarrisRows : kFewRows;
  MapFrame tiled = tiling == Tiling::kFew ? InLowTiles(frame, map) : map;
  tiled.ranks_at_once = CornersRank(map, multiprocessors);
  KernelLaunch launch;
  launch.kernel = KernelFor(map.arc_length, map.score, tiling);
  launch.block = dim3(TestedRows(rows) / rows * kWarp);
  launch.grid = dim3(tiled.tiles);
  launch.shared_bytes = SharedBytes(map.score, tiling, /*histogram=*/!map.ranks);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), &tiled};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the corner stage");
}

}  // namespace glint::cuda
