// Ranking of bins in which very many entries are.
//
// A block has a share of the places of all large bins. In a bin of these it divides the orders from the least to the
// greatest evenly into bins of their own, and then the one of these that its first place is in, until that has few
// entries; from there on it collects what there is room for. So however many tie, nothing is compared with many.
#ifndef GLINT_CUDA_SELECT_LARGE_BINS_CUH_
#define GLINT_CUDA_SELECT_LARGE_BINS_CUH_

#include "cuda/select/fill_ranks.cuh"

namespace glint::cuda {

inline constexpr uint32_t kMostCompared = 256;  // entries, each with all others

// Bits of a number, without those above its highest 1.
__device__ __forceinline__ int BitsOf(uint64_t n) {
  const auto high = static_cast<int>(n >> 32);
  return high != 0 ? 64 - __clz(high) : 32 - __clz(static_cast<int>(n));
}

// Bins of the orders in a range. All of it is in shared memory: registers are few.
struct OrderBins {
  const Memory& memory;

  __device__ __forceinline__ int operator()(uint64_t order) const {
    return static_cast<int>((order - memory.orders.low) >> memory.order_shift);
  }
  __device__ __forceinline__ OrderRange RangeOf(int bin) const {
    const OrderRange all = memory.orders;
    const uint64_t low = all.low + (static_cast<uint64_t>(bin) << memory.order_shift);
    const uint64_t beyond = (uint64_t{1} << memory.order_shift) - 1;
    return {low, all.high - low < beyond ? all.high : low + beyond};
  }
};

// The greatest of the lanes' numbers, in all of them. All lanes must call.
__device__ __forceinline__ uint64_t WarpMax(uint64_t v) {
#pragma unroll
  for (int i = 1; i < kWarp; i *= 2) {
    const uint64_t other = __shfl_xor_sync(kFullWarp, v, i);
    v = other > v ? other : v;
  }
  return v;
}

// Narrows memory.orders to the least and the greatest of those in it that `for_each` calls with, and divides that. All
// threads must call.
template <typename F>
__device__ __forceinline__ void FindExtremes(F for_each, Memory& memory) {
  __syncthreads();
  uint64_t order = 0;
  uint64_t complement = 0;
  for_each([&](uint64_t other) {
    if (!memory.orders.Has(other)) return;
    order = other > order ? other : order;
    complement = ~other > complement ? ~other : complement;
  });
  order = WarpMax(order);
  complement = WarpMax(complement);
  // Of the warps, where entries will be: there are no atomics of 64 bits on shared memory but loops.
  if (threadIdx.x % kWarp == 0) {
    memory.entry[threadIdx.x / kWarp] = order;
    memory.entry[kImageRankWarps + threadIdx.x / kWarp] = complement;
  }
  __syncthreads();
  if (threadIdx.x < kWarp) {
    const uint64_t high = WarpMax(memory.entry[threadIdx.x]);
    if (threadIdx.x == 0) memory.orders.high = high;
    const uint64_t low = ~WarpMax(memory.entry[kImageRankWarps + threadIdx.x]);
    if (threadIdx.x == 0) {
      memory.orders.low = low;
      memory.order_shift = Max(BitsOf(memory.orders.high - low) - kRankBits, 0);
    }
  }
  __syncthreads();
}

// Fills the places from `from` on in a large bin, of whose entries `for_each` calls with the orders; at least one, and
// not beyond `end`. Returns where it stopped. memory.taken: sums of the ranking's bins, which memory.above has
// afterwards. All threads must call.
template <typename F>
__device__ __forceinline__ uint32_t FillRanksOf(const Frame& frame, const Binning& bin_of, int large_bin, uint32_t from,
                                                uint32_t end, F for_each, Memory& memory) {
  const OrderBins bins = {memory};
  RankRange& range = memory.range;
  uint32_t before = 0;  // the orders that are divided
  if (threadIdx.x == 0) memory.orders = {0, ~uint64_t{0}};
  while (true) {
    FindExtremes(for_each, memory);
    ClearBins(memory);
    if (threadIdx.x == 0) range.low = 0;
    __syncthreads();
    for_each([&](uint64_t order) {
      if (memory.orders.Has(order)) atomicAdd(&memory.above[bins(order)], 1u);
    });
    __syncthreads();
    SumBinsAbove(memory);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kImageRankBins / kImageRankThreads; ++i) {
      const int bin = threadIdx.x + i * kImageRankThreads;
      if (memory.above[bin] > from - before || memory.From(bin) <= from - before) continue;
      range.high = bin;
      range.first = memory.above[bin];
    }
    __syncthreads();
    if (memory.From(range.high) - range.first <= kMostCompared) break;
    before += range.first;
    if (threadIdx.x == 0) memory.orders = bins.RangeOf(range.high);
  }
  // As many bins as there is room for, none of them with too many, and none beyond the end.
#pragma unroll
  for (int i = 0; i < kImageRankBins / kImageRankThreads; ++i) {
    const int bin = threadIdx.x + i * kImageRankThreads;
    const bool stays = memory.From(bin) - range.first <= kRangeEntries && memory.above[bin] < end - before &&
                       memory.From(bin) - memory.above[bin] <= kMostCompared;
    const uint32_t low = WarpMax(bin < range.high && !stays ? static_cast<uint32_t>(bin) + 1 : 0);
    if (threadIdx.x % kWarp == 0) atomicMax(&range.low, static_cast<int>(low));
  }
  __syncthreads();
  if (threadIdx.x == 0) range.end = memory.From(range.low);
  __syncthreads();
  for_each([&](uint64_t order) {
    if (!memory.orders.Has(order)) return;
    const int bin = bins(order);
    if (bin >= range.low && bin <= range.high) memory.entry[atomicAdd(&memory.above[bin], 1u) - range.first] = order;
  });
  __syncthreads();
  // Each of these bins' sums has become that of the next lower bin.
  constexpr int kOwn = kRangeEntries / kImageRankThreads;
  uint64_t own[kOwn];
  uint32_t place[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const uint32_t at = threadIdx.x + i * kImageRankThreads;
    place[i] = ~0u;
    if (at >= range.end - range.first) continue;
    own[i] = memory.entry[at];
    const int bin = bins(own[i]);
    const uint32_t end_of_bin = memory.above[bin] - range.first;
    uint32_t above = bin < range.high ? memory.above[bin + 1] - range.first : 0;
    place[i] = before + range.first + above;
    for (; above < end_of_bin; ++above) place[i] += memory.entry[above] > own[i] ? 1 : 0;
  }
  __syncthreads();
  const uint32_t stop = min(before + range.end, end);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (place[i] >= from && place[i] < stop) memory.entry[place[i] - from] = own[i];
  }
  *reinterpret_cast<uint2*>(&memory.above[2 * threadIdx.x]) =
      *reinterpret_cast<const uint2*>(&memory.taken[2 * threadIdx.x]);
  __syncthreads();
  const uint32_t first = memory.above[large_bin] + from;
  OrientAndWrite(
      frame, bin_of, stop - from, [&](uint32_t i) { return first + i; }, memory);
  __syncthreads();
  return stop;
}

// Ranks the entries of the large bins. `for_each(bin, f)` calls `f` with the order of each entry of a bin. All threads
// must call.
template <typename F>
__device__ __forceinline__ void RankLargeBins(const Frame& frame, const Binning& bin_of, F for_each, Memory& memory) {
  const uint32_t total = memory.total;
  *reinterpret_cast<uint2*>(&memory.taken[2 * threadIdx.x]) =
      *reinterpret_cast<const uint2*>(&memory.above[2 * threadIdx.x]);
  __syncthreads();
  for (uint32_t filled = 0;;) {
    // ReflectedOffsets of large bins alone.
#pragma unroll
    for (int i = 0; i < kImageRankBins / kImageRankThreads; ++i) {
      const int bin = threadIdx.x + i * kImageRankThreads;
      const uint32_t above = memory.taken[bin];
      const uint32_t upto = bin > 0 ? memory.taken[bin - 1] : total;
      memory.above[bin] = above < upto && upto <= total && upto - above > kLargestShare ? upto - above : 0;
    }
    __syncthreads();
    SumBinsAbove(memory);
    __syncthreads();
    const uint32_t share = (memory.total + gridDim.x - 1) / gridDim.x;
    const uint32_t begin = blockIdx.x * share + filled;
    const uint32_t end = min((blockIdx.x + 1) * share, memory.total);
    if (begin >= end) return;
#pragma unroll
    for (int i = 0; i < kImageRankBins / kImageRankThreads; ++i) {
      const int bin = threadIdx.x + i * kImageRankThreads;
      if (memory.above[bin] > begin || memory.From(bin) <= begin) continue;
      memory.range = {bin, bin, memory.above[bin], memory.From(bin)};
    }
    __syncthreads();
    const RankRange large = memory.range;
    const auto of_bin = [&](auto f) { for_each(large.low, f); };
    uint32_t from = begin - large.first;
    const uint32_t stop = min(end, large.end) - large.first;
    while (from < stop) from = FillRanksOf(frame, bin_of, large.low, from, stop, of_bin, memory);
    filled = large.first + stop - blockIdx.x * share;
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_LARGE_BINS_CUH_
