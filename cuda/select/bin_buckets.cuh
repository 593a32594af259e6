// What is to be ranked, in the buckets of its bins: how it is counted, and which of it stays.
#ifndef GLINT_CUDA_SELECT_BIN_BUCKETS_CUH_
#define GLINT_CUDA_SELECT_BIN_BUCKETS_CUH_

#include "cuda/select/threshold.cuh"

namespace glint::cuda {

struct BinBucketMemory : Memory {
  bool overflows;   // a bin has more than kBucketRoom
  int last;         // see FindLastBin()
  uint32_t listed;  // see OrientBins()
};

// Entries of a bin, also those in the shortlist.
__device__ __forceinline__ uint32_t CountOf(const SelectionParams& params, int bin) {
  const uint32_t index = CountIndex(params, bin);
  return params.counters->list[0].of_bin[index] | params.counters->list[1].of_bin[index];
}
// The lower of the thread's two bins in SumBinsAbove().
__device__ __forceinline__ int OwnBin() { return kImageRankBins - 2 - 2 * static_cast<int>(threadIdx.x); }

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

// What buckets have no room for, in chunks.
struct OverflowList {
  static constexpr int kLoads = 2;  // of a warp before the first use

  const Frame& frame;
  const SelectionParams& params;
  uint32_t count;   // of the shortlist of the level that the lane's number names
  uint32_t upto;    // chunks of that level and those before it
  uint32_t chunks;  // of all
  uint32_t least;   // entries with smaller keys do not take part

  // All lanes must call.
  __device__ __forceinline__ OverflowList(const Frame& f, const SelectionParams& m, uint32_t key)
      : frame(f), params(m), least(key) {
    const int lane = threadIdx.x % kWarp;
    count = lane < frame.levels ? Lists{params.counters->list}.Count(lane) : 0;
    upto = SumUpTo((count + kChunk - 1) / kChunk);
    chunks = __shfl_sync(kFullWarp, upto, kWarp - 1);
  }

  // The lane's two entries of a chunk, which may be beyond the last. All lanes must call, with the same chunk.
  __device__ __forceinline__ uint4 Load(uint32_t chunk) const {
    const uint32_t lane2 = threadIdx.x % kWarp * 2;
    if (chunk >= chunks) return make_uint4(0, 0, 0, 0);
    const int l = __popc(__ballot_sync(kFullWarp, chunk >= upto));
    const uint32_t before = __shfl_sync(kFullWarp, upto - (count + kChunk - 1) / kChunk, l);
    const uint32_t end = __shfl_sync(kFullWarp, count, l);
    const uint32_t i = (chunk - before) * kChunk + lane2;
    const Candidate* at = frame.level[l].shortlist + i;
    if (i + 1 < end) return *reinterpret_cast<const uint4*>(at);
    return i < end ? make_uint4(at->position, at->key, 0, 0) : make_uint4(0, 0, 0, 0);
  }

  __device__ __forceinline__ Candidate CornerIn(uint32_t low, uint32_t high) const {
    return {low, high < least ? 0 : high};
  }

  // Calls `f` with each corner of the levels low..high. All threads must call.
  template <typename F>
  __device__ __forceinline__ void ForEachOf(int low, int high, F f) const {
    const uint32_t before = __shfl_sync(kFullWarp, upto - (count + kChunk - 1) / kChunk, low);
    ForEachIn(*this, before, __shfl_sync(kFullWarp, upto, high), f);
  }
};

// A bin's entries in its bucket, at most two to a lane.
struct Bucket {
  Candidate own[2];  // key 0: none

  __device__ __forceinline__ void Load(const SelectionParams& params, int bin, uint32_t count) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint32_t slot = threadIdx.x % kWarp + i * kWarp;
      own[i] = {0, 0};
      if (slot < count) own[i] = params.buckets[bin * kBucketRoom + slot];
    }
  }

  // Calls `f` with each from `least` on.
  template <typename F>
  __device__ __forceinline__ void ForEach(uint32_t least, F f) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (own[i].key != 0 && own[i].key >= least) f(own[i]);
    }
  }
};

// Calls `f` with each entry of a key bin, of all levels, from `least` on. All threads must call.
template <typename F>
__device__ __forceinline__ void ForEachOfKeyBin(const Frame& frame, const SelectionParams& params,
                                                const Binning& bin_of, int key_bin, uint32_t least,
                                                const BinBucketMemory& memory, F f) {
  const int bins = frame.levels << bin_of.tie_bits;
#pragma unroll 1
  for (int i = threadIdx.x / kWarp; i < bins; i += kImageRankWarps) {
    const int level = i >> bin_of.tie_bits;
    const int bin = bin_of.Lowest(level) + (key_bin << bin_of.tie_bits) + i - (level << bin_of.tie_bits);
    Bucket bucket;
    bucket.Load(params, bin, CountOf(params, bin));
    bucket.ForEach(least, f);
  }
  if (!memory.overflows) return;
  OverflowList(frame, params, least).ForEachOf(0, frame.levels - 1, [&](Candidate c) {
    if (bin_of.KeyBinOf(c.key) == key_bin) f(c);
  });
}

// Fills memory.above with what there is from `least` on, whose key bin is `boundary_bin`, -1 if it is 0. All threads
// must call.
__device__ __forceinline__ void CountBuckets(const Frame& frame, const SelectionParams& params, const Binning& bin_of,
                                             uint32_t least, int boundary_bin, BinBucketMemory& memory) {
  const LoadedCounts counts(params);
  __syncthreads();  // all have read what is overwritten here
  if (threadIdx.x == 0) memory.has_large = memory.overflows = false;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int key_bin = bin_of.KeyBinOfBin(counts.bin[i]);
    if (key_bin >= boundary_bin && counts.count[i] > kBucketRoom) memory.overflows = true;
    memory.above[counts.bin[i]] = key_bin > boundary_bin ? counts.count[i] : 0;
  }
  __syncthreads();
  if (boundary_bin >= 0) {
    ForEachOfKeyBin(frame, params, bin_of, boundary_bin, least, memory,
                    [&](Candidate c) { atomicAdd(&memory.above[bin_of(c)], 1u); });
    __syncthreads();
  }
  SumBinsAbove(memory);
  __syncthreads();
}

// The key from which on the wanted number stay, of more from `least` on that memory.above has the sums of; what ties
// with the last of them stays, too. All threads must call.
__device__ __forceinline__ uint32_t FindLeastOf(const Frame& frame, const SelectionParams& params,
                                                const Binning& bin_of, uint32_t least, BinBucketMemory& memory) {
  uint32_t counts[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) counts[i] = memory.From(OwnBin() + i) - memory.above[OwnBin() + i];
  __syncthreads();
  ClearBins(memory);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (counts[i] != 0) atomicAdd(&memory.above[bin_of.KeyBinIndex(bin_of.KeyBinOfBin(OwnBin() + i))], counts[i]);
  }
  __syncthreads();
  const auto keys = [&](auto f, int key_bin) {
    ForEachOfKeyBin(frame, params, bin_of, key_bin, least, memory, [&](Candidate c) { f(c.key); });
  };
  return max(least, FindLeast(keys, params, bin_of, params.wanted, memory));
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_BIN_BUCKETS_CUH_
