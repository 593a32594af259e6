// Ranking over the levels together, by a block: how many entries come before each bin of level and key, which ranks the
// bins have, and the filling of the block's own ranks.
#ifndef GLINT_CUDA_SELECT_FILL_RANKS_CUH_
#define GLINT_CUDA_SELECT_FILL_RANKS_CUH_

#include "cuda/select/rank_ties.cuh"
#include "cuda/select/sources.cuh"

namespace glint::cuda {

inline constexpr uint32_t kLargestShare = 1024;  // ranks that a block fills at once, and entries of a bin among them
static_assert(kTieRoom >= 2 * kLargestShare && kTieRoom == kImageRankWarps * kBucketRoom);

struct Memory {
  BinSums<kImageRankBins> bins;
  union {
    uint32_t taken[kImageRankBins];  // entries of the bin that are in `entry`
    TieMemory ties;                  // later
  };
  alignas(16) uint64_t entry[kTieRoom];  // Precedence()
  float angle[kTieRoom];
  bool has_large;  // bins of more than kLargestShare entries

  __device__ __forceinline__ void ClearTaken() {
    *reinterpret_cast<uint2*>(&taken[2 * threadIdx.x]) = make_uint2(0, 0);
  }
  // From counts to sums. All threads must call; ends with __syncthreads().
  __device__ __forceinline__ void SumBins() {
    if (bins.Sum<kImageRankThreads>(kLargestShare)) has_large = true;
    __syncthreads();
  }
};

// `rank`: in the order of all levels. `bins`: which are of which level, here and below.
template <typename Bins, int kCount>
__device__ __forceinline__ void Write(const Frame& frame, const Bins& bins, const BinSums<kCount>& sums, Candidate c,
                                      uint32_t rank, float angle) {
  const int l = LevelOf(c.position);
  const Level& level = frame.level[l];
  rank -= sums.begin[bins.FirstBin(l)];
  if (rank < static_cast<uint32_t>(level.ranked_capacity)) Write(level, c, angle, rank);
}

// How many of each level are kept.
template <typename Bins, int kCount>
__device__ __forceinline__ void WriteKept(const Frame& frame, const Bins& bins, const BinSums<kCount>& sums) {
  const auto l = static_cast<int>(threadIdx.x);
  if (l < frame.levels) Tell(frame, l, sums.begin[bins.FirstBin(l + 1)] - sums.begin[bins.FirstBin(l)]);
}

// Puts an entry among those of `range`, of which its bin is.
__device__ __forceinline__ void Collect(Candidate c, int bin, RankRange range, Memory& memory) {
  memory.entry[memory.bins.begin[bin] - range.first + atomicAdd(&memory.taken[bin], 1u)] = Precedence(c);
}

// Writes `count` of memory.entry, with angles if they are asked for, to rank_of(i). All threads must call.
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
    Write(frame, bin_of, memory.bins, CornerOf(memory.entry[i]), rank_of(i), angle);
  }
}

// Fills ranks with what is collected. All threads must call.
__device__ __forceinline__ void FillRange(const Frame& frame, const Binning& bin_of, RankRange range, Memory& memory) {
  const uint32_t count = range.end - range.first;
  __syncthreads();
  constexpr int kOwn = kTieRoom / kImageRankThreads;
  uint64_t own[kOwn];
  uint32_t rank[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const uint32_t at = threadIdx.x + i * kImageRankThreads;
    if (at >= count) continue;
    own[i] = memory.entry[at];
    const int bin = bin_of(CornerOf(own[i]));
    const uint32_t begin = memory.bins.begin[bin] - range.first;
    rank[i] = begin + CountGreater<1>(memory.entry, begin, memory.bins.begin[bin + 1] - range.first, own[i]);
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

// Calls `fill` with the block's ranges, one after the other: its share of the ranks. All threads must call.
template <typename F>
__device__ __forceinline__ void ForEachRange(F fill, Memory& memory) {
  const uint32_t total = memory.bins.total();
  const uint32_t even = (total + gridDim.x - 1) / gridDim.x;
  const uint32_t rounds = (even + kLargestShare - 1) / kLargestShare;
  const uint32_t share = max(rounds > 1 ? (even + rounds - 1) / rounds : even, uint32_t{kSmallestRankShare});
  for (uint32_t begin = blockIdx.x * share; begin < total; begin += gridDim.x * share) {
    memory.bins.FindRange<kImageRankThreads>(begin, begin + share, kLargestShare);
    __syncthreads();
    const RankRange range = memory.bins.range;
    if (range.first < range.end) fill(range);
    __syncthreads();
  }
}

// Ranks the bins that are left, of more than kLargestShare entries; source_of(bin): their corners. Apart from the
// kernel, whose registers it would take. All threads must call.
template <typename SourceOf>
__device__ __noinline__ void RankLeftBins(const Frame& frame, Binning bin_of, SourceOf source_of, Memory& memory) {
  RankLargeBins<kImageRankThreads>(frame, bin_of, memory.bins, kLargestShare, source_of, memory.ties, memory.entry);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_FILL_RANKS_CUH_
