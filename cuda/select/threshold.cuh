// Which entries stay: the key from which on they do.
#ifndef GLINT_CUDA_SELECT_THRESHOLD_CUH_
#define GLINT_CUDA_SELECT_THRESHOLD_CUH_

#include "cuda/common/sort_key.cuh"
#include "cuda/select/bin_ranks.cuh"

namespace glint::cuda {

// The digit in which the wanted-th largest falls, from memory.above, which it clears; `wanted` becomes how many of
// those with that digit are. All threads must call.
__device__ __forceinline__ Digit FindDigit(uint32_t* wanted, Memory& memory) {
  for (int bin = threadIdx.x; bin < kImageRankBins; bin += kImageRankThreads) {
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

// The least key that stays if `wanted` of the image do, of more, and all that tie with the last of them: first the key
// bin that it is in, then its other bits. memory.above: counts of the key bins, the last of them in the last bins; 0
// afterwards. `for_each(f, key_bin)` calls f with each key of the bin. All threads must call.
template <typename F>
__device__ __forceinline__ uint32_t FindLeast(F for_each, const SelectionParams& params, const Binning& bin_of,
                                              uint32_t wanted, Memory& memory) {
  SumBinsAbove(memory);
  __syncthreads();
  const Digit found = FindDigit(&wanted, memory);
  const int last = bin_of.KeyBins() - 1;
  const int bin = static_cast<int>(found.value) - bin_of.KeyBinIndex(0);
  if (params.by_score) return KeyOf(params, static_cast<uint32_t>(bin));
  // A bin's keys have their leading bits in common; but the first and the last bin hold all that is beyond them.
  const bool open = bin == 0 || bin == last;
  const uint32_t top = kKeyOfOne >> bin_of.shift;
  uint32_t least = open ? 0 : (top - static_cast<uint32_t>(last - bin)) << bin_of.shift;
  if (open || !found.all) {
    // Scores below 2^16 leave a float's last bits 0.
    const int low = params.score == Score::kHarris ? 0 : 7;
    least = FindBits([&](auto f) { for_each(f, bin); }, least, open ? 0 : ~0u << bin_of.shift, open ? 32 : bin_of.shift,
                     low, wanted, memory);
  }
  // What the last bin's keys have in common may be more than the bits known when all of them stayed.
  return bin == last ? max(least, top << bin_of.shift) : least;
}

// The key from which on a dense detector's measures are over its threshold, as reference::OverThreshold has it.
__device__ __forceinline__ uint32_t LeastOver(const SelectionParams& params) {
  float threshold = params.response_threshold;
  if (params.is_fraction) threshold *= __uint_as_float(FromOrderedKey(Lists{params.counters->list}.Greatest()));
  return OrderedKey(__float_as_uint(threshold > 0 ? threshold : 0)) + 1;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_THRESHOLD_CUH_
