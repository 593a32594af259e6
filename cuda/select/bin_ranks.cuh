// What is to be ranked, as every block of the ranking sees it: the entries of cells, how many entries are in higher
// bins of level and key than each of the bins, and which ranks the bins have.
#ifndef GLINT_CUDA_SELECT_BIN_RANKS_CUH_
#define GLINT_CUDA_SELECT_BIN_RANKS_CUH_

#include "cuda/common/sort_key.cuh"
#include "cuda/select/bins.cuh"
#include "cuda/select/rank_ties.cuh"

namespace glint::cuda {

inline constexpr int kImageRankWarps = kImageRankThreads / kWarp;
inline constexpr uint32_t kChunk = 2 * kWarp;                     // entries that a warp loads at once, 16 bytes a lane
inline constexpr uint32_t kLargestShare = 1024;                   // ranks that a block fills at once
inline constexpr uint32_t kRangeEntries = 2 * kImageRankThreads;  // see FindRange()
static_assert(kRangeEntries >= 2 * kLargestShare && kRangeEntries == kImageRankWarps * kChunk);

// This frame's list: of the other buffer everything is 0. So nobody has to wait for the buffer's number.
struct Lists {
  const BucketCounts* list;

  __device__ __forceinline__ uint32_t Count(int level) const { return list[0].count[level] | list[1].count[level]; }
  __device__ __forceinline__ uint32_t Greatest() const { return list[0].greatest | list[1].greatest; }
};

// Calls `f` with each corner of chunks begin..end - 1 of `source`; the block's warps share them out.
template <typename Source, typename F>
__device__ __forceinline__ void ForEachIn(const Source& source, uint32_t begin, uint32_t end, F f) {
  constexpr int kLoads = Source::kLoads;
#pragma unroll 1
  for (uint32_t first = begin + threadIdx.x / kWarp; first < end; first += kLoads * kImageRankWarps) {
    uint4 both[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) both[i] = source.Load(first + i * kImageRankWarps);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (first + i * kImageRankWarps >= end) break;
      const Candidate one = source.CornerIn(both[i].x, both[i].y);
      const Candidate two = source.CornerIn(both[i].z, both[i].w);
      if (one.key != 0) f(one);
      if (two.key != 0) f(two);
    }
  }
}

// The cells in chunks.
struct Cells {
  static constexpr int kLoads = 6;  // of a warp before the first use

  const SelectionParams& params;
  const uint64_t* cells;
  uint32_t chunks;     // of all
  uint32_t least = 0;  // entries with smaller keys do not take part

  // `buffer`: whose cells.
  __device__ __forceinline__ Cells(const SelectionParams& m, uint32_t buffer)
      : params(m), cells(m.cells + buffer * m.cell_count), chunks((m.cell_count + kChunk - 1) / kChunk) {}

  // The lane's two entries of a chunk, which may be beyond the last.
  __device__ __forceinline__ uint4 Load(uint32_t chunk) const {
    const uint32_t i = chunk * kChunk + threadIdx.x % kWarp * 2;
    return i < params.cell_count ? *reinterpret_cast<const uint4*>(&cells[i]) : make_uint4(0, 0, 0, 0);
  }

  // The corner of an entry; key 0: none, or one that does not take part.
  __device__ __forceinline__ Candidate CornerIn(uint32_t low, uint32_t high) const {
    Candidate c = {~low, KeyOf(params, high)};
    if (high == 0 || c.key < least) c.key = 0;
    return c;
  }

  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    ForEachIn(*this, 0, chunks, f);
  }
};

// See FindDigit().
struct Digit {
  uint32_t value;
  bool all;  // those with it stay all
};

// Bins low to high, whose entries have the ranks from `first` to `end` - 1 in the order of all levels.
struct RankRange {
  int low, high;
  uint32_t first, end;
};

struct Memory {
  alignas(16) uint32_t above[kImageRankBins];  // entries in higher bins; before that, in the bin itself
  union {
    uint32_t taken[kImageRankBins];  // entries of the bin that are in `entry`
    TieMemory ties;                  // later
  };
  alignas(16) uint64_t entry[kRangeEntries];  // Precedence()
  float angle[kRangeEntries];
  uint32_t warp_sum[kImageRankWarps];
  uint32_t total;  // of all bins
  RankRange range;
  bool has_large;  // bins of more than kLargestShare entries
  Digit digit;
  uint32_t needed;

  // Entries in this bin and higher ones.
  __device__ __forceinline__ uint32_t From(int bin) const { return bin > 0 ? above[bin - 1] : total; }
};

__device__ __forceinline__ void ClearBins(Memory& memory) {
  static_assert(kImageRankBins == 2 * kImageRankThreads);
  *reinterpret_cast<uint2*>(&memory.above[2 * threadIdx.x]) = make_uint2(0, 0);
}

// memory.above from counts to sums, and their total; they are there after a __syncthreads(). All threads must call.
__device__ __forceinline__ void SumBinsAbove(Memory& memory) {
  // Thread 0 has the highest.
  auto* own = reinterpret_cast<uint2*>(&memory.above[kImageRankBins - 2 - 2 * threadIdx.x]);
  const uint2 bins = *own;
  if (max(bins.x, bins.y) > kLargestShare) memory.has_large = true;
  const uint32_t above = SumBefore<kImageRankThreads>(bins.x + bins.y, memory.warp_sum);
  *own = make_uint2(above + bins.y, above);
  if (threadIdx.x == kImageRankThreads - 1) memory.total = above + bins.x + bins.y;  // the lowest bins
}

// Fills memory.above. All threads must call; memory.above is 0 before.
__device__ __forceinline__ void CountBins(const Cells& source, const Binning& bin_of, Memory& memory) {
  if (threadIdx.x == 0) memory.has_large = false;
  source.ForEach([&](Candidate c) { atomicAdd(&memory.above[bin_of(c)], 1u); });
  __syncthreads();
  SumBinsAbove(memory);
  __syncthreads();
}

// The bins that begin at the ranks begin..end - 1, the first of which is filled; without a last one of more
// than kLargestShare entries, which leaves less than kRangeEntries. All threads must call.
__device__ __forceinline__ RankRange FindRange(uint32_t begin, uint32_t end, Memory& memory) {
  end = end < memory.total ? end : memory.total;
#pragma unroll
  for (int i = 0; i < kImageRankBins / kImageRankThreads; ++i) {
    const int bin = threadIdx.x + i * kImageRankThreads;
    const uint32_t from = memory.above[bin];
    const uint32_t to = memory.From(bin);
    if (from <= begin && begin < to) {
      memory.range.high = from == begin ? bin : bin - 1;
      memory.range.first = from == begin ? from : to;
    }
    if (from < end && end <= to) {
      const bool large = to - from > kLargestShare;
      memory.range.low = large ? bin + 1 : bin;
      memory.range.end = large ? from : to;
    }
  }
  __syncthreads();
  return memory.range;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_BIN_RANKS_CUH_
