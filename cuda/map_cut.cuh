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
  Digit found = FindDigit(&wanted, memory);
  const auto bin = static_cast<int>(found.value);
  // A bin's keys have their leading bits in common; but the first and the last bin hold all that is beyond them.
  const bool open = bin == 0 || bin == kRankBins - 1;
  uint32_t least = open ? 0 : static_cast<uint32_t>(bin_of.top - (kRankBins - 1) + bin) << bin_of.shift;
  uint32_t known = open ? 0 : ~0u << bin_of.shift;  // bits of it
  bool done = !open && found.all;
  for (int high = open ? 32 : bin_of.shift; high > 0 && !done; high -= kRankBits) {
    const int shift = Max(high - kRankBits, 0);
    const uint32_t digits = (1u << (high - shift)) - 1;
    source.ForEach([&](Candidate c) {
      if (bin_of.OfKey(c.key) != bin || ((c.key ^ least) & known) != 0) return;
      atomicAdd(&memory.above[c.key >> shift & digits], 1u);
    });
    __syncthreads();
    SumBinsAbove(memory);
    __syncthreads();
    found = FindDigit(&wanted, memory);
    least |= found.value << shift;
    known |= digits << shift;
    done = found.all;
  }
  // What the last bin's keys have in common may be more than the bits known when all of them stayed.
  if (bin == kRankBins - 1) least = max(least, static_cast<uint32_t>(bin_of.top) << bin_of.shift);
  return max(least, source.least);
}

// The key from which on a dense detector's measures are over its threshold, as reference::OverThreshold has it.
__device__ __forceinline__ uint32_t LeastOver(const MapFrame& map, uint32_t greatest) {
  float threshold = map.response_threshold;
  if (map.is_fraction) threshold *= __uint_as_float(FromOrderedKey(greatest));
  return OrderedKey(__float_as_uint(threshold > 0 ? threshold : 0)) + 1;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MAP_CUT_CUH_
