// Launches of the corner stage with bounded arcs: which of its kernels.
#include "cuda/common/enqueue.h"
#include "cuda/corners/bounded_find.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

using BoundedKernel = void (*)(Frame, SelectionParams);

template <Score kScore, BoundedTiles kTiles>
BoundedKernel KernelFor(int arc_length) {
  switch (arc_length) {
    case 9:
      return FindBoundedCornersKernel<9, kScore, kTiles>;
    case 10:
      return FindBoundedCornersKernel<10, kScore, kTiles>;
    case 11:
      return FindBoundedCornersKernel<11, kScore, kTiles>;
    default:
      return FindBoundedCornersKernel<12, kScore, kTiles>;
  }
}

template <BoundedTiles kTiles>
BoundedKernel KernelFor(int arc_length, Score score) {
  switch (score) {
    case Score::kMaxThreshold:
      return KernelFor<Score::kMaxThreshold, kTiles>(arc_length);
    case Score::kSadCircle:
      return KernelFor<Score::kSadCircle, kTiles>(arc_length);
    case Score::kSadArc:
      return KernelFor<Score::kSadArc, kTiles>(arc_length);
    default:
      return KernelFor<Score::kHarris, HarrisTiles(kTiles)>(arc_length);
  }
}

BoundedKernel KernelFor(int arc_length, Score score, BoundedTiles tiles) {
  switch (tiles) {
    case BoundedTiles::kFew:
      return KernelFor<BoundedTiles::kFew>(arc_length, score);
    case BoundedTiles::kLow:
      return KernelFor<BoundedTiles::kLow>(arc_length, score);
    case BoundedTiles::kUsual:
      return KernelFor<BoundedTiles::kUsual>(arc_length, score);
    default:
      return KernelFor<BoundedTiles::kTileCells>(arc_length, score);
  }
}

template <Score kScore, BoundedTiles kTiles>
constexpr bool HasBytes() {
  return sizeof(Tile<kScore, kTiles>) == BoundedTileBytes(kScore, kTiles, /*histogram=*/true) &&
         sizeof(LastBlockMemory) <= BoundedTileBytes(kScore, kTiles, /*histogram=*/false);
}
static_assert(HasBytes<Score::kMaxThreshold, BoundedTiles::kFew>() && HasBytes<Score::kHarris, BoundedTiles::kFew>() &&
              HasBytes<Score::kMaxThreshold, BoundedTiles::kLow>() &&
              HasBytes<Score::kMaxThreshold, BoundedTiles::kUsual>() &&
              HasBytes<Score::kHarris, BoundedTiles::kUsual>() &&
              HasBytes<Score::kMaxThreshold, BoundedTiles::kTileCells>());

}  // namespace

absl::Status PrepareBoundedCorners(Api* api) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      for (BoundedTiles tiles :
           {BoundedTiles::kFew, BoundedTiles::kLow, BoundedTiles::kUsual, BoundedTiles::kTileCells}) {
        const auto* kernel = reinterpret_cast<const void*>(KernelFor(arc, score, tiles));
        GLINT_RETURN_IF_ERROR(
            ToStatus(api->FuncSetSharedBytes(kernel, BoundedTileBytes(score, tiles, /*histogram=*/true)),
                     "reserving shared memory for the corner stage"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status FindBoundedCorners(StreamView stream, const Launch& launch, const Frame& frame,
                                const SelectionParams& params) {
  return Enqueue(stream, launch, KernelFor(launch.arc_length, params.score, launch.bounded_tiles), frame, params);
}

}  // namespace glint::cuda
