// Filling ranks of the ranking, as its kernels share it.
#ifndef GLINT_CUDA_SELECT_FILL_RANKS_CUH_
#define GLINT_CUDA_SELECT_FILL_RANKS_CUH_

#include "cuda/select/bin_ranks.cuh"

namespace glint::cuda {

inline constexpr uint32_t kSmallestShare = kSmallestRankShare;  // ranks of a block

// `rank`: in the order of all levels.
__device__ __forceinline__ void Write(const Frame& frame, const Binning& bin_of, const Memory& memory, Candidate c,
                                      uint32_t rank, float angle) {
  const Level& level = frame.level[LevelOf(c.position)];
  rank -= memory.above[bin_of.Highest(LevelOf(c.position))];
  if (rank < static_cast<uint32_t>(level.ranked_capacity)) Write(level, c, angle, rank);
}

// Puts an entry among those of `range`, of which its bin is.
__device__ __forceinline__ void Collect(Candidate c, int bin, RankRange range, Memory& memory) {
  memory.entry[memory.above[bin] - range.first + atomicAdd(&memory.taken[bin], 1u)] = Precedence(c);
}

// Finds the angles of `count` of memory.entry, if they are asked for, and writes these to rank_of(i). All threads must
// call.
template <typename F>
__device__ __forceinline__ void OrientAndWrite(const Frame& frame, const Binning& bin_of, uint32_t count, F rank_of,
                                               Memory& memory) {
  if (frame.orient) {
    const DiscLane disc(frame);
    for (uint32_t i = threadIdx.x / kAngleLanes; i < (count + 1) / 2 * 2; i += kImageRankThreads / kAngleLanes) {
      const uint32_t position = CornerOf(memory.entry[i < count ? i : count - 1]).position;
      const float angle = CentroidAngle(frame, frame.level[LevelOf(position)], disc, XOf(position), YOf(position));
      if (i < count && threadIdx.x % kAngleLanes == 0) memory.angle[i] = angle;
    }
    __syncthreads();
  }
  for (uint32_t i = threadIdx.x; i < count; i += kImageRankThreads) {
    const float angle = frame.orient ? memory.angle[i] : -1.0f;
    Write(frame, bin_of, memory, CornerOf(memory.entry[i]), rank_of(i), angle);
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
  Tell(frame, level, memory.From(bin_of.Lowest(level)) - memory.above[bin_of.Highest(level)]);
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

// Ranks the bins that are left, of more than kLargestShare entries; source_of(bin): their corners. Apart from the
// kernel, whose registers it would take. All threads must call.
template <typename SourceOf>
__device__ __noinline__ void RankLargeBins(const Frame& frame, Binning bin_of, SourceOf source_of, Memory& memory) {
  const auto ranks_of = [&](int bin) {
    const uint32_t above = memory.above[bin];
    const uint32_t end = memory.From(bin);
    return above < end && end <= memory.total && end - above > kLargestShare ? end - above : 0;
  };
  const auto rank = [&](int bin, uint32_t from, uint32_t to) {
    const int l = bin_of.LevelOfBin(bin);
    const uint32_t first = memory.above[bin] - memory.above[bin_of.Highest(l)];
    RankTies<kImageRankThreads>(frame, frame.level[l], source_of(bin), ranks_of(bin), first, from, to, memory.ties,
                                memory.entry);
  };
  ShareLargeBins<kImageRankThreads, kImageRankBins>(ranks_of, blockIdx.x, gridDim.x, memory.ties, rank);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_FILL_RANKS_CUH_
