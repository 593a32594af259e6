// Histograms of a block: counts to sums, the bin that a rank is in, the bins that a range of ranks has.
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

template <int kCount>
__device__ __forceinline__ void LoadVectors(const uint32_t* from, uint32_t (&to)[kCount]) {
  static_assert(kCount == 2 || kCount % 4 == 0);
  if constexpr (kCount == 2) {
    const uint2 two = *reinterpret_cast<const uint2*>(from);
    to[0] = two.x, to[1] = two.y;
  } else {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(from + i);
      to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
  }
}

// Bins low..high, whose corners have ranks first..end-1. Empty unless first < end.
struct RankRange {
  int low, high;
  uint32_t first, end;
};

// How many corners each bin has, then how many come before it: bin 0 holds the best. All threads of the block must call
// the methods with kThreads.
template <int kBinCount>
struct BinSums {
  static constexpr int kCount = kBinCount;

  alignas(16) uint32_t begin[kCount + 1];  // corners in better bins, at the end those in all; first the bin's own
  alignas(16) uint32_t warp_sum[kWarp];    // apart from `begin`: vector loads of it must not cover words of `begin`
  RankRange range;
  int found;

  __device__ __forceinline__ uint32_t Size(int bin) const { return begin[bin + 1] - begin[bin]; }
  __device__ __forceinline__ uint32_t total() const { return begin[kCount]; }

  // A __syncthreads() must follow.
  template <int kThreads>
  __device__ __forceinline__ void Clear() {
#pragma unroll
    for (int i = 0; i < kCount; i += 4 * kThreads) {
      const int at = i + 4 * static_cast<int>(threadIdx.x);
      if (at < kCount) *reinterpret_cast<uint4*>(&begin[at]) = make_uint4(0, 0, 0, 0);
    }
  }

  // From counts to sums, for which `count` is the thread's share of the counts, 0 of threads beyond the first kThreads:
  // where that begins. A __syncthreads() must follow.
  template <int kThreads, int kEach>
  __device__ __forceinline__ uint32_t Sum(const uint32_t (&count)[kEach]) {
    static_assert(kEach * kThreads == kCount);
    uint32_t sums[kEach];
    uint32_t own = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) own += count[i];
    const uint32_t first = SumBefore<kThreads>(own, warp_sum);
    sums[0] = first;
#pragma unroll
    for (int i = 1; i < kEach; ++i) sums[i] = sums[i - 1] + count[i - 1];
    if (threadIdx.x >= kThreads) return first;
    uint32_t* to = &begin[kEach * threadIdx.x];
    if constexpr (kEach == 2) {
      *reinterpret_cast<uint2*>(to) = make_uint2(sums[0], sums[1]);
    } else {
#pragma unroll
      for (int i = 0; i < kEach; i += 4) {
        *reinterpret_cast<uint4*>(to + i) = make_uint4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
      }
    }
    if (threadIdx.x == kThreads - 1) begin[kCount] = first + own;
    return first;
  }
  // Of the counts in `begin`; whether one of the thread's exceeds `largest`. A __syncthreads() must follow.
  template <int kThreads>
  __device__ __forceinline__ bool Sum(uint32_t largest) {
    uint32_t count[kCount / kThreads];
    LoadVectors(&begin[kCount / kThreads * threadIdx.x], count);
    Sum<kThreads>(count);
    bool has_larger = false;
#pragma unroll
    for (const uint32_t n : count) has_larger = has_larger || n > largest;
    return has_larger;
  }

  // The one of bins 0..bins-1 that the rank is in, which must be in one.
  template <int kThreads>
  __device__ __forceinline__ int BinAt(uint32_t rank, int bins = kCount) {
    for (int i = threadIdx.x; i < bins; i += kThreads) {
      if (begin[i] <= rank && rank < begin[i + 1]) found = i;
    }
    __syncthreads();
    return found;
  }

  // The bins that begin at ranks from..to-1, from < total(), without a last one of more than `largest`; in `range`. A
  // __syncthreads() must follow.
  template <int kThreads>
  __device__ __forceinline__ void FindRange(uint32_t from, uint32_t to, uint32_t largest) {
    to = min(to, total());
#pragma unroll
    for (int i = 0; i < kCount / kThreads; ++i) {
      const int bin = threadIdx.x + i * kThreads;
      const uint32_t low = begin[bin];
      const uint32_t high = begin[bin + 1];
      if (low <= from && from < high) {
        range.low = low == from ? bin : bin + 1;
        range.first = low == from ? low : high;
      }
      if (low < to && to <= high) {
        const bool large = high - low > largest;
        range.high = large ? bin - 1 : bin;
        range.end = large ? low : high;
      }
    }
  }
};

// How many of corners begin..end-1 have more than `own`; kLanes neighbouring lanes share the work, and have the sum.
template <int kLanes, typename T>
__device__ __forceinline__ uint32_t CountGreater(const T* of, uint32_t begin, uint32_t end, T own) {
  uint32_t greater = 0;
#pragma unroll 4
  for (uint32_t k = begin + threadIdx.x % kLanes; k < end; k += kLanes) greater += of[k] > own ? 1 : 0;
#pragma unroll
  for (int step = 1; step < kLanes; step *= 2) greater += __shfl_xor_sync(kFullWarp, greater, step);
  return greater;
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
  LoadVectors(histogram + low, bins);
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
