// The bin of a histogram in which the threshold of a selection falls.
#ifndef GLINT_CUDA_SELECT_HISTOGRAM_CUH_
#define GLINT_CUDA_SELECT_HISTOGRAM_CUH_

#include "cuda/common/device.cuh"

namespace glint::cuda {

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
