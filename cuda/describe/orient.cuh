// What becomes of corners whose rank in the ranking is known, and how blocks share the ranks.
#ifndef GLINT_CUDA_DESCRIBE_ORIENT_CUH_
#define GLINT_CUDA_DESCRIBE_ORIENT_CUH_

#include <limits>

#include "cuda/common/centroid.cuh"
#include "cuda/common/sort_key.cuh"
#include "cuda/plan/level_blocks.h"
#include "cuda/select/rank.cuh"

namespace glint::cuda {

// Writes the corner `precedence`, memory.precedence[slot] if there is a slot, if it stays, or lists the slot if its
// angle (kOrient) is yet to be found. The level's last one tells how many do.
template <bool kOrient>
__device__ __forceinline__ void Keep(const Frame& frame, int l, uint32_t count, const Rank& r, uint64_t precedence,
                                     uint32_t slot, float angle, RankMemory& memory) {
  const Level& level = frame.level[l];
  const auto share = static_cast<uint32_t>(level.share);
  if (r.better >= share) return;
  if (r.preceding + 1 == r.not_worse && (r.not_worse >= share || r.not_worse == count)) {
    Tell(frame, l, r.not_worse);
  }
  if (r.preceding >= static_cast<uint32_t>(level.ranked_capacity)) return;
  if (kOrient) {
    static_assert(uint64_t{2 * kMaxFeatures} * kRankRoom <= std::numeric_limits<uint32_t>::max(), "OutputCapacity()");
    memory.kept[atomicAdd(&memory.kept_count, 1u)] = r.preceding * kRankRoom + slot;
  } else {
    Write(level, CornerOf(precedence), angle, r.preceding);
  }
}

// Finds the angles of what Keep() listed, half a warp each, and then writes it, neighbouring ranks by neighbouring
// lanes. All threads must call.
template <int kThreads>
__device__ __forceinline__ void OrientKept(const Frame& frame, const Level& level, RankMemory& memory) {
  const DiscLane disc(frame);
  __syncthreads();
  const uint32_t kept = memory.kept_count;
  for (uint32_t i = threadIdx.x / kAngleLanes; i < (kept + 1) / 2 * 2; i += kThreads / kAngleLanes) {
    const uint32_t slot = memory.kept[i < kept ? i : kept - 1] % kRankRoom;
    const uint32_t position = CornerOf(memory.precedence[slot]).position;
    const float angle = CentroidAngle(frame, level, disc, XOf(position), YOf(position));
    if (i < kept && threadIdx.x % kAngleLanes == 0) memory.angle[slot] = angle;
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < kept; i += kThreads) {
    const uint32_t slot = memory.kept[i] % kRankRoom;
    Write(level, CornerOf(memory.precedence[slot]), memory.angle[slot], memory.kept[i] / kRankRoom);
  }
  __syncthreads();
  if (threadIdx.x == 0) memory.kept_count = 0;
  __syncthreads();
}

// The ranks of large bins, by block `index` of the level's `parts`. Apart from the kernel, whose registers it would
// take.
template <bool kHarrisKeys, int kThreads>
__device__ __noinline__ void RankLarge(const Frame& frame, int l, uint32_t count, uint32_t index, uint32_t parts,
                                       RankMemory& memory) {
  const Level& level = frame.level[l];
  const LevelRanking<kHarrisKeys, kThreads> bins(level, count, memory);
  RankLargeBinsOfLevel<kThreads, kRankBins, /*kOneKey=*/!kHarrisKeys>(
      frame, l, count, static_cast<uint32_t>(level.share), index, parts, bins,
      [&](int bin) {
        return ShortlistBin<kHarrisKeys, kThreads>{level, count, bin};
      },
      memory.ties, memory.precedence);
}

template <int kThreads>
__device__ __forceinline__ void ClearTaken(RankMemory& memory) {
  for (int i = 4 * threadIdx.x; i < kRankBins; i += 4 * kThreads) {
    *reinterpret_cast<uint4*>(&memory.taken[i]) = make_uint4(0, 0, 0, 0);
  }
}

// The part `index` of `parts` equal ones of the level's ranks, whatever the order of its shortlist. memory.bins,
// .taken and .kept_count are 0 before; `head` and `listed`: the first window.
template <bool kHarrisKeys, bool kOrient, int kThreads>
__device__ __forceinline__ void RankPart(const Frame& frame, int l, uint32_t count, uint32_t index, uint32_t parts,
                                         ListWindow<kHarrisKeys>& head, ShortlistEntry (&listed)[kEntriesPerThread],
                                         RankMemory& memory) {
  const Level& level = frame.level[l];
  LevelRanking<kHarrisKeys, kThreads> ranking(level, count, memory);
  ranking.CountBins(head);
  const uint32_t ranks = ranking.RanksThatMayStay(static_cast<uint32_t>(level.share));
  const uint32_t part = (ranks + parts - 1) / parts;
  const uint32_t begin = index * part;
  const uint32_t end = begin + part < ranks ? begin + part : ranks;
  for (uint32_t first = begin; first < end; first += kRanksAtATime) {
    const uint32_t last = first + kRanksAtATime < end ? first + kRanksAtATime : end;
    memory.bins.FindRange<kThreads>(first, last, kLargestBin);
    __syncthreads();
    ranking.Collect(head, listed);
    __syncthreads();
    for (uint32_t slot = threadIdx.x; slot < ranking.Length(); slot += kThreads) {
      const uint64_t precedence = memory.precedence[slot];
      if (precedence == 0) continue;
      Keep<kOrient>(frame, l, count, ranking.RankOf(precedence), precedence, slot, memory.angle[slot], memory);
    }
    if (kOrient) OrientKept<kThreads>(frame, level, memory);
    if (last == end) break;
    __syncthreads();
    ClearTaken<kThreads>(memory);
    // Again, rather than to hold them in registers all the while.
    head.Load(level, 0);
    LoadShortlistEntries(level, listed);
    __syncthreads();
  }
  if (memory.has_large) RankLarge<kHarrisKeys, kThreads>(frame, l, count, index, parts, memory);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_DESCRIBE_ORIENT_CUH_
