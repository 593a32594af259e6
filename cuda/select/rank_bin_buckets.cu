// From the buckets to the result, in one launch, as rank_cells.cu does from the cells.
//
// Who lists an entry puts it into the bucket of its bin, so that a block needs the bins' counts alone to know how many
// precede each bin, and then the buckets of its own bins. Where there are warps for all bins, each ranks one. On few
// multiprocessors, and where a bucket has not had room for all, blocks fill ranges of ranks instead; what had no room
// is in the shortlists, in which they look for what they need.
//
// What is below the threshold or beyond the wanted number is left out first: all bins behind the one that the threshold
// falls in, and of that what has smaller keys.
//
// Shared memory 40 KiB.
#include "cuda/common/enqueue.h"
#include "cuda/select/rank_ranges.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Finds the last bin that stays, at least in part, of one level's of which there are more than wanted; all of the ties
// of a score do, and memory.bins then ends with them. `overflows`: whether one that stays does. All threads must call.
__device__ __forceinline__ int FindLastBin(const SelectionParams& params, const Binning& bin_of, bool* overflows,
                                           BinBucketMemory& memory) {
  auto& bins = memory.bins;
  const int own = 2 * static_cast<int>(threadIdx.x);
  const bool overflow[2] = {bins.Size(own) > kBucketRoom, bins.Size(own + 1) > kBucketRoom};
  const int key_bin = bin_of.KeyBinOfBin(bins.BinAt<kImageRankThreads>(params.wanted - 1));
  const int last = ((key_bin + 1) << bin_of.tie_bits) - 1;
  *overflows = __syncthreads_or((overflow[0] && own <= last) || (overflow[1] && own + 1 <= last)) != 0;
  if (!params.by_score) return last;
  const uint32_t end = bins.begin[last + 1];
  __syncthreads();
  for (int i = last + 2 + static_cast<int>(threadIdx.x); i <= kImageRankBins; i += kImageRankThreads) {
    bins.begin[i] = end;
  }
  __syncthreads();
  return last;
}

// A bin whose entries a warp ranks.
struct RankedBin {
  uint64_t order[2];  // of the lane's, 0: none
  uint32_t rank[2];
  uint32_t count;  // of the warp's that stay

  // Those from `least` on that fewer than `wanted` precede by key. All lanes must call.
  __device__ __forceinline__ void Rank(const Bucket& bucket, uint32_t count_in, uint32_t above, uint32_t least,
                                       bool has_threshold, uint32_t wanted, Memory& memory) {
    static_assert(kTieRoom == kImageRankWarps * kBucketRoom);
    uint64_t* entry = memory.entry + threadIdx.x / kWarp * kBucketRoom;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      order[i] = bucket.own[i].key != 0 && bucket.own[i].key >= least ? Precedence(bucket.own[i]) : 0;
      rank[i] = above;
      entry[threadIdx.x % kWarp + i * kWarp] = order[i];
    }
    __syncwarp();
    rank[0] += CountAbove(entry, count_in, order[0]);
    if (count_in > kWarp) rank[1] += CountAbove(entry, count_in, order[1]);
    if (has_threshold) {
      uint32_t better[2] = {above, above};
      for (uint32_t k = 0; k < count_in; ++k) {
#pragma unroll
        for (int i = 0; i < 2; ++i) better[i] += CornerOf(entry[k]).key > bucket.own[i].key && entry[k] != 0 ? 1 : 0;
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) order[i] = better[i] < wanted ? order[i] : 0;
    }
    count = __popc(__ballot_sync(kFullWarp, order[0] != 0)) + __popc(__ballot_sync(kFullWarp, order[1] != 0));
  }

  // Their order to the lanes, so that neighbours are written together. All lanes must call.
  __device__ __forceinline__ void Sort(uint32_t above, Memory& memory) {
    uint64_t* entry = memory.entry + threadIdx.x / kWarp * kBucketRoom;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (order[i] != 0) entry[rank[i] - above] = order[i];
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint32_t in_bin = threadIdx.x % kWarp + i * kWarp;
      order[i] = in_bin < count ? entry[in_bin] : 0;
      rank[i] = above + in_bin;
    }
  }

 private:
  // How many of `count` and the next, if that is odd, are greater.
  static __device__ __forceinline__ uint32_t CountAbove(const uint64_t* entry, uint32_t count, uint64_t own) {
    uint32_t above = 0;
#pragma unroll 4
    for (uint32_t k = 0; k < count; k += 2) {
      const ulonglong2 two = *reinterpret_cast<const ulonglong2*>(&entry[k]);
      above += (two.x > own ? 1 : 0) + (two.y > own ? 1 : 0);
    }
    return above;
  }
};

// Finds angles of what the block's warps have ranked, a bin each, and writes it. All threads must call.
__device__ __forceinline__ void OrientBins(const Frame& frame, const Binning& bin_of, uint32_t above,
                                           const RankedBin& ranked, BinBucketMemory& memory) {
  uint32_t base = 0;
  if (threadIdx.x % kWarp == 0 && ranked.count > 0) base = atomicAdd(&memory.listed, ranked.count);
  base = __shfl_sync(kFullWarp, base, 0);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (ranked.order[i] == 0) continue;
    const uint32_t at = base + ranked.rank[i] - above;
    memory.entry[at] = ranked.order[i];
    memory.taken[at] = ranked.rank[i];
  }
  __syncthreads();
  OrientAndWrite(
      frame, bin_of, memory.listed, [&](uint32_t i) { return memory.taken[i]; }, memory);
}

template <bool kOrients>
__global__ void __launch_bounds__(kImageRankThreads)
    RankBucketsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  __shared__ BinBucketMemory memory;
  AllowSuccessor();
  memory.ClearTaken();
  if (threadIdx.x == 0) {
    memory.has_large = memory.overflows = false;
    memory.listed = 0;
  }
  const Binning bin_of = BinsOf(params);
  const bool by_bins = static_cast<int>(gridDim.x) * kImageRankWarps >= kImageRankBins;
  const int bin = static_cast<int>(gridDim.x * (threadIdx.x / kWarp) + blockIdx.x);  // of the warp
  __syncthreads();
  WaitForPredecessor();
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) params.counters->next_buffer = params.counters->buffer ^ 1;
    if (!params.ranks) {
      // The cut is done with these.
      static_assert(kBins == kImageRankThreads);
      frame.counters->histogram[0][threadIdx.x] = 0;
      if (threadIdx.x == 0) frame.counters->candidates = 0;
    }
  }
  const LoadedCounts counts(params);
  const uint32_t count = by_bins && bin < kImageRankBins ? CountOf(params, bin) : 0;
  const uint32_t least = params.is_dense ? LeastOver(params) : 0;
  int last = params.is_dense ? bin_of.KeyBinOf(least) : kImageRankBins - 1;
  Bucket bucket;
  bucket.Load(params, bin, bin <= last ? count : 0);
  bool in_ranges = !by_bins && params.is_dense;  // which counts what is over the threshold for itself
  bool has_threshold = false;
  if (!in_ranges) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint32_t stay = counts.bin[i] <= last ? counts.count[i] : 0;
      if (stay > kBucketRoom) memory.overflows = true;
      memory.bins.begin[counts.bin[i]] = stay;
    }
    __syncthreads();
    memory.SumBins();
    has_threshold = memory.bins.total() > params.wanted && frame.levels == 1;
    bool overflows = memory.overflows;
    if (has_threshold) last = FindLastBin(params, bin_of, &overflows, memory);
    in_ranges = !by_bins || overflows || (memory.bins.total() > params.wanted && !has_threshold);
  }
  if (in_ranges) {
    RankRanges(frame, params, least, has_threshold && params.by_score, memory);
    return;
  }
  const bool one_level = params.is_dense || has_threshold;  // of which the last bin's warp knows how many stay
  if (blockIdx.x == 0 && !one_level) WriteKept(frame, bin_of, memory.bins);
  const uint32_t above = bin < kImageRankBins ? memory.bins.begin[bin] : 0;
  RankedBin ranked = {};
  if (bin <= last && count > 0) {
    ranked.Rank(bucket, count, above, least, has_threshold && bin == last && !params.by_score, params.wanted, memory);
  }
  if (one_level && bin == last && threadIdx.x % kWarp == 0) {
    Tell(frame, 0, has_threshold && params.by_score ? memory.bins.total() : above + ranked.count);
  }
  if (kOrients) {
    OrientBins(frame, bin_of, above, ranked, memory);
    return;
  }
  ranked.Sort(above, memory);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (ranked.order[i] != 0) Write(frame, bin_of, memory.bins, CornerOf(ranked.order[i]), ranked.rank[i], -1.0f);
  }
}

}  // namespace

absl::Status RankBuckets(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params) {
  return Enqueue(stream, launch, launch.orients ? RankBucketsKernel<true> : RankBucketsKernel<false>, frame, params);
}

}  // namespace glint::cuda
