// What is ranked over the levels together: entries of cells; of buckets, and of the shortlists for what these have no
// room for. And what a bin holds of that, as rank_ties.cuh needs it.
#ifndef GLINT_CUDA_SELECT_SOURCES_CUH_
#define GLINT_CUDA_SELECT_SOURCES_CUH_

#include "cuda/common/sort_key.cuh"
#include "cuda/select/bins.cuh"

namespace glint::cuda {

inline constexpr int kImageRankWarps = kImageRankThreads / kWarp;
inline constexpr uint32_t kChunk = 2 * kWarp;  // entries that a warp loads at once, 16 bytes a lane

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

// The corners of a source that are in a bin, as bin_of(c) has it.
template <typename Source, typename BinOf>
struct CornersOfBin {
  const Source& source;
  BinOf bin_of;
  int bin;
  uint64_t differs;

  __device__ __forceinline__ uint64_t Differs() const { return differs; }
  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    source.ForEach([&](Candidate c) {
      if (bin_of(c) == bin) f(c);
    });
  }
};
template <typename Source, typename BinOf>
CornersOfBin(const Source&, BinOf, int, uint64_t) -> CornersOfBin<Source, BinOf>;

// Entries of a bin, also those in the shortlist.
__device__ __forceinline__ uint32_t CountOf(const SelectionParams& params, int bin) {
  const uint32_t index = CountIndex(params, bin);
  return params.counters->list[0].of_bin[index] | params.counters->list[1].of_bin[index];
}

// What buckets have no room for, in chunks.
struct ShortlistChunks {
  static constexpr int kLoads = 2;  // of a warp before the first use

  const Frame& frame;
  const SelectionParams& params;
  uint32_t count;   // of the shortlist of the level that the lane's number names
  uint32_t upto;    // chunks of that level and those before it
  uint32_t chunks;  // of all
  uint32_t least;   // entries with smaller keys do not take part

  // All lanes must call.
  __device__ __forceinline__ ShortlistChunks(const Frame& f, const SelectionParams& m, uint32_t key)
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
      if (slot < count && slot < kBucketRoom) own[i] = params.buckets[bin * kBucketRoom + slot];
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

// The corners of a bin, or of a key bin of all levels, from `least` on. All threads must call.
class BinnedCorners {
 public:
  static __device__ __forceinline__ BinnedCorners OfBin(const Frame& frame, const SelectionParams& params,
                                                        uint32_t least, int bin) {
    const Binning bin_of = BinsOf(params);
    const int level = bin_of.LevelOfBin(bin);
    return BinnedCorners(frame, params, least, level, level + 1, bin - bin_of.FirstBin(level), 0, bin);
  }
  static __device__ __forceinline__ BinnedCorners OfKeyBin(const Frame& frame, const SelectionParams& params,
                                                           uint32_t least, int key_bin) {
    const int bits = params.tie_bits;
    return BinnedCorners(frame, params, least, 0, frame.levels, key_bin << bits, bits, -1);
  }

  __device__ __forceinline__ uint64_t Differs() const {
    const Binning bin_of = BinsOf(params_);
    return bin_of.Differs(first_ >> bin_of.tie_bits);
  }

  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    const Binning bin_of = BinsOf(params_);
    const int bins = (end_level_ - first_level_) << bits_;
    bool overflows = false;
#pragma unroll 1
    for (int i = threadIdx.x / kWarp; i < bins; i += kImageRankWarps) {
      const int bin = bin_of.FirstBin(first_level_ + (i >> bits_)) + first_ + (i & ((1 << bits_) - 1));
      const uint32_t count = CountOf(params_, bin);
      overflows = overflows || count > kBucketRoom;
      Bucket bucket;
      bucket.Load(params_, bin, count);
      bucket.ForEach(least_, f);
    }
    if (__syncthreads_or(overflows) == 0) return;
    ShortlistChunks(frame_, params_, least_).ForEachOf(first_level_, end_level_ - 1, [&](Candidate c) {
      const bool is_in = bin_ < 0 ? bin_of.KeyBinOf(c.key) == first_ >> bits_ : bin_of(c) == bin_;
      if (is_in) f(c);
    });
  }

 private:
  __device__ __forceinline__ BinnedCorners(const Frame& frame, const SelectionParams& params, uint32_t least,
                                           int first_level, int end_level, int first, int bits, int bin)
      : frame_(frame),
        params_(params),
        least_(least),
        first_level_(first_level),
        end_level_(end_level),
        first_(first),
        bits_(bits),
        bin_(bin) {}

  const Frame& frame_;
  const SelectionParams& params_;
  uint32_t least_;
  int first_level_, end_level_;
  int first_, bits_;  // of a level's bins, 2^bits_ from first_ on
  int bin_;           // if it is one; -1: a key bin
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_SOURCES_CUH_
