// A warp for each level of a point. What the template says on a level does not depend on where the point went on the
// coarser ones: all levels' templates are read at once, and the warps then search one after the other.
#ifndef GLINT_CUDA_TRACK_LEVEL_WARPS_CUH_
#define GLINT_CUDA_TRACK_LEVEL_WARPS_CUH_

#include "cuda/track/patches.cuh"

namespace glint::cuda {

// A block is a warp wide, and has as many rows of threads as there are levels; row 0 has level 0.
template <int kRuns, bool kIntensity>
class LevelWarps : public Patches<kRuns, kIntensity, 1> {
  using Base = Patches<kRuns, kIntensity, 1>;

 public:
  // `ways`: of the block.
  __device__ __forceinline__ LevelWarps(const TrackParams& params, float x, float y, Windows<kRuns, 1>* windows,
                                        OneWay (*ways)[2])
      : Base(params, x, y, windows), ways_(*ways) {}

  __device__ __forceinline__ void Reverse(float x, float y) {
    __syncthreads();  // all warps have read where the point went
    Base::Reverse(x, y);
  }
  // Where the point went on a level: the next one's warp reads it while this one could already be written anew.
  __device__ __forceinline__ OneWay& Way(int level) { return ways_[level % 2]; }

 private:
  OneWay (&ways_)[2];
};

// All warps of the block come here, and give the same.
template <int kRuns, bool kIntensity>
__device__ __forceinline__ OneWay TrackOneWay(float x, float y, float dx, float dy, const TrackOptions& options,
                                              LevelWarps<kRuns, kIntensity>* warps) {
  const int coarsest = warps->levels() - 1;
  const int own = __shfl_sync(kFullWarp, static_cast<int>(threadIdx.y), 0);  // the compiler knows: of all lanes
  const GridPoint origin = {ToTrackGrid(ToTrackLevel(x, own)), ToTrackGrid(ToTrackLevel(y, own))};
  // The other image's window is asked for as if coarser levels found nothing.
  const OneWay expected = BeginWay(dx, dy, own);
  const GridPoint first = {origin.x + ToTrackGrid(expected.dx), origin.y + ToTrackGrid(expected.dy)};
  const LevelTemplate from = ReadLevelTemplate(own, origin, first, options, warps);
#pragma unroll 1
  for (int level = coarsest; level >= 0; --level) {
    if (level == own) {
      OneWay way = expected;
      if (level != coarsest) {
        way = warps->Way(level + 1);
        GoDown(&way);
      }
      LevelSearch search;
      const LevelEnd end = BeginSearch(x, y, level, options, way, *warps, &search);
      way.status = end != LevelEnd::kGoOn ? StatusOf(end)
                   : from.is_flat         ? TrackStatus::kFlat
                                          : SearchTemplate(from, level, options, &search, warps, &way);
      if (threadIdx.x == 0) warps->Way(level) = way;
    }
    __syncthreads();
  }
  OneWay way = warps->Way(0);
  EndWay(options, &way);
  return way;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_LEVEL_WARPS_CUH_
