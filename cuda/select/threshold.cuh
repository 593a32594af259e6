// Which entries stay: the key from which on they do.
#ifndef GLINT_CUDA_SELECT_THRESHOLD_CUH_
#define GLINT_CUDA_SELECT_THRESHOLD_CUH_

#include "cuda/select/fill_ranks.cuh"

namespace glint::cuda {

// The least key that stays if the wanted number does, of more, and all that tie with the last of them. memory.bins:
// counts of the key bins in the first of them; source_of(key_bin): the bin's corners. All threads must call;
// memory.taken is 0 before and afterwards.
template <typename SourceOf>
__device__ __forceinline__ uint32_t FindLeast(SourceOf source_of, const SelectionParams& params, const Binning& bin_of,
                                              Memory& memory) {
  memory.bins.Sum<kImageRankThreads>(0u);
  __syncthreads();
  const int bin = memory.bins.BinAt<kImageRankThreads>(params.wanted - 1);
  if (params.by_score) return KeyOf(params, static_cast<uint32_t>(bin_of.KeyBins() - 1 - bin));
  const auto source = source_of(bin);
  const uint32_t key =
      TieRanking<kImageRankThreads, decltype(source)>(source, memory.bins.Size(bin), memory.ties, memory.entry)
          .FindKept(params.wanted - 1 - memory.bins.begin[bin])
          .least;
  __syncthreads();
  memory.ClearTaken();
  return key;
}

// The key from which on a dense detector's measures are over its threshold, as reference::OverThreshold has it.
__device__ __forceinline__ uint32_t LeastOver(const SelectionParams& params) {
  float threshold = params.response_threshold;
  if (params.is_fraction) threshold *= __uint_as_float(FromOrderedKey(Lists{params.counters->list}.Greatest()));
  return OrderedKey(__float_as_uint(threshold > 0 ? threshold : 0)) + 1;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_THRESHOLD_CUH_
