// Bins of many ties: their ranks are shared out among blocks, and the corners at them ranked (tie_ranking.cuh) and
// written. All threads of the block must call what is here.
#ifndef GLINT_CUDA_SELECT_RANK_TIES_CUH_
#define GLINT_CUDA_SELECT_RANK_TIES_CUH_

#include "cuda/common/write_ranked.cuh"
#include "cuda/select/tie_ranking.cuh"

namespace glint::cuda {

// Writes the corners at ranks from..to-1 of a bin, which begins at rank `first` of the level.
template <int kThreads, typename Source>
__device__ __forceinline__ void RankTies(const Frame& frame, const Level& level, const Source& source, uint32_t count,
                                         uint32_t first, uint32_t from, uint32_t to, TieMemory& memory,
                                         uint64_t* sorted) {
  TieRanking<kThreads, Source> ranking(source, count, memory, sorted);
  while (from < to) {
    uint32_t ranked;
    const uint64_t* corners = ranking.Rank(from, to, &ranked);
    WriteRanked<kThreads>(frame, level, frame.orient, corners, first + from, ranked);
    __syncthreads();
    from += ranked;
  }
}

// Shares the ranks of large bins out among `blocks` blocks, and calls rank_in(bin, from, to) for those of block
// `index`: from..to-1 within the bin. ranks_of(bin): how many it has, 0 if it is not large.
template <int kThreads, int kCount, typename RanksOf, typename RankIn>
__device__ __forceinline__ void ShareLargeBins(RanksOf ranks_of, uint32_t index, uint32_t blocks, TieMemory& memory,
                                               RankIn rank_in) {
  auto& sums = memory.digits;
  for (uint32_t done = 0;;) {
    __syncthreads();
    for (int i = threadIdx.x; i < sums.kCount; i += kThreads) sums.begin[i] = i < kCount ? ranks_of(i) : 0;
    __syncthreads();
    sums.template Sum<kThreads>(0u);
    __syncthreads();
    const uint32_t share = (sums.total() + blocks - 1) / blocks;
    const uint32_t begin = index * share + done;
    const uint32_t end = min((index + 1) * share, sums.total());
    if (begin >= end) return;
    const int bin = sums.template BinAt<kThreads>(begin);
    const uint32_t from = begin - sums.begin[bin];
    const uint32_t to = min(end, sums.begin[bin + 1]) - sums.begin[bin];
    rank_in(bin, from, to);
    done += to - from;
  }
}

// Ranks the large bins of a level of `count` corners, of which all stay that fewer than `share` have a larger key than.
// `bins`: their ranks (Begin, End), whether they are large (IsLarge), what a bin's corners have of those with larger
// keys (Better) and where the keys in it end (EndOfKeys); kOneKey: a bin's corners all have the same key.
// source_of(bin): its corners. Block `index` of `blocks`.
template <int kThreads, int kCount, bool kOneKey, typename Bins, typename SourceOf>
__device__ __forceinline__ void RankLargeBinsOfLevel(const Frame& frame, int l, uint32_t count, uint32_t share,
                                                     uint32_t index, uint32_t blocks, const Bins& bins,
                                                     SourceOf source_of, TieMemory& memory, uint64_t* sorted) {
  const Level& level = frame.level[l];
  __syncthreads();
  if (threadIdx.x == 0) memory.end_digit = -1;
  __syncthreads();
  // The bin of the last corner that stays, if it is large.
  for (int bin = threadIdx.x; bin < kCount; bin += kThreads) {
    const uint32_t end = bins.End(bin);
    if (bins.IsLarge(bin) && bins.Better(bin) < share && (end >= share || end == count) && bins.EndOfKeys(bin) == end) {
      memory.end_digit = bin;
    }
  }
  __syncthreads();
  const int last = memory.end_digit;
  uint32_t kept = count;
  if (last >= 0) {
    kept = bins.End(last);
    const uint32_t first = bins.Begin(last);
    if (!kOneKey && kept > share) {
      const auto source = source_of(last);
      kept = first + TieRanking<kThreads, decltype(source)>(source, kept - first, memory, sorted)
                         .FindKept(share - 1 - first)
                         .count;
    }
    if (index == 0 && threadIdx.x == 0) Tell(frame, l, kept);
  }
  const uint32_t end = min(kept, static_cast<uint32_t>(level.ranked_capacity));
  const auto ranks_of = [&](int bin) {
    const bool stays = bins.IsLarge(bin) && bins.Better(bin) < share && bins.Begin(bin) < end;
    return stays ? min(bins.End(bin), end) - bins.Begin(bin) : 0;
  };
  ShareLargeBins<kThreads, kCount>(ranks_of, index, blocks, memory, [&](int bin, uint32_t from, uint32_t to) {
    const uint32_t first = bins.Begin(bin);
    RankTies<kThreads>(frame, level, source_of(bin), bins.End(bin) - first, first, from, to, memory, sorted);
  });
}

// Ranks the bins of more than `largest` corners, when what is left out of them has been ranked. `bins`: which are of
// which level (LevelOfBin, FirstBin). source_of(bin): its corners.
template <int kThreads, int kCount, typename Bins, typename SourceOf>
__device__ __forceinline__ void RankLargeBins(const Frame& frame, const Bins& bins, const BinSums<kCount>& sums,
                                              uint32_t largest, SourceOf source_of, TieMemory& memory,
                                              uint64_t* sorted) {
  const auto ranks_of = [&](int bin) { return sums.Size(bin) > largest ? sums.Size(bin) : 0; };
  ShareLargeBins<kThreads, kCount>(ranks_of, blockIdx.x, gridDim.x, memory, [&](int bin, uint32_t from, uint32_t to) {
    const int l = bins.LevelOfBin(bin);
    const uint32_t first = sums.begin[bin] - sums.begin[bins.FirstBin(l)];
    RankTies<kThreads>(frame, frame.level[l], source_of(bin), sums.Size(bin), first, from, to, memory, sorted);
  });
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_TIES_CUH_
