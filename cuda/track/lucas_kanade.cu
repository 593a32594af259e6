// Tracking: all levels in one launch, a warp a point, or, of few points, a warp a level of each. All lanes solve the
// same system from the same sums and so take the same steps.
#include "cuda/common/warp.cuh"
#include "cuda/runtime/error.h"
#include "cuda/track/level_warps.cuh"
#include "cuda/track/patches.cuh"
#include "cuda/track/track_stages.h"
#include "features/track_point.h"

namespace glint::cuda {
namespace {

// Warps of a multiprocessor at least, where it has room for so many blocks: 64 registers, without a spill (sm_90, CUDA
// 13.0). Without the bound ptxas takes 80.
template <int kRuns, bool kIntensity>
constexpr int kWarpsAtLeast = kRuns == 1 && !kIntensity ? 32 : 1;

// The same in blocks of kMaxTrackLevels warps: 80 registers, without a spill. 64 spill.
template <int kRuns, bool kIntensity>
constexpr int kBlocksAtLeast = kRuns == 1 && !kIntensity ? 3 : 1;

struct Start {
  float x, y, dx, dy;
};
__device__ __forceinline__ Start StartOf(const TrackParams& params, int i) {
  const float x = params.x[i];
  const float y = params.y[i];
  return {x, y, params.to_x == nullptr ? 0 : params.to_x[i] - x, params.to_y == nullptr ? 0 : params.to_y[i] - y};
}

template <int kRuns, bool kIntensity>
__global__ void __launch_bounds__(kWarp, kWarpsAtLeast<kRuns, kIntensity>)
    TrackKernel(GLINT_KERNEL_ARGUMENT TrackParams params) {
  __shared__ Windows<kRuns, 2> windows;
  const int i = blockIdx.x;
  const Start start = StartOf(params, i);
  Patches<kRuns, kIntensity, 2> patches(params, start.x, start.y, &windows);
  const TrackedPoint point = TrackPoint(start.x, start.y, start.dx, start.dy, params.options, &patches);
  if (threadIdx.x == 0) params.points[i] = point;
}

template <int kRuns, bool kIntensity>
__global__ void __launch_bounds__(kWarp* kMaxTrackLevels, kBlocksAtLeast<kRuns, kIntensity>)
    TrackByLevelsKernel(GLINT_KERNEL_ARGUMENT TrackParams params) {
  __shared__ Windows<kRuns, 1> windows[kMaxTrackLevels];
  __shared__ LevelHandover handover;
  const int i = blockIdx.x;
  const Start start = StartOf(params, i);
  Patches<kRuns, kIntensity, 1> patches(params, start.x, start.y, &windows[threadIdx.y]);
  const TrackedPoint point = TrackPoint(start.x, start.y, start.dx, start.dy, params.options, &patches,
                                        [&](float x, float y, float dx, float dy) {
                                          return TrackOneWayByLevels(x, y, dx, dy, params.options, &patches, &handover);
                                        });
  if (threadIdx.x == 0 && threadIdx.y == 0) params.points[i] = point;
}

template <int kRuns, bool kIntensity>
const void* KernelOf(bool by_levels) {
  return by_levels ? reinterpret_cast<const void*>(&TrackByLevelsKernel<kRuns, kIntensity>)
                   : reinterpret_cast<const void*>(&TrackKernel<kRuns, kIntensity>);
}
template <bool kIntensity>
const void* KernelFor(int size, bool by_levels) {
  return size <= Layout<1>::kPatch   ? KernelOf<1, kIntensity>(by_levels)
         : size <= Layout<2>::kPatch ? KernelOf<2, kIntensity>(by_levels)
                                     : KernelOf<4, kIntensity>(by_levels);
}

}  // namespace

absl::Status TrackPoints(StreamView stream, const TrackParams& params, int multiprocessors) {
  const TrackOptions& o = params.options;
  const int fine = o.fine_levels > 0 ? o.patch_size : 0;
  const int coarse = o.fine_levels < params.levels ? o.coarse_patch_size : 0;
  const int size = Max(fine, coarse);
  const auto reciprocal = [](int n) { return (1u << 16) / static_cast<unsigned>(n) + 1; };
  TrackParams filled = params;
  filled.run_reciprocals[0] = reciprocal(o.patch_size);
  filled.run_reciprocals[1] = reciprocal(o.coarse_patch_size);
  KernelLaunch launch;
  // With a multiprocessor for each point; with less, points that wait for each other cost more than is gained.
  const bool by_levels = params.levels > 1 && params.count <= multiprocessors;
  launch.kernel =
      o.intensity == IntensityModel::kSame ? KernelFor<false>(size, by_levels) : KernelFor<true>(size, by_levels);
  launch.block = dim3(kWarp, by_levels ? params.levels : 1);
  launch.grid = dim3(params.count);
  void* arguments[] = {&filled};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching tracking");
}

}  // namespace glint::cuda
