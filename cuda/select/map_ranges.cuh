// Ranking of buckets by ranges of places, whatever is in them.
#ifndef GLINT_CUDA_SELECT_MAP_RANGES_CUH_
#define GLINT_CUDA_SELECT_MAP_RANGES_CUH_

#include "cuda/select/map_buckets.cuh"
#include "cuda/select/map_large.cuh"

namespace glint::cuda {

// Ranks the large bins. All threads must call.
__device__ __forceinline__ void RankLarge(const Frame& frame, const MapFrame& map, uint32_t least,
                                          MapBucketMemory& memory) {
  const Binning bin_of = BinsOf(map);
  const auto of_bin = [&](int bin, auto f) {
    Bucket bucket;
    bucket.Load(map, bin, threadIdx.x < kWarp ? kBucketRoom : 0);
    bucket.ForEach(least, [&](Candidate c) { f(Order(c)); });
    const int level = bin_of.LevelOfBin(bin);
    Overflow(frame, map, least).ForEachOf(level, level, [&](Candidate c) {
      if (bin_of(c) == bin) f(Order(c));
    });
  };
  RankLargeBins(frame, bin_of, of_bin, memory);
}

// Puts what is in the buckets of the range's bins among its entries; returns whether some of these have no room there.
// All threads must call.
__device__ __forceinline__ bool CollectBuckets(const MapFrame& map, const Binning& bin_of, PlaceRange range,
                                               uint32_t least, int edge, MapBucketMemory& memory) {
  constexpr int kAtOnce = 4;
  bool overflows = false;
#pragma unroll 1
  for (int first = range.low + static_cast<int>(threadIdx.x) / kWarp; first <= range.high;
       first += kAtOnce * kMapRankWarps) {
    Bucket bucket[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int bin = first + i * kMapRankWarps;
      uint32_t count = bin <= range.high ? memory.From(bin) - memory.above[bin] : 0;
      if (count > 0 && bin_of.KeyBinOfBin(bin) == edge) count = CountOf(map, bin);
      overflows = overflows || count > kBucketRoom;
      bucket[i].Load(map, bin, count);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      bucket[i].ForEach(least, [&](Candidate c) { Collect(c, first + i * kMapRankWarps, range, memory); });
    }
  }
  return overflows;
}

// Fills memory.above with what stays: from `least` on, and not more than wanted but for ties, unless `is_cut`: then
// memory.total are those that stay. Returns the least key. All threads must call.
__device__ __forceinline__ uint32_t CutBuckets(const Frame& frame, const MapFrame& map, uint32_t least, bool is_cut,
                                               MapBucketMemory& memory) {
  const Binning bin_of = BinsOf(map);
  if (least != 0) CountBuckets(frame, map, bin_of, least, bin_of.KeyBinOf(least), memory);
  if (is_cut || memory.total <= map.wanted) return least;
  least = FindLeastOf(frame, map, bin_of, least, memory);
  CountBuckets(frame, map, bin_of, least, bin_of.KeyBinOf(least), memory);
  return least;
}

// Fills ranges of places, whatever there is; see CutBuckets(). All threads must call.
__device__ __forceinline__ void RankRanges(const Frame& frame, const MapFrame& map, uint32_t least, bool is_cut,
                                           MapBucketMemory& memory) {
  const Binning bin_of = BinsOf(map);
  if (least != 0 || (!is_cut && memory.total > map.wanted)) least = CutBuckets(frame, map, least, is_cut, memory);
  const int edge = least != 0 ? bin_of.KeyBinOf(least) : -1;
  if (blockIdx.x == 0) WriteKept(frame, bin_of, memory);
  ForEachRange(
      [&](PlaceRange range) {
        const bool overflows = CollectBuckets(map, bin_of, range, least, edge, memory);
        if (memory.overflows && __syncthreads_or(overflows) != 0) {
          const int high = bin_of.LevelOfBin(range.high);
          Overflow(frame, map, least).ForEachOf(high, bin_of.LevelOfBin(range.low), [&](Candidate c) {
            const int bin = bin_of(c);
            if (bin >= range.low && bin <= range.high) Collect(c, bin, range, memory);
          });
        }
        FillRange(frame, bin_of, range, memory);
      },
      memory);
  if (memory.has_large) RankLarge(frame, map, least, memory);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_MAP_RANGES_CUH_
