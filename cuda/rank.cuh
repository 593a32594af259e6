// The final ranking, by a block: how many of a level's shortlist precede each of some corners.
//
// The block takes the shortlist a window at a time and sorts the window by bins of the key: counts, sums up, and puts
// each corner at its bin's next place. A corner then has to be compared with those of its own bin alone, a handful
// unless they tie.
#ifndef GLINT_CUDA_RANK_CUH_
#define GLINT_CUDA_RANK_CUH_

#include "cuda/device.cuh"

namespace glint::cuda {

inline constexpr int kRankThreads = 256;
inline constexpr int kRankWindow = 2048;
inline constexpr int kRankBins = 2048;

struct RankMemory {
  uint64_t corner[kRankWindow];  // Precedence(), by descending bin
  uint32_t above[kRankBins];     // corners of the window in higher bins; before that, in the bin itself
  uint32_t warp_sum[kRankThreads / kWarp];
};

// A corner being ranked: how many of its level precede it, have a larger key, have a key as large or larger.
struct Ranked {
  Candidate corner;
  uint32_t preceding;
  uint32_t better;
  uint32_t not_worse;
};

// Monotonic in Precedence(). Harris responses are at most 1: above 0 there are 64 bins an octave, below it, where few
// are kept, 16. FAST scores, of which many tie, get a bin for each quarter of the level's height.
template <bool kHarrisKeys>
__device__ __forceinline__ int RankBin(Candidate c, int height) {
  if (kHarrisKeys) {
    constexpr int kNegative = 512;
    constexpr int kPositive = kRankBins - kNegative;
    if (c.key >= 0x80000000u)
      return kNegative +
             Clamp(static_cast<int>(c.key >> 17) - static_cast<int>(0xbf800000u >> 17) + kPositive, 0, kPositive - 1);
    return Clamp(static_cast<int>(c.key >> 19) - static_cast<int>(0x40800000u >> 19), 0, kNegative - 1);
  }
  const int y4 = 4 * YOf(c.position);
  return static_cast<int>(c.key) * 4 + 3 - ((y4 >= height) + (y4 >= 2 * height) + (y4 >= 3 * height));
}

// memory.above from counts to sums. All threads must call.
__device__ __forceinline__ void SumBinsAbove(RankMemory& memory) {
  constexpr int kPerThread = kRankBins / kRankThreads;
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int high = kRankBins - kPerThread * threadIdx.x;  // thread 0 has the highest bins
  uint32_t bins[kPerThread];
  uint32_t mine = 0;
#pragma unroll
  for (int i = 0; i < kPerThread; i += 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(&memory.above[high - kPerThread + i]);
    bins[i] = four.x, bins[i + 1] = four.y, bins[i + 2] = four.z, bins[i + 3] = four.w;
    mine += four.x + four.y + four.z + four.w;
  }
  uint32_t sum = mine;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == kWarp - 1) memory.warp_sum[warp] = sum;
  __syncthreads();
  uint32_t before = 0;
#pragma unroll
  for (int w = 0; w < kRankThreads / kWarp; ++w) before += w < warp ? memory.warp_sum[w] : 0;
  uint32_t above = before + sum - mine;
#pragma unroll
  for (int i = kPerThread - 4; i >= 0; i -= 4) {
    const uint32_t z = above + bins[i + 3];
    const uint32_t y = z + bins[i + 2];
    const uint32_t x = y + bins[i + 1];
    *reinterpret_cast<uint4*>(&memory.above[high - kPerThread + i]) = make_uint4(x, y, z, above);
    above = x + bins[i];
  }
}

// Ranks the thread's corners, of which those with key 0 at position 0 are none, among all of a shortlist. If `share` or
// more are better than a corner, it only finds that out. All threads of the block must call; `memory` is free to be
// used again after a __syncthreads().
template <bool kHarrisKeys, int kOwn>
__device__ __forceinline__ void RankByBlock(const Candidate* shortlist, uint32_t count, uint32_t share, int height,
                                            RankMemory& memory, Ranked (&own)[kOwn]) {
  constexpr int kPerThread = kRankWindow / kRankThreads;
  for (uint32_t first = 0; first < count; first += kRankWindow) {
    const uint32_t length = count - first < kRankWindow ? count - first : kRankWindow;
    Candidate corner[kPerThread];
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      const uint32_t at = threadIdx.x + i * kRankThreads;
      if (at < length) corner[i] = shortlist[first + at];
    }
    __syncthreads();
    for (int i = 4 * threadIdx.x; i < kRankBins; i += 4 * kRankThreads) {
      *reinterpret_cast<uint4*>(&memory.above[i]) = make_uint4(0, 0, 0, 0);
    }
    __syncthreads();
    uint32_t place[kPerThread];
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      if (threadIdx.x + i * kRankThreads >= length) continue;
      place[i] = atomicAdd(&memory.above[RankBin<kHarrisKeys>(corner[i], height)], 1u);
    }
    __syncthreads();
    SumBinsAbove(memory);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      if (threadIdx.x + i * kRankThreads >= length) continue;
      memory.corner[memory.above[RankBin<kHarrisKeys>(corner[i], height)] + place[i]] = Precedence(corner[i]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      Ranked& r = own[i];
      if ((r.corner.key == 0 && r.corner.position == 0) || r.better >= share) continue;
      const uint64_t precedence = Precedence(r.corner);
      const int bin = RankBin<kHarrisKeys>(r.corner, height);
      const auto end_of = [&](int b) { return b > 0 ? memory.above[b - 1] : length; };
      const uint32_t begin = memory.above[bin];
      const uint32_t end = end_of(bin);
      r.preceding += begin;
      if (kHarrisKeys) {
        r.better += begin;
        r.not_worse += begin;
      } else {
        const int lowest = static_cast<int>(r.corner.key) * 4;  // of the bins of this key
        r.better += memory.above[lowest + 3];
        r.not_worse += end_of(lowest);
      }
      if (r.better >= share) continue;
      for (uint32_t k = begin; k < end; ++k) {
        const uint64_t other = memory.corner[k];
        r.preceding += other > precedence ? 1 : 0;
        if (!kHarrisKeys) continue;
        const auto key = static_cast<uint32_t>(other >> 32);
        r.better += key > r.corner.key ? 1 : 0;
        r.not_worse += key >= r.corner.key ? 1 : 0;
      }
    }
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RANK_CUH_
