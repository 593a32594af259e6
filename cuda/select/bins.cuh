// The bins of the ranking over the levels together, and the buckets of their entries.
#ifndef GLINT_CUDA_SELECT_BINS_CUH_
#define GLINT_CUDA_SELECT_BINS_CUH_

#include "cuda/common/append.cuh"

namespace glint::cuda {

inline constexpr int kImageRankBins = 1 << kRankBits;

// Bins in the order of the output, best first: each level's are its keys' leading bits, what is less in the last; or
// scores, many of which tie, and rows. All bins of a key in a level are its key bin, which other levels have as well.
struct Binning {
  int level_bits;  // of the bins of one level
  int shift;
  float per_score;  // see SelectionParams::by_score; 0 without it
  int tie_bits, tie_shift;

  __device__ __forceinline__ int FirstBin(int level) const { return level << level_bits; }
  __device__ __forceinline__ int LevelOfBin(int bin) const { return bin >> level_bits; }

  __device__ __forceinline__ int KeyBins() const { return 1 << (level_bits - tie_bits); }
  __device__ __forceinline__ int KeyBinOf(uint32_t key) const {
    if (per_score != 0) return KeyBins() - 1 - __float2int_rz(__uint_as_float(FromOrderedKey(key)) * per_score);
    return Clamp(static_cast<int>(kKeyOfOne >> shift) - static_cast<int>(key >> shift), 0, (1 << level_bits) - 1);
  }
  __device__ __forceinline__ int KeyBinOfBin(int bin) const { return (bin & ((1 << level_bits) - 1)) >> tie_bits; }
  __device__ __forceinline__ int operator()(Candidate c) const {
    const int ties = per_score != 0 ? YOf(c.position) >> tie_shift : 0;
    return FirstBin(LevelOf(c.position)) + (KeyBinOf(c.key) << tie_bits) + ties;
  }

  // Bits of Precedence() in which entries of a key bin may differ: not the leading ones, unless the bin is the first or
  // the last, which hold whatever is beyond them.
  __device__ __forceinline__ uint64_t Differs(int key_bin) const {
    if (per_score != 0) return 0xffffffffu;
    const bool is_open = key_bin == 0 || key_bin == KeyBins() - 1;
    return is_open ? ~uint64_t{0} : (uint64_t{1} << (32 + shift)) - 1;
  }
};

__device__ __forceinline__ Binning BinsOf(const SelectionParams& params) {
  return {params.level_bits, params.rank_shift, params.per_score, params.tie_bits, params.tie_shift};
}

// Where a bin's count is: see SelectionParams::spread.
__device__ __forceinline__ uint32_t CountIndex(const SelectionParams& params, int bin) {
  return static_cast<uint32_t>((bin << params.spread | bin >> (kRankBits - params.spread)) & (kImageRankBins - 1));
}
__device__ __forceinline__ int BinAt(const SelectionParams& params, int index) {
  return (index >> params.spread | index << (kRankBits - params.spread)) & (kImageRankBins - 1);
}

// An entry's index in the bucket of its bin.
struct BucketSlot {
  int bin = 0;
  uint32_t slot = kNone;

  static constexpr uint32_t kNone = ~0u;

  __device__ __forceinline__ void Take(const SelectionParams& params, uint32_t buffer, Candidate c) {
    bin = BinsOf(params)(c);
    slot = atomicAdd(&params.counters->list[buffer].of_bin[CountIndex(params, bin)], 1u);
  }
  // Puts it there; into its level's shortlist if the bucket is full. All lanes of the warp must call.
  __device__ __forceinline__ void Put(const Frame& frame, const SelectionParams& params, uint32_t buffer,
                                      Candidate c) const {
    if (slot < kBucketRoom) params.buckets[bin * kBucketRoom + slot] = c;
    const bool is_full = slot >= kBucketRoom && slot != kNone;
    if (__any_sync(kFullWarp, is_full) == 0) return;
    AppendToShortlist(frame, params.counters->list[buffer].count, is_full, c);
  }
};

// For all lanes of the warp, which must call; `has`: this lane has an entry.
__device__ __forceinline__ void AppendToBucket(const Frame& frame, const SelectionParams& params, uint32_t buffer,
                                               bool has, Candidate c) {
  BucketSlot slot;
  if (has) slot.Take(params, buffer, c);
  slot.Put(frame, params, buffer, c);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_BINS_CUH_
