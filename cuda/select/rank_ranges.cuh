// Ranking of buckets by ranges of ranks, whatever is in them.
#ifndef GLINT_CUDA_SELECT_RANK_RANGES_CUH_
#define GLINT_CUDA_SELECT_RANK_RANGES_CUH_

#include "cuda/select/bin_buckets.cuh"
#include "cuda/select/fill_ranks.cuh"

namespace glint::cuda {

// The corners of a bin, see rank_ties.cuh.
struct BucketOfBin {
  const Frame& frame;
  const SelectionParams& params;
  Binning bin_of;
  uint32_t least;
  int bin;

  static __device__ __forceinline__ int Bits() { return 64; }
  static __device__ __forceinline__ uint64_t Common() { return 0; }
  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    Bucket bucket;
    bucket.Load(params, bin, threadIdx.x < kWarp ? kBucketRoom : 0);
    bucket.ForEach(least, f);
    const int level = bin_of.LevelOfBin(bin);
    OverflowList(frame, params, least).ForEachOf(level, level, [&](Candidate c) {
      if (bin_of(c) == bin) f(c);
    });
  }
};

// Puts what is in the buckets of the range's bins among its entries; returns whether some of these have no room there.
// All threads must call.
__device__ __forceinline__ bool CollectBuckets(const SelectionParams& params, const Binning& bin_of, RankRange range,
                                               uint32_t least, int boundary_bin, BinBucketMemory& memory) {
  constexpr int kAtOnce = 4;
  bool overflows = false;
#pragma unroll 1
  for (int first = range.low + static_cast<int>(threadIdx.x) / kWarp; first <= range.high;
       first += kAtOnce * kImageRankWarps) {
    Bucket bucket[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int bin = first + i * kImageRankWarps;
      uint32_t count = bin <= range.high ? memory.From(bin) - memory.above[bin] : 0;
      if (count > 0 && bin_of.KeyBinOfBin(bin) == boundary_bin) count = CountOf(params, bin);
      overflows = overflows || count > kBucketRoom;
      bucket[i].Load(params, bin, count);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      bucket[i].ForEach(least, [&](Candidate c) { Collect(c, first + i * kImageRankWarps, range, memory); });
    }
  }
  return overflows;
}

// Fills memory.above with what stays: from `least` on, and not more than wanted but for ties, unless `has_threshold`:
// then memory.total are those that stay. Returns the least key. All threads must call.
__device__ __forceinline__ uint32_t ThresholdBuckets(const Frame& frame, const SelectionParams& params, uint32_t least,
                                                     bool has_threshold, BinBucketMemory& memory) {
  const Binning bin_of = BinsOf(params);
  if (least != 0) CountBuckets(frame, params, bin_of, least, bin_of.KeyBinOf(least), memory);
  if (has_threshold || memory.total <= params.wanted) return least;
  least = FindLeastOf(frame, params, bin_of, least, memory);
  CountBuckets(frame, params, bin_of, least, bin_of.KeyBinOf(least), memory);
  return least;
}

// Fills ranges of ranks, whatever there is; see ThresholdBuckets(). All threads must call.
__device__ __forceinline__ void RankRanges(const Frame& frame, const SelectionParams& params, uint32_t least,
                                           bool has_threshold, BinBucketMemory& memory) {
  const Binning bin_of = BinsOf(params);
  if (least != 0 || (!has_threshold && memory.total > params.wanted))
    least = ThresholdBuckets(frame, params, least, has_threshold, memory);
  const int boundary_bin = least != 0 ? bin_of.KeyBinOf(least) : -1;
  if (blockIdx.x == 0) WriteKept(frame, bin_of, memory);
  ForEachRange(
      [&](RankRange range) {
        const bool overflows = CollectBuckets(params, bin_of, range, least, boundary_bin, memory);
        if (memory.overflows && __syncthreads_or(overflows) != 0) {
          const int high = bin_of.LevelOfBin(range.high);
          OverflowList(frame, params, least).ForEachOf(high, bin_of.LevelOfBin(range.low), [&](Candidate c) {
            const int bin = bin_of(c);
            if (bin >= range.low && bin <= range.high) Collect(c, bin, range, memory);
          });
        }
        FillRange(frame, bin_of, range, memory);
      },
      memory);
  if (memory.has_large) {
    const auto source_of = [&frame, &params, bin_of, least](int bin) {
      return BucketOfBin{frame, params, bin_of, least, bin};
    };
    RankLargeBins(frame, bin_of, source_of, memory);
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_RANGES_CUH_
