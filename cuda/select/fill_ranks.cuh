// Filling ranks of the ranking, as its kernels share it.
#ifndef GLINT_CUDA_SELECT_FILL_RANKS_CUH_
#define GLINT_CUDA_SELECT_FILL_RANKS_CUH_

#include "cuda/describe/centroid.cuh"
#include "cuda/select/bin_ranks.cuh"

namespace glint::cuda {

inline constexpr uint32_t kSmallestShare = kSmallestRankShare;  // ranks of a block
inline constexpr int kAnglesAtOnce = kImageRankThreads / kAngleLanes;

// `rank`: in the order of all levels.
__device__ __forceinline__ void Write(const Frame& frame, const Binning& bin_of, const Memory& memory, uint64_t order,
                                      uint32_t rank, float angle) {
  const Candidate c = CornerOf(order);
  const Level& level = frame.level[LevelOf(c.position)];
  rank -= memory.above[bin_of.Highest(LevelOf(c.position))];
  if (rank >= static_cast<uint32_t>(level.ranked_capacity)) return;
  const uint4 record = {c.position, c.key, __float_as_uint(angle), 0};
  *reinterpret_cast<uint4*>(&level.result[rank]) = record;
  *reinterpret_cast<uint4*>(&level.ranked[rank]) = record;
}

// By half a warp, valid in its lanes; all lanes of the warp must call.
__device__ __forceinline__ float AngleOf(const Frame& frame, const DiscLane& disc, uint64_t order) {
  const uint32_t position = CornerOf(order).position;
  return CentroidAngle(frame, frame.level[LevelOf(position)], disc, XOf(position), YOf(position));
}

// Puts an entry among those of `range`, of which its bin is.
__device__ __forceinline__ void Collect(Candidate c, int bin, RankRange range, Memory& memory) {
  memory.entry[memory.above[bin] - range.first + atomicAdd(&memory.taken[bin], 1u)] = Order(c);
}

// Finds the angles of `count` of memory.entry, if they are asked for, and writes these to rank_of(i). All threads must
// call.
template <typename F>
__device__ __forceinline__ void OrientAndWrite(const Frame& frame, const Binning& bin_of, uint32_t count, F rank_of,
                                               Memory& memory) {
  if (frame.orient) {
    const DiscLane disc(frame);
    for (uint32_t i = threadIdx.x / kAngleLanes; i < (count + 1) / 2 * 2; i += kAnglesAtOnce) {
      const float angle = AngleOf(frame, disc, memory.entry[i < count ? i : count - 1]);
      if (i < count && threadIdx.x % kAngleLanes == 0) memory.angle[i] = angle;
    }
    __syncthreads();
  }
  for (uint32_t i = threadIdx.x; i < count; i += kImageRankThreads) {
    Write(frame, bin_of, memory, memory.entry[i], rank_of(i), frame.orient ? memory.angle[i] : -1.0f);
  }
}

// Fills ranks with what is collected. All threads must call.
__device__ __forceinline__ void FillRange(const Frame& frame, const Binning& bin_of, RankRange range, Memory& memory) {
  const uint32_t count = range.end - range.first;
  __syncthreads();
  constexpr int kOwn = kRangeEntries / kImageRankThreads;
  uint64_t own[kOwn];
  uint32_t rank[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const uint32_t at = threadIdx.x + i * kImageRankThreads;
    if (at >= count) continue;
    own[i] = memory.entry[at];
    const int bin = bin_of(CornerOf(own[i]));
    const uint32_t end = memory.From(bin) - range.first;
    rank[i] = memory.above[bin] - range.first;
    for (uint32_t k = rank[i]; k < end; ++k) rank[i] += memory.entry[k] > own[i] ? 1 : 0;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (threadIdx.x + i * kImageRankThreads < count) memory.entry[rank[i]] = own[i];
  }
  __syncthreads();
  OrientAndWrite(
      frame, bin_of, count, [&](uint32_t i) { return range.first + i; }, memory);
}

// memory.above's sums to counts of the levels.
__device__ __forceinline__ void WriteKept(const Frame& frame, const Binning& bin_of, const Memory& memory) {
  const auto level = static_cast<int>(threadIdx.x);
  if (level >= frame.levels) return;
  const uint32_t kept = memory.From(bin_of.Lowest(level)) - memory.above[bin_of.Highest(level)];
  frame.counters->kept[level] = kept;
  frame.result->kept[level] = kept;
}

// Calls `fill` with the block's ranges, one after the other: its share of the ranks. All threads must call.
template <typename F>
__device__ __forceinline__ void ForEachRange(F fill, Memory& memory) {
  const uint32_t total = memory.total;
  const uint32_t even = (total + gridDim.x - 1) / gridDim.x;
  const uint32_t rounds = (even + kLargestShare - 1) / kLargestShare;
  const uint32_t share = max(rounds > 1 ? (even + rounds - 1) / rounds : even, kSmallestShare);
  for (uint32_t begin = blockIdx.x * share; begin < total; begin += gridDim.x * share) {
    const RankRange range = FindRange(begin, begin + share, memory);
    if (range.first < range.end) fill(range);
    __syncthreads();
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_FILL_RANKS_CUH_
