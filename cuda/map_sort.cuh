// What is to be ranked, as every block of the ranking sees it: entries of cells or of shortlists, and how many of them
// are in higher bins of level and key than each of the bins.
#ifndef GLINT_CUDA_MAP_SORT_CUH_
#define GLINT_CUDA_MAP_SORT_CUH_

#include "cuda/map_device.cuh"

namespace glint::cuda {

inline constexpr int kMapRankThreads = 1024;
inline constexpr int kMapRankWarps = kMapRankThreads / kWarp;
inline constexpr int kRankBins = 1 << kRankBits;
inline constexpr uint32_t kChunk = 2 * kWarp;                   // entries that a warp loads at once, 16 bytes a lane
inline constexpr int kLoads = 6;                                // of a warp before the first use
inline constexpr uint32_t kLargestShare = 1024;                 // places that a block fills at once
inline constexpr uint32_t kRangeEntries = 2 * kMapRankThreads;  // see FindRange()
static_assert(kRangeEntries >= 2 * kLargestShare && kRangeEntries == kMapRankWarps * kChunk);

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
  __device__ __forceinline__ uint32_t Edges() const { return list[0].edges | list[1].edges; }
};

// The cells or all shortlists in chunks, each of one level's shortlist.
template <bool kCells>
struct Source {
  const Frame& frame;
  const MapFrame& map;
  const uint64_t* cells;
  uint32_t count;   // of cells; of the shortlist of the level that the lane's number names
  uint32_t upto;    // chunks of that level and those before it
  uint32_t chunks;  // of all
  uint32_t least;   // entries with smaller keys do not take part

  // All lanes must call. `turn`: whose cells.
  __device__ __forceinline__ Source(const Frame& f, const MapFrame& m, uint32_t turn)
      : frame(f), map(m), cells(m.cells + turn * m.cell_count), least(0) {
    if (kCells) {
      count = map.cell_count;
      upto = chunks = (count + kChunk - 1) / kChunk;
      return;
    }
    const int lane = threadIdx.x % kWarp;
    count = lane < frame.levels ? Lists{map.counters->list}.Count(lane) : 0;
    upto = SumUpTo((count + kChunk - 1) / kChunk);
    chunks = __shfl_sync(kFullWarp, upto, kWarp - 1);
  }

  // The lane's two entries of a chunk, which may be beyond the last. All lanes must call, with the same chunk.
  __device__ __forceinline__ uint4 Load(uint32_t chunk) const {
    const uint32_t lane2 = threadIdx.x % kWarp * 2;
    const uint4 none = make_uint4(0, 0, 0, 0);
    if (kCells) {
      const uint32_t i = chunk * kChunk + lane2;
      return i < count ? *reinterpret_cast<const uint4*>(&cells[i]) : none;
    }
    if (chunk >= chunks) return none;
    const int l = __popc(__ballot_sync(kFullWarp, chunk >= upto));
    const uint32_t before = __shfl_sync(kFullWarp, upto - (count + kChunk - 1) / kChunk, l);
    const uint32_t end = __shfl_sync(kFullWarp, count, l);
    const uint32_t i = (chunk - before) * kChunk + lane2;
    const Candidate* at = frame.level[l].shortlist + i;
    if (i + 1 < end) return *reinterpret_cast<const uint4*>(at);
    return i < end ? make_uint4(at->position, at->key, 0, 0) : none;
  }

  // The corner of an entry; key 0: none, or one that does not take part.
  __device__ __forceinline__ Candidate CornerIn(uint32_t low, uint32_t high) const {
    Candidate c = kCells ? Candidate{~low, KeyOf(map, high)} : Candidate{low, high};
    if (high == 0 || c.key < least) c.key = 0;
    return c;
  }
  __device__ __forceinline__ uint64_t OrderOf(uint32_t low, uint32_t high) const {
    const Candidate c = CornerIn(low, high);
    return c.key != 0 ? Order(c) : 0;
  }

  // Calls `f` with each corner; the block's warps share them out.
  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    ForEachIn(0, chunks, f);
  }

  // Likewise; of shortlists those of the levels low..high alone. All lanes must call.
  template <typename F>
  __device__ __forceinline__ void ForEachOf(int low, int high, F f) const {
    if (kCells) {
      ForEach(f);
    } else {
      const uint32_t before = __shfl_sync(kFullWarp, upto - (count + kChunk - 1) / kChunk, low);
      ForEachIn(before, __shfl_sync(kFullWarp, upto, high), f);
    }
  }

  // Of chunks begin..end - 1.
  template <typename F>
  __device__ __forceinline__ void ForEachIn(uint32_t begin, uint32_t end, F f) const {
#pragma unroll 1
    for (uint32_t first = begin + threadIdx.x / kWarp; first < end; first += kLoads * kMapRankWarps) {
      uint4 both[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) both[i] = Load(first + i * kMapRankWarps);
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        if (first + i * kMapRankWarps >= end) break;
        const Candidate one = CornerIn(both[i].x, both[i].y);
        const Candidate two = CornerIn(both[i].z, both[i].w);
        if (one.key != 0) f(one);
        if (two.key != 0) f(two);
      }
    }
  }
};

// Bins are monotonic in Order(): each level's are its keys' leading bits from `top` downwards, what is less in the
// last; or scores, many of which tie, and rows.
struct Binning {
  int level_bits;  // of the bins of one level
  int shift;
  int top;          // the best bin's leading bits
  float per_score;  // see MapFrame::by_score; 0 without it
  int tie_bits, tie_shift;

  __device__ __forceinline__ int Lowest(int level) const { return kRankBins - ((level + 1) << level_bits); }
  __device__ __forceinline__ int Highest(int level) const { return Lowest(level - 1) - 1; }
  __device__ __forceinline__ int LevelOfBin(int bin) const { return (kRankBins - 1 - bin) >> level_bits; }
  __device__ __forceinline__ int OfKey(uint32_t key) const {
    const int last = (1 << level_bits) - 1;
    return Clamp(static_cast<int>(key >> shift) - top + last, 0, last);
  }
  __device__ __forceinline__ int operator()(Candidate c) const {
    const int low = Lowest(LevelOf(c.position));
    if (per_score == 0) return low + OfKey(c.key);
    const int score = __float2int_rz(__uint_as_float(FromOrderedKey(c.key)) * per_score);
    return low + ((score + 1) << tie_bits) - 1 - (YOf(c.position) >> tie_shift);
  }
};

// The bins of all levels, of which level 0 has the highest; `top`: no key is greater.
__device__ __forceinline__ Binning BinsOf(const MapFrame& map, uint32_t top) {
  return {map.level_bits, map.rank_shift, static_cast<int>(top >> map.rank_shift), map.by_score ? 1 / map.key_scale : 0,
          map.tie_bits,   map.tie_shift};
}

// See FindLeast().
struct Digit {
  uint32_t value;
  bool all;  // those with it stay all
};

// Bins low to high, whose entries have the places from `first` to `end` - 1 in the order of all levels.
struct PlaceRange {
  int low, high;
  uint32_t first, end;
};

struct Memory {
  alignas(16) uint32_t above[kRankBins];  // entries in higher bins; before that, in the bin itself
  uint32_t taken[kRankBins];              // entries of the bin that are in `entry`
  alignas(16) uint64_t entry[kRangeEntries];
  union {
    float angle[kRangeEntries];
    int bin[kRangeEntries];  // of `entry`, where large bins are ranked
  };
  uint32_t warp_sum[kMapRankWarps];
  uint32_t total;  // of all bins
  PlaceRange range;
  bool has_large;  // bins of more than kLargestShare entries
  Digit digit;
  uint32_t needed;

  // Entries in this bin and higher ones.
  __device__ __forceinline__ uint32_t From(int bin) const { return bin > 0 ? above[bin - 1] : total; }
};

__device__ __forceinline__ void ClearBins(Memory& memory) {
  static_assert(kRankBins == 2 * kMapRankThreads);
  *reinterpret_cast<uint2*>(&memory.above[2 * threadIdx.x]) = make_uint2(0, 0);
}

// memory.above from counts to sums, and their total; they are there after a __syncthreads(). All threads must call.
__device__ __forceinline__ void SumBinsAbove(Memory& memory) {
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  auto* own = reinterpret_cast<uint2*>(&memory.above[kRankBins - 2 - 2 * threadIdx.x]);  // thread 0 has the highest
  const uint2 bins = *own;
  const uint32_t mine = bins.x + bins.y;
  if (max(bins.x, bins.y) > kLargestShare) memory.has_large = true;
  const uint32_t sum = SumUpTo(mine);
  if (lane == kWarp - 1) memory.warp_sum[warp] = sum;
  __syncthreads();
  static_assert(kMapRankWarps == kWarp);
  const auto of_warp = static_cast<int>(memory.warp_sum[lane]);
  const auto before = static_cast<uint32_t>(WarpSum(lane < warp ? of_warp : 0));
  const uint32_t above = before + sum - mine;
  *own = make_uint2(above + bins.y, above);
  if (threadIdx.x == kMapRankThreads - 1) memory.total = before + sum;  // the lowest bins
}

// Fills memory.above. All threads must call; memory.above is 0 before.
template <bool kCells>
__device__ __forceinline__ void CountBins(const Source<kCells>& source, const Binning& bin_of, Memory& memory) {
  if (threadIdx.x == 0) memory.has_large = false;
  source.ForEach([&](Candidate c) { atomicAdd(&memory.above[bin_of(c)], 1u); });
  __syncthreads();
  SumBinsAbove(memory);
  __syncthreads();
}

// The bins that begin at the places begin..end - 1, the first of which is filled; without a last one of more
// than kLargestShare entries, which leaves less than kRangeEntries. All threads must call.
__device__ __forceinline__ PlaceRange FindRange(uint32_t begin, uint32_t end, Memory& memory) {
  end = end < memory.total ? end : memory.total;
#pragma unroll
  for (int i = 0; i < kRankBins / kMapRankThreads; ++i) {
    const int bin = threadIdx.x + i * kMapRankThreads;
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

#endif  // GLINT_CUDA_MAP_SORT_CUH_
