// The bins of the ranking, and how entries get to them.
#ifndef GLINT_CUDA_SELECT_MAP_BINS_CUH_
#define GLINT_CUDA_SELECT_MAP_BINS_CUH_

#include "cuda/common/map_device.cuh"

namespace glint::cuda {

inline constexpr int kMapRankBins = 1 << kRankBits;

// Bins are monotonic in Order(): each level's are its keys' leading bits, what is less in the last; or scores, many of
// which tie, and rows. All bins of a key in a level are its key bin, which other levels have as well.
struct Binning {
  int level_bits;  // of the bins of one level
  int shift;
  float per_score;  // see MapFrame::by_score; 0 without it
  int tie_bits, tie_shift;

  __device__ __forceinline__ int Lowest(int level) const { return kMapRankBins - ((level + 1) << level_bits); }
  __device__ __forceinline__ int Highest(int level) const { return Lowest(level - 1) - 1; }
  __device__ __forceinline__ int LevelOfBin(int bin) const { return (kMapRankBins - 1 - bin) >> level_bits; }

  __device__ __forceinline__ int KeyBins() const { return 1 << (level_bits - tie_bits); }
  __device__ __forceinline__ int KeyBinOf(uint32_t key) const {
    if (per_score != 0) return __float2int_rz(__uint_as_float(FromOrderedKey(key)) * per_score);
    const int last = (1 << level_bits) - 1;
    return Clamp(static_cast<int>(key >> shift) - static_cast<int>(kKeyOfOne >> shift) + last, 0, last);
  }
  // A key bin's place among all bins if there are no others.
  __device__ __forceinline__ int KeyPlace(int key_bin) const { return kMapRankBins - KeyBins() + key_bin; }
  __device__ __forceinline__ int KeyBinOfBin(int bin) const { return (bin & ((1 << level_bits) - 1)) >> tie_bits; }
  __device__ __forceinline__ int operator()(Candidate c) const {
    const int ties = per_score != 0 ? ((1 << tie_bits) - 1) - (YOf(c.position) >> tie_shift) : 0;
    return Lowest(LevelOf(c.position)) + (KeyBinOf(c.key) << tie_bits) + ties;
  }
};

// The bins of all levels, of which level 0 has the highest.
__device__ __forceinline__ Binning BinsOf(const MapFrame& map) {
  return {map.level_bits, map.rank_shift, map.per_score, map.tie_bits, map.tie_shift};
}

// Where a bin's count is: see MapFrame::spread.
__device__ __forceinline__ uint32_t CountPlace(const MapFrame& map, int bin) {
  return static_cast<uint32_t>((bin << map.spread | bin >> (kRankBits - map.spread)) & (kMapRankBins - 1));
}
__device__ __forceinline__ int BinAt(const MapFrame& map, int place) {
  return (place >> map.spread | place << (kRankBits - map.spread)) & (kMapRankBins - 1);
}

// An entry's place in the bucket of its bin.
struct BucketPlace {
  int bin = 0;
  uint32_t slot = kNone;

  static constexpr uint32_t kNone = ~0u;

  __device__ __forceinline__ void Take(const MapFrame& map, uint32_t turn, Candidate c) {
    bin = BinsOf(map)(c);
    slot = atomicAdd(&map.counters->list[turn].of_bin[CountPlace(map, bin)], 1u);
  }
  // Puts it there; into its level's shortlist if the bucket is full. All lanes of the warp must call.
  __device__ __forceinline__ void Put(const Frame& frame, const MapFrame& map, uint32_t turn, Candidate c) const {
    if (slot < kBucketRoom) map.buckets[bin * kBucketRoom + slot] = c;
    const bool is_full = slot >= kBucketRoom && slot != kNone;
    if (__any_sync(kFullWarp, is_full) == 0) return;
    AppendToShortlist(frame, map.counters->list[turn].count, is_full, c);
  }
};

// For all lanes of the warp, which must call; `has`: this lane has an entry.
__device__ __forceinline__ void AppendToBucket(const Frame& frame, const MapFrame& map, uint32_t turn, bool has,
                                               Candidate c) {
  BucketPlace place;
  if (has) place.Take(map, turn, c);
  place.Put(frame, map, turn, c);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_MAP_BINS_CUH_
