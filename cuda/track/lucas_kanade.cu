// Tracking: a warp a point, all levels in one launch. All lanes solve the same system from the same sums and so take
// the same steps.
#include "cuda/common/warp.cuh"
#include "cuda/runtime/error.h"
#include "cuda/track/patches.cuh"
#include "cuda/track/track_stages.h"
#include "features/track_point.h"

namespace glint::cuda {
namespace {

// Warps of a multiprocessor at least, where it has room for so many blocks: 64 registers, without a spill (sm_90, CUDA
// 13.0). Without the bound ptxas takes 80.
template <int kRuns, bool kIntensity>
constexpr int kWarpsAtLeast = kRuns == 1 && !kIntensity ? 32 : 1;

template <int kRuns, bool kIntensity>
__global__ void __launch_bounds__(kWarp, kWarpsAtLeast<kRuns, kIntensity>)
    TrackKernel(GLINT_KERNEL_ARGUMENT TrackParams params) {
  __shared__ Windows<kRuns> windows;
  const int i = blockIdx.x;
  const float x = params.x[i];
  const float y = params.y[i];
  const float dx = params.to_x == nullptr ? 0 : params.to_x[i] - x;
  const float dy = params.to_y == nullptr ? 0 : params.to_y[i] - y;
  Patches<kRuns, kIntensity> patches(params, x, y, &windows);
  const TrackedPoint point = TrackPoint(x, y, dx, dy, params.options, &patches);
  if (threadIdx.x == 0) params.points[i] = point;
}

template <bool kIntensity>
const void* KernelFor(int size) {
  return size <= Layout<1>::kPatch   ? reinterpret_cast<const void*>(&TrackKernel<1, kIntensity>)
         : size <= Layout<2>::kPatch ? reinterpret_cast<const void*>(&TrackKernel<2, kIntensity>)
                                     : reinterpret_cast<const void*>(&TrackKernel<4, kIntensity>);
}

}  // namespace

absl::Status TrackPoints(StreamView stream, const TrackParams& params) {
  const TrackOptions& o = params.options;
  const int fine = o.fine_levels > 0 ? o.patch_size : 0;
  const int coarse = o.fine_levels < params.levels ? o.coarse_patch_size : 0;
  const int size = Max(fine, coarse);
  const auto reciprocal = [](int n) { return (1u << 16) / static_cast<unsigned>(n) + 1; };
  TrackParams filled = params;
  filled.run_reciprocals[0] = reciprocal(o.patch_size);
  filled.run_reciprocals[1] = reciprocal(o.coarse_patch_size);
  KernelLaunch launch;
  launch.kernel = o.intensity == IntensityModel::kSame ? KernelFor<false>(size) : KernelFor<true>(size);
  launch.block = dim3(kWarp);
  launch.grid = dim3(params.count);
  void* arguments[] = {&filled};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching tracking");
}

}  // namespace glint::cuda
