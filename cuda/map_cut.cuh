// Which entries stay: the key from which on they do.
#ifndef GLINT_CUDA_MAP_CUT_CUH_
#define GLINT_CUDA_MAP_CUT_CUH_

#include "cuda/map_sort.cuh"

namespace glint::cuda {

// The digit in which the wanted-th largest falls, from memory.above, which it clears; `wanted` becomes how many of
// those with that digit are. All threads must call.
__device__ __forceinline__ Digit FindDigit(uint32_t* wanted, Memory& memory) {
  for (int bin = threadIdx.x; bin < kRankBins; bin += kMapRankThreads) {
    const uint32_t upto = memory.From(bin);
    if (memory.above[bin] >= *wanted || upto < *wanted) continue;
    memory.digit = {static_cast<uint32_t>(bin), upto == *wanted};
    memory.needed = *wanted - memory.above[bin];
  }
  __syncthreads();
  *wanted = memory.needed;
  const Digit digit = memory.digit;
  ClearBins(memory);
  __syncthreads();
  return digit;
}

// Adds to `least`, the `known` bits of the key that the wanted-th largest has, those down to the bit `low`. `for_each`
// calls with each key that may have them, of more than `wanted`, at least that one; `high`: bits that are not known,
// the lowest. memory.above is 0 before and afterwards. All threads must call.
template <typename F>
__device__ __forceinline__ uint32_t FindBits(F for_each, uint32_t least, uint32_t known, int high, int low,
                                             uint32_t wanted, Memory& memory) {
  for (bool done = false; high > low && !done; high -= kRankBits) {
    const int shift = Max(high - kRankBits, 0);
    const uint32_t digits = (1u << (high - shift)) - 1;
    for_each([&](uint32_t key) {
      if (((key ^ least) & known) == 0) atomicAdd(&memory.above[key >> shift & digits], 1u);
    });
    __syncthreads();
    SumBinsAbove(memory);
    __syncthreads();
    const Digit found = FindDigit(&wanted, memory);
    least |= found.value << shift;
    known |= digits << shift;
    done = found.all;
  }
  return least;
}

// The least key that stays if `wanted` of the image do, of more, and all that tie with the last of
// them: first the bin that it is in, then its other bits. `bin_of`: of one level; memory.above are its sums, if
// `counted`, else 0; it is 0 afterwards. All threads must call.
template <bool kCells>
__device__ __forceinline__ uint32_t FindLeast(const Source<kCells>& source, const Binning& bin_of, bool counted,
                                              uint32_t wanted, Memory& memory) {
  if (!counted) {
    source.ForEach([&](Candidate c) { atomicAdd(&memory.above[bin_of.OfKey(c.key)], 1u); });
    __syncthreads();
    SumBinsAbove(memory);
    __syncthreads();
  }
  const Digit found = FindDigit(&wanted, memory);
  const auto bin = static_cast<int>(found.value);
  // A bin's keys have their leading bits in common; but the first and the last bin hold all that is beyond them.
  const bool open = bin == 0 || bin == kRankBins - 1;
  uint32_t least = open ? 0 : static_cast<uint32_t>(bin_of.top - (kRankBins - 1) + bin) << bin_of.shift;
  if (open || !found.all) {
    const auto keys = [&](auto f) {
      source.ForEach([&](Candidate c) {
        if (bin_of.OfKey(c.key) == bin) f(c.key);
      });
    };
    least = FindBits(keys, least, open ? 0 : ~0u << bin_of.shift, open ? 32 : bin_of.shift, 0, wanted, memory);
  }
  // What the last bin's keys have in common may be more than the bits known when all of them stayed.
  if (bin == kRankBins - 1) least = max(least, static_cast<uint32_t>(bin_of.top) << bin_of.shift);
  return max(least, source.least);
}

// Likewise after the cut by image, by which more are above the bin in which the wanted-th largest falls and in it than
// wanted, or all there are. memory.above is 0 before and afterwards.
__device__ __forceinline__ uint32_t FindLeastOnEdge(const Source<false>& source, const MapFrame& map, Memory& memory) {
  const uint32_t edges = Lists{map.counters->list}.Edges();
  const auto listed = static_cast<uint32_t>(WarpSum(static_cast<int>(source.count)));
  if (listed <= map.wanted) return 0;
  const uint32_t key = map.edges[0].key;
  const int bin = HarrisBin(key);
  const bool open = bin == 0 || bin == kBins - 1;
  // Scores below 2^16 leave a float's last bits 0.
  const int low = map.score == Score::kHarris ? 0 : kHarrisBinShift - kRankBits;
  const auto keys = [&](auto f) {
    for (uint32_t i = threadIdx.x; i < edges; i += kMapRankThreads) f(map.edges[i].key);
  };
  const uint32_t known = open ? 0 : ~0u << kHarrisBinShift;
  return FindBits(keys, key & known, known, open ? 32 : kHarrisBinShift, low, map.wanted - (listed - edges), memory);
}

// The key from which on a dense detector's measures are over its threshold, as reference::OverThreshold has it.
__device__ __forceinline__ uint32_t LeastOver(const MapFrame& map, uint32_t greatest) {
  float threshold = map.response_threshold;
  if (map.is_fraction) threshold *= __uint_as_float(FromOrderedKey(greatest));
  return OrderedKey(__float_as_uint(threshold > 0 ? threshold : 0)) + 1;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MAP_CUT_CUH_
