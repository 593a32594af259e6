// Sums over a block, and the bin of a histogram in which the threshold of a selection falls.
#ifndef GLINT_CUDA_SELECT_HISTOGRAM_CUH_
#define GLINT_CUDA_SELECT_HISTOGRAM_CUH_

#include "cuda/common/warp.cuh"

namespace glint::cuda {

// The sum of `own` over the threads of the block before this one. `warp_sum`: kWarp of them, shared. Once in it, all
// threads wait for each other.
template <int kThreads>
__device__ __forceinline__ uint32_t SumBefore(uint32_t own, uint32_t* warp_sum) {
  const uint32_t upto = SumUpTo(own);
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  if (lane == kWarp - 1) warp_sum[warp] = upto;
  __syncthreads();
  uint32_t before = upto - own;
  if constexpr (kThreads == kWarp * kWarp) {
    const auto of_warp = static_cast<int>(warp_sum[lane]);
    before += static_cast<uint32_t>(WarpSum(lane < warp ? of_warp : 0));
  } else {
#pragma unroll
    for (int w = 0; w < kThreads / kWarp; ++w) before += w < warp ? warp_sum[w] : 0;
  }
  return before;
}

// Of kCount bins the one that the wanted-th largest entry is in, wanted > 0, by the calling warp. -1 if there are
// fewer; their number is then in `*count`.
template <int kCount>
__device__ __forceinline__ int FindThresholdBin(const uint32_t* histogram, uint32_t wanted, uint32_t* count) {
  constexpr int kPerLane = kCount / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int low = kCount - kPerLane * (lane + 1);  // lane 0 has the highest
  uint32_t bins[kPerLane];
  uint32_t mine = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; i += 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(histogram + low + i);
    bins[i] = four.x, bins[i + 1] = four.y, bins[i + 2] = four.z, bins[i + 3] = four.w;
  }
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) mine += bins[i];
  const uint32_t upto = SumUpTo(mine);
  const unsigned reached = __ballot_sync(kFullWarp, upto >= wanted);
  if (reached == 0) {
    *count = __shfl_sync(kFullWarp, upto, kWarp - 1);
    return -1;
  }
  uint32_t sum = upto - mine;
  int bin = low;
#pragma unroll
  for (int i = kPerLane - 1; i >= 0; --i) {
    if (sum < wanted) bin = low + i;
    sum += bins[i];
  }
  return __shfl_sync(kFullWarp, bin, __ffs(static_cast<int>(reached)) - 1);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_HISTOGRAM_CUH_
