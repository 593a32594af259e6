// A point that as many warps track as there are levels: each makes the template of its level at the same time as the
// others, then the search goes from warp to warp, from the coarsest level on.
#ifndef GLINT_CUDA_TRACK_LEVEL_WARPS_CUH_
#define GLINT_CUDA_TRACK_LEVEL_WARPS_CUH_

#include "cuda/common/warp.cuh"
#include "cuda/track/patches.cuh"
#include "features/track_point.h"

namespace glint::cuda {

// In shared memory. What the search of a level hands over to the next finer one; and the end, for all warps.
struct LevelHandover {
  struct {
    float dx, dy;
    int iterations;
  } level[kMaxTrackLevels];
  OneWay end;
};

// Barriers of two warps, by the level of the one that does not wait. Barrier 0 is that of __syncthreads().
__device__ __forceinline__ void ArriveAfter(int level) {
  __threadfence_block();
  asm volatile("bar.arrive %0, %1;" ::"r"(level), "n"(2 * kWarp) : "memory");
}
__device__ __forceinline__ void WaitFor(int level) {
  asm volatile("bar.sync %0, %1;" ::"r"(level), "n"(2 * kWarp) : "memory");
}

// As TrackOneWay(), by a block of a warp (threadIdx.x) for each level (threadIdx.y). Of use to level 0; with
// max_backward_error all warps have it.
template <class LevelPatches>
__device__ __forceinline__ OneWay TrackOneWayByLevels(float x, float y, float dx, float dy, const TrackOptions& options,
                                                      LevelPatches* patches, LevelHandover* handover) {
  const int level = threadIdx.y;
  const int size = level < options.fine_levels ? options.patch_size : options.coarse_patch_size;
  const float scale = TrackLevelScale(level);
  const GridPoint centre = {ToTrackGrid(ToTrackLevel(x, level)), ToTrackGrid(ToTrackLevel(y, level))};
  // The other image's window is requested where the prediction is; the search moves it if that is too far off.
  const GridPoint first = {centre.x + ToTrackGrid(dx * scale), centre.y + ToTrackGrid(dy * scale)};
  const TemplateSums sums = patches->Template(level, centre, size, first);
  TrackSystem system;
  const bool has_texture = MakeTrackSystem(patches->intensity(), size * size, sums, options.min_eigenvalue, &system);
  OneWay way = {dx * scale, dy * scale, TrackStatus::kTracked, {0, 1, 0}, 0};
  if (level + 1 < patches->levels()) {
    WaitFor(level + 1);
    const auto& coarser = handover->level[level + 1];
    way.dx = 2 * coarser.dx;
    way.dy = 2 * coarser.dy;
    way.iterations = coarser.iterations;
  }
  LevelSearch search;
  const LevelEnd end = BeginLevel(x, y, level, way.dx, way.dy, patches->width(level), patches->height(level),
                                  options.max_move, options.max_iterations, &search);
  if (end != LevelEnd::kGoOn) {
    way.status = StatusOf(end);
  } else if (!has_texture) {
    way.status = TrackStatus::kFlat;
  } else {
    way.status = SearchTemplate(level, size, sums, system, options, patches, &search, &way);
  }
  if (level > 0) {
    if (threadIdx.x == 0) handover->level[level] = {way.dx, way.dy, way.iterations};
    __syncwarp();
    ArriveAfter(level);
  } else {
    JudgeResidual(options, &way);
  }
  if (options.max_backward_error > 0) {
    if (level == 0 && threadIdx.x == 0) handover->end = way;
    __syncthreads();
    way = handover->end;
    __syncthreads();
  }
  return way;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_LEVEL_WARPS_CUH_
