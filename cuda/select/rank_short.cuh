// The final ranking where a level's shortlist is short (rank.cuh has the others): a warp compares entries of its own
// with all of the level by their keys alone, with no bins to count, to sum up and to collect before.
#ifndef GLINT_CUDA_SELECT_RANK_SHORT_CUH_
#define GLINT_CUDA_SELECT_RANK_SHORT_CUH_

#include "cuda/select/rank_bins.cuh"

namespace glint::cuda {

// Calls keep(rank, key, listed) by one thread for each entry begin..end-1 of the shortlist of a level with keys apart.
// `keys`: all `count` of them, 0 after that up to a multiple of 4 * kWarp.
template <typename Keep>
__device__ __forceinline__ void RankShortList(const Level& level, const uint32_t* keys, uint32_t count, uint32_t begin,
                                              uint32_t end, Keep keep) {
  const uint32_t lane = threadIdx.x % kWarp;
  for (uint32_t entry = begin + threadIdx.x / kWarp; entry < end; entry += kRankThreads / kWarp) {
    const ShortlistEntry listed = level.shortlist_entries[entry];  // on its way meanwhile
    const uint32_t own = keys[entry];
    uint32_t better[2] = {}, not_worse[2] = {};
#pragma unroll 2
    for (uint32_t k = 4 * lane; k < count; k += 4 * kWarp) {
      const uint4 four = *reinterpret_cast<const uint4*>(keys + k);
      better[0] += four.x > own ? 1 : 0;
      better[1] += four.y > own ? 1 : 0;
      better[0] += four.z > own ? 1 : 0;
      better[1] += four.w > own ? 1 : 0;
      not_worse[0] += four.x >= own ? 1 : 0;
      not_worse[1] += four.y >= own ? 1 : 0;
      not_worse[0] += four.z >= own ? 1 : 0;
      not_worse[1] += four.w >= own ? 1 : 0;
    }
    // Neither sum exceeds kShortList.
    const auto sums =
        static_cast<uint32_t>(WarpSum(static_cast<int>((not_worse[0] + not_worse[1]) << 16 | (better[0] + better[1]))));
    Rank r = {sums & 0xffff, sums & 0xffff, sums >> 16};
    if (r.not_worse > r.better + 1) {  // ties precede by position
      int before = 0;
      for (uint32_t k = lane; k < count; k += kWarp) {
        before += keys[k] == own && level.shortlist_entries[k].position < listed.position ? 1 : 0;
      }
      r.preceding += WarpSum(before);
    }
    if (lane == 0) keep(r, own, listed);
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_SHORT_CUH_
