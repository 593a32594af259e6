// Ranking of buckets by ranges of ranks, whatever is in them.
#ifndef GLINT_CUDA_SELECT_RANK_RANGES_CUH_
#define GLINT_CUDA_SELECT_RANK_RANGES_CUH_

#include "cuda/select/threshold.cuh"

namespace glint::cuda {

struct BinBucketMemory : Memory {
  bool overflows;   // a bin has more than kBucketRoom
  uint32_t listed;  // see OrientBins()
};

// The counts of two bins that a thread loads.
struct LoadedCounts {
  int bin[2];
  uint32_t count[2];

  __device__ __forceinline__ explicit LoadedCounts(const SelectionParams& params) {
    const BucketCounts* list = params.counters->list;
    const uint2 one = *reinterpret_cast<const uint2*>(&list[0].of_bin[2 * threadIdx.x]);
    const uint2 other = *reinterpret_cast<const uint2*>(&list[1].of_bin[2 * threadIdx.x]);
    bin[0] = BinAt(params, 2 * static_cast<int>(threadIdx.x));
    bin[1] = BinAt(params, 2 * static_cast<int>(threadIdx.x) + 1);
    count[0] = one.x | other.x;
    count[1] = one.y | other.y;
  }
};

// Fills memory.bins with what there is from `least` on, whose key bin is `boundary_bin`, kImageRankBins if it is 0. All
// threads must call.
__device__ __forceinline__ void CountBuckets(const Frame& frame, const SelectionParams& params, const Binning& bin_of,
                                             uint32_t least, int boundary_bin, BinBucketMemory& memory) {
  const LoadedCounts counts(params);
  __syncthreads();  // all have read what is overwritten here
  if (threadIdx.x == 0) memory.has_large = memory.overflows = false;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int key_bin = bin_of.KeyBinOfBin(counts.bin[i]);
    if (key_bin <= boundary_bin && counts.count[i] > kBucketRoom) memory.overflows = true;
    memory.bins.begin[counts.bin[i]] = key_bin < boundary_bin ? counts.count[i] : 0;
  }
  __syncthreads();
  if (boundary_bin < kImageRankBins) {
    BinnedCorners::OfKeyBin(frame, params, least, boundary_bin).ForEach([&](Candidate c) {
      atomicAdd(&memory.bins.begin[bin_of(c)], 1u);
    });
    __syncthreads();
  }
  memory.SumBins();
}

// The key from which on the wanted number stay, of more from `least` on that memory.bins has the sums of; what ties
// with the last of them stays, too. All threads must call.
__device__ __forceinline__ uint32_t FindLeastOf(const Frame& frame, const SelectionParams& params,
                                                const Binning& bin_of, uint32_t least, BinBucketMemory& memory) {
  uint32_t counts[2];
  const int own = 2 * static_cast<int>(threadIdx.x);
#pragma unroll
  for (int i = 0; i < 2; ++i) counts[i] = memory.bins.Size(own + i);
  __syncthreads();
  memory.bins.Clear<kImageRankThreads>();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (counts[i] != 0) atomicAdd(&memory.bins.begin[bin_of.KeyBinOfBin(own + i)], counts[i]);
  }
  __syncthreads();
  const auto source_of = [&](int key_bin) { return BinnedCorners::OfKeyBin(frame, params, least, key_bin); };
  return max(least, FindLeast(source_of, params, bin_of, memory));
}

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
      uint32_t count = bin <= range.high ? memory.bins.Size(bin) : 0;
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

// Fills ranges of ranks, whatever there is, with what stays of memory.bins: from `least` on, and not more than wanted
// but for ties. `has_threshold`: memory.bins has no more than that. All threads must call.
__device__ __forceinline__ void RankRanges(const Frame& frame, const SelectionParams& params, uint32_t least,
                                           bool has_threshold, BinBucketMemory& memory) {
  const Binning bin_of = BinsOf(params);
  const auto boundary_bin = [&] { return least != 0 ? bin_of.KeyBinOf(least) : kImageRankBins; };
  if (least != 0) CountBuckets(frame, params, bin_of, least, boundary_bin(), memory);
  if (!has_threshold && memory.bins.total() > params.wanted) {
    least = FindLeastOf(frame, params, bin_of, least, memory);
    CountBuckets(frame, params, bin_of, least, boundary_bin(), memory);
  }
  if (blockIdx.x == 0) WriteKept(frame, bin_of, memory.bins);
  ForEachRange(
      [&](RankRange range) {
        const bool overflows = CollectBuckets(params, bin_of, range, least, boundary_bin(), memory);
        if (memory.overflows && __syncthreads_or(overflows) != 0) {
          const int low = bin_of.LevelOfBin(range.low);
          ShortlistChunks(frame, params, least).ForEachOf(low, bin_of.LevelOfBin(range.high), [&](Candidate c) {
            const int bin = bin_of(c);
            if (bin >= range.low && bin <= range.high) Collect(c, bin, range, memory);
          });
        }
        FillRange(frame, bin_of, range, memory);
      },
      memory);
  if (!memory.has_large) return;
  RankLeftBins(
      frame, bin_of, [&frame, &params, least](int bin) { return BinnedCorners::OfBin(frame, params, least, bin); },
      memory);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_RANGES_CUH_
