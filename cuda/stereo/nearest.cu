// The nearest allowed right keypoint of each left one: a warp a left keypoint, a lane a candidate of its band of rows.
// The reverse, for the cross check, by atomic minima of keys, which do not depend on their order.
#include "cuda/common/warp.cuh"
#include "cuda/match/match_params.h"
#include "cuda/runtime/error.h"
#include "cuda/stereo/stereo_stages.h"

namespace glint::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;

// Of descriptors of `vectors` times 8 bytes.
__device__ __forceinline__ int HammingDistance(const uint8_t* a, const uint8_t* b, int vectors) {
  const auto* from_a = reinterpret_cast<const uint2*>(a);
  const auto* from_b = reinterpret_cast<const uint2*>(b);
  int sum = 0;
#pragma unroll 4
  for (int v = 0; v < vectors; ++v) {
    const uint2 one = from_a[v], other = from_b[v];
    sum += __popc(one.x ^ other.x) + __popc(one.y ^ other.y);
  }
  return sum;
}

__global__ void __launch_bounds__(kThreads) FindNearestKernel(GLINT_KERNEL_ARGUMENT StereoParams params) {
  AllowSuccessor();
  WaitForPredecessor();
  const int i = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / kWarp);
  if (i >= params.left.count) return;
  const StereoOptions& options = params.options;
  const StereoPoint point = {params.left.x[i], params.left.y[i], params.left.octave[i]};
  const int highest = Min(point.octave + options.max_octave_difference, params.levels - 1);
  // The band ends within two rows; see IsStereoPair().
  const float reach = options.band * params.level[highest].scale + 2;
  const int rows = params.level[0].height;
  const int top = Clamp(static_cast<int>(point.y - reach), 0, rows - 1);
  const int bottom = Clamp(static_cast<int>(point.y + reach), 0, rows - 1);
  const uint32_t end = params.row_first[bottom + 1];
  const auto bytes = static_cast<size_t>(params.bytes);
  const uint8_t* own = params.left.descriptors + i * bytes;
  uint32_t least = kNoKey;
  for (uint32_t at = params.row_first[top] + threadIdx.x % kWarp; at < end; at += kWarp) {
    const StereoCandidate other = params.candidates[at];
    const StereoPoint right = {other.x, other.y, other.octave};
    if (!IsStereoPair(options, point, right, params.level[other.octave].scale)) continue;
    const int distance = HammingDistance(own, params.right.descriptors + other.index * bytes, params.bytes / 8);
    least = min(least, MatchKey(distance, other.index));
    if (options.cross_check) atomicMin(&params.nearest_left[other.index], MatchKey(distance, i));
  }
  least = ~WarpMax(~least);
  if (threadIdx.x % kWarp == 0) params.nearest_right[i] = least;
}

}  // namespace

absl::Status FindNearest(StreamView stream, const StereoParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&FindNearestKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(DivideUp(params.left.count, kWarps));
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<StereoParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the search in row bands");
}

}  // namespace glint::cuda
