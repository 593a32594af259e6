// Tracking: all points and levels in one launch, a warp a point; where that leaves multiprocessors idle, a warp for
// each of its levels. All lanes solve the same system from the same sums and so take the same steps.
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

// A warp for each level: of a block at most, and of a multiprocessor where that is faster, which has room for 20 (96
// registers, without a spill; with room for 25 it spills).
constexpr int kMostLevelWarps = 5;
constexpr int kLevelWarpsAtMost = 20;

// Where a point begins, and the work of the launch before is done.
__device__ __forceinline__ TrackStart StartOf(const TrackParams& params) {
  const float4 start = *reinterpret_cast<const float4*>(&params.starts[blockIdx.x]);
  WaitForPredecessor();
  return {start.x, start.y, start.z, start.w};
}

template <class AnyPatches>
__device__ __forceinline__ TrackedPoint Track(const TrackParams& params, const TrackStart& start, AnyPatches* patches) {
  return TrackPoint(start.x, start.y, start.to_x - start.x, start.to_y - start.y, params.options, patches);
}

// One thread's task, in two writes.
__device__ __forceinline__ void Store(const TrackedPoint& point, TrackedPoint* to) {
  union {
    TrackedPoint point;
    uint4 halves[2];
  } whole;
  static_assert(sizeof(whole) == sizeof(TrackedPoint));
  whole.point = point;
  auto* const halves = reinterpret_cast<uint4*>(to);
  halves[0] = whole.halves[0];
  halves[1] = whole.halves[1];
}

template <int kRuns, bool kIntensity>
__global__ void __launch_bounds__(kWarp, kWarpsAtLeast<kRuns, kIntensity>)
    TrackKernel(GLINT_KERNEL_ARGUMENT TrackParams params) {
  __shared__ Windows<kRuns, 2> windows;
  const TrackStart start = StartOf(params);
  Patches<kRuns, kIntensity, 2> patches(params, start.x, start.y, &windows);
  const TrackedPoint point = Track(params, start, &patches);
  if (threadIdx.x == 0) Store(point, &params.points[blockIdx.x]);
}

template <int kRuns, bool kIntensity>
__global__ void __launch_bounds__(kWarp* kMostLevelWarps, kRuns == 1 && !kIntensity ? 4 : 1)
    TrackLevelsKernel(GLINT_KERNEL_ARGUMENT TrackParams params) {
  __shared__ OneWay ways[2];
  extern __shared__ __align__(kWindowUnit) uint8_t memory[];
  auto* const windows = reinterpret_cast<Windows<kRuns, 1>*>(memory) + threadIdx.y;
  const TrackStart start = StartOf(params);
  LevelWarps<kRuns, kIntensity> warps(params, start.x, start.y, windows, &ways);
  const TrackedPoint point = Track(params, start, &warps);
  if (threadIdx.x == 0 && threadIdx.y == 0) Store(point, &params.points[blockIdx.x]);
}

// How a launch is made for patches up to some size.
struct Kernels {
  const void* points;
  const void* levels;
  size_t windows;  // bytes of shared memory for each warp of the latter
};
template <int kRuns, bool kIntensity>
Kernels KernelsOf() {
  return {reinterpret_cast<const void*>(&TrackKernel<kRuns, kIntensity>),
          reinterpret_cast<const void*>(&TrackLevelsKernel<kRuns, kIntensity>), sizeof(Windows<kRuns, 1>)};
}
template <bool kIntensity>
Kernels KernelsFor(int size) {
  return size <= Layout<1>::kPatch   ? KernelsOf<1, kIntensity>()
         : size <= Layout<2>::kPatch ? KernelsOf<2, kIntensity>()
                                     : KernelsOf<4, kIntensity>();
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
  const Kernels kernels = o.intensity == IntensityModel::kSame ? KernelsFor<false>(size) : KernelsFor<true>(size);
  const bool by_level = params.levels > 1 && params.levels <= kMostLevelWarps &&
                        params.count * params.levels <= kLevelWarpsAtMost * multiprocessors;
  KernelLaunch launch;
  launch.kernel = by_level ? kernels.levels : kernels.points;
  launch.block = dim3(kWarp, by_level ? static_cast<unsigned>(params.levels) : 1);
  launch.grid = dim3(static_cast<unsigned>(params.count));
  if (by_level) launch.shared_bytes = kernels.windows * static_cast<size_t>(params.levels);
  launch.overlaps_predecessor = true;
  void* arguments[] = {&filled};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching tracking");
}

}  // namespace glint::cuda
