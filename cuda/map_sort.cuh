// Sorting what is to be ranked, by a block: entries come from cells or a shortlist, a window of them at a time, and are
// put in the order of bins of level and key in shared memory.
#ifndef GLINT_CUDA_MAP_SORT_CUH_
#define GLINT_CUDA_MAP_SORT_CUH_

#include "cuda/map_device.cuh"

namespace glint::cuda {

inline constexpr int kMapRankThreads = 512;
inline constexpr int kMapRankWarps = kMapRankThreads / kWarp;
inline constexpr int kLoads = 8;                             // of a thread before the first use
inline constexpr uint32_t kStep = kLoads * kMapRankThreads;  // entries
inline constexpr uint32_t kWindow = kStep;                   // entries
inline constexpr int kPerThread = kWindow / kMapRankThreads;
inline constexpr int kRankBins = 1 << kRankBits;

// A corner as a number that is larger the earlier it is in the output: 15 - level, key, ~position within the level.
// 0: none.
__device__ __forceinline__ uint64_t Order(Candidate c) {
  return static_cast<uint64_t>(15 - LevelOf(c.position)) << 60 | static_cast<uint64_t>(c.key) << 28 |
         (~c.position & 0x0fffffffu);
}
__device__ __forceinline__ uint32_t KeyIn(uint64_t order) { return static_cast<uint32_t>(order >> 28); }
__device__ __forceinline__ Candidate CornerOf(uint64_t order) {
  const auto level = 15 - static_cast<uint32_t>(order >> 60);
  return {level << 28 | (~static_cast<uint32_t>(order) & 0x0fffffffu), KeyIn(order)};
}

// This frame's list: of the other turn everything is 0. So nobody has to wait for the turn's number.
struct Lists {
  const MapList* list;

  __device__ __forceinline__ uint32_t Count(int level) const { return list[0].count[level] | list[1].count[level]; }
  __device__ __forceinline__ uint32_t Greatest() const { return list[0].greatest | list[1].greatest; }
};

// Entries of cells or of a shortlist, 8 bytes each.
template <bool kCells>
struct Source {
  const MapFrame& map;
  const uint64_t* entries;
  size_t other;  // of cells: entries of the other turn, which are all 0, begin there
  uint32_t count;
  uint32_t least;  // entries with smaller keys do not take part

  __device__ __forceinline__ uint64_t Load(uint32_t i) const {
    if (i >= count) return 0;
    return kCells ? entries[i] | entries[other + i] : entries[i];
  }
  __device__ __forceinline__ uint64_t OrderOf(uint64_t entry) const {
    const auto high = static_cast<uint32_t>(entry >> 32);
    const auto low = static_cast<uint32_t>(entry);
    const Candidate c = kCells ? Candidate{~low, KeyOf(map, high)} : Candidate{low, high};
    return high != 0 && c.key >= least ? Order(c) : 0;
  }
};

// Bins are monotonic in Order(): each level's are its keys' leading bits from `top` downwards, what is less in the
// last.
struct Binning {
  int level_bits;    // of the bins of one level
  int lowest_level;  // 15 - the level whose bins are the lowest
  int shift;
  int top;  // the best bin's leading bits

  __device__ __forceinline__ int SlotOf(uint64_t order) const { return static_cast<int>(order >> 60) - lowest_level; }
  __device__ __forceinline__ int OfKey(uint32_t key) const {
    const int last = (1 << level_bits) - 1;
    return Clamp(static_cast<int>(key >> shift) - top + last, 0, last);
  }
  __device__ __forceinline__ int operator()(uint64_t order) const {
    return (SlotOf(order) << level_bits) + OfKey(KeyIn(order));
  }
};

struct Kept {
  uint64_t order;
  uint32_t place;
};

// See FindLeast().
struct Digit {
  uint32_t value;
  bool all;  // those with it stay all
};

struct Memory {
  union {
    uint64_t window[kWindow];
    Kept kept[kMapRankThreads];
  };
  alignas(16) uint32_t above[kRankBins];  // entries of the window in higher bins; before that, in the bin itself
  uint32_t warp_sum[kMapRankWarps];
  uint32_t pending;  // in the window
  uint32_t kept_count;
  Digit digit;
  uint32_t needed;

  // Entries of the window in this bin and higher ones.
  __device__ __forceinline__ uint32_t From(int bin, uint32_t total) const { return bin > 0 ? above[bin - 1] : total; }
};

__device__ __forceinline__ void ClearBins(Memory& memory) {
  static_assert(kRankBins == 4 * kMapRankThreads);
  *reinterpret_cast<uint4*>(&memory.above[4 * threadIdx.x]) = make_uint4(0, 0, 0, 0);
}

// memory.above from counts to sums; returns the sum of all. All threads must call.
__device__ __forceinline__ uint32_t SumBinsAbove(Memory& memory) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  auto* own = reinterpret_cast<uint4*>(&memory.above[kRankBins - 4 - 4 * threadIdx.x]);  // thread 0 has the highest
  const uint4 bins = *own;
  const uint32_t mine = bins.x + bins.y + bins.z + bins.w;
  uint32_t sum = mine;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == kWarp - 1) memory.warp_sum[warp] = sum;
  __syncthreads();
  uint32_t before = 0;
  uint32_t all = 0;
#pragma unroll
  for (int w = 0; w < kMapRankWarps; ++w) {
    const uint32_t n = memory.warp_sum[w];
    before += w < warp ? n : 0;
    all += n;
  }
  const uint32_t w = before + sum - mine;
  const uint32_t z = w + bins.w;
  const uint32_t y = z + bins.z;
  *own = make_uint4(y + bins.y, y, z, w);
  return all;
}

// Fills the window from entry `first` on; returns the entry after the last one looked at. All threads must call;
// memory.pending is 0 before.
template <bool kCells>
__device__ __forceinline__ uint32_t Fill(const Source<kCells>& source, uint32_t first, Memory& memory) {
  for (;;) {
    uint64_t order[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) order[i] = source.Load(first + i * kMapRankThreads + threadIdx.x);
    uint32_t mine = 0;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      order[i] = source.OrderOf(order[i]);
      mine += order[i] != 0 ? 1 : 0;
    }
    uint32_t place = mine;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const uint32_t other = __shfl_up_sync(kFullWarp, place, step);
      if (static_cast<int>(threadIdx.x % kWarp) >= step) place += other;
    }
    uint32_t base = 0;
    if (threadIdx.x % kWarp == kWarp - 1 && place > 0) base = atomicAdd(&memory.pending, place);
    place += __shfl_sync(kFullWarp, base, kWarp - 1) - mine;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (order[i] != 0) memory.window[place++] = order[i];
    }
    first += kStep;
    __syncthreads();
    const uint32_t pending = memory.pending;
    if (first >= source.count || pending + kStep > kWindow) return first;
    __syncthreads();  // before anyone adds more
  }
}

// Orders the window's `count` entries by descending bin. All threads must call; memory.above is 0 before.
__device__ __forceinline__ void SortWindow(const Binning& bin_of, uint32_t count, Memory& memory) {
  uint64_t order[kPerThread];
  uint32_t bin_place[kPerThread];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const uint32_t at = threadIdx.x + i * kMapRankThreads;
    if (at >= count) continue;
    order[i] = memory.window[at];
    const int bin = bin_of(order[i]);
    bin_place[i] = static_cast<uint32_t>(bin) << 16 | atomicAdd(&memory.above[bin], 1u);
  }
  __syncthreads();
  SumBinsAbove(memory);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    if (threadIdx.x + i * kMapRankThreads >= count) continue;
    memory.window[memory.above[bin_place[i] >> 16] + (bin_place[i] & 0xffff)] = order[i];
  }
  __syncthreads();
}

// How many of the window are of the entry's level and precede it.
__device__ __forceinline__ uint32_t Preceding(const Binning& bin_of, uint64_t order, uint32_t count,
                                              const Memory& memory) {
  const int bin = bin_of(order);
  const uint32_t begin = memory.above[bin];
  const uint32_t end = memory.From(bin, count);
  uint32_t preceding = begin - memory.above[((bin_of.SlotOf(order) + 1) << bin_of.level_bits) - 1];
  for (uint32_t k = begin; k < end; ++k) preceding += memory.window[k] > order ? 1 : 0;
  return preceding;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MAP_SORT_CUH_
