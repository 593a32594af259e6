// The final ranking, the angles that the shortlist stage has not found, and the result. A block takes some ranks of
// one level: it finds the corners at them (rank.cuh) and whether they stay, and writes those that do, in device memory
// and straight into memory that the host reads: only what was found crosses the bus, and no copy is set up.
// Neighbouring ranks are written by neighbouring lanes, so that they share packets on the bus.
//
// A corner stays if fewer than the level's share have a larger response (cv::KeyPointsFilter::retainBest keeps ties).
//
// Shared memory 40 KiB.
#include "cuda/describe/orient.cuh"
#include "cuda/runtime/error.h"
#include "cuda/select/rank_short.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Whether a kernel ranks short lists by comparing all (rank_short.cuh).
constexpr bool ForShortLists(bool harris_keys, bool orient, int threads) {
  return harris_keys && !orient && threads == kRankThreads;
}
// At once.
constexpr int BlocksPerMultiprocessor(bool for_short_lists, int threads) {
  return for_short_lists ? 4 : threads == kRankThreads ? 3 : 1;
}
// Wanted for each multiprocessor, no more than there are at once. Each counts its level's whole shortlist, so that few
// are better unless they have angles to find or compare with all of a short list.
constexpr int kRankingBlocks = 2;
constexpr int kOrientingBlocks = 3;
constexpr int kShortRankingBlocks = 4;
constexpr int kWideRankingBlocks = 1;
constexpr int kSmallestPart = 8;  // entries of the shortlist for a block

template <bool kHarrisKeys, bool kOrient, int kThreads>
__global__ void __launch_bounds__(kThreads,
                                  BlocksPerMultiprocessor(ForShortLists(kHarrisKeys, kOrient, kThreads), kThreads))
    OrientKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT LevelBlocks blocks) {
  constexpr bool kShort = ForShortLists(kHarrisKeys, kOrient, kThreads);
  __shared__ RankMemory memory;
  AllowSuccessor();
  ClearBins<kThreads>(memory);
  const int l = blocks.LevelOf(blockIdx.x, frame.levels);
  const Level& level = frame.level[l];
  __syncthreads();
  WaitForPredecessor();
  Counters& counters = *frame.counters;
  // Loaded before it is known whether there are so many.
  ListWindow<kHarrisKeys> head{};
  ShortlistEntry listed[kEntriesPerThread] = {};
  if (level.width > 0) {
    head.Load(level, 0);
    if (!kShort) LoadShortlistEntries(level, listed);
  }
  const uint32_t count = counters.shortlisted[l];
  const uint32_t parts = blocks.first[l + 1] - blocks.first[l];
  const uint32_t index = blockIdx.x - blocks.first[l];
  // The shortlist stage is done with these.
  for (uint32_t i = index * kThreads + threadIdx.x; i < static_cast<uint32_t>(frame.score_bins);
       i += parts * kThreads) {
    counters.histogram[l][i] = 0;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) counters.candidates = 0;
  if (count == 0 && index == 0 && threadIdx.x == 0) frame.result->kept[l] = 0;
  if (index >= count) return;
  const uint32_t part = (count + parts - 1) / parts;
  if (kShort && count <= kShortList && part <= kShortPart) {
    // The bins' memory, which is zero, holds the keys.
#pragma unroll
    for (uint32_t j = 0; j < kEntriesPerThread; ++j) {
      const uint32_t entry = kEntriesPerThread * threadIdx.x + j;
      if (entry < count) memory.above[entry] = head.corner[j].key;
    }
    __syncthreads();
    const uint32_t begin = index * part;
    const uint32_t end = begin + part < count ? begin + part : count;
    RankShortList(level, memory.above, count, begin, end,
                  [&](const Rank& r, uint32_t key, const ShortlistEntry& listed) {
                    Keep<false>(frame, l, count, r, Precedence({listed.position, key}), 0, listed.angle, memory);
                  });
    return;
  }
  if (kShort) LoadShortlistEntries(level, listed);
  RankPart<kHarrisKeys, kOrient, kThreads>(frame, l, count, index, parts, head, listed, memory);
}

__global__ void NothingKernel() {}

template <bool kHarrisKeys, int kThreads = kRankThreads>
const void* KernelFor(bool orient) {
  return orient ? reinterpret_cast<const void*>(&OrientKernel<kHarrisKeys, true, kThreads>)
                : reinterpret_cast<const void*>(&OrientKernel<kHarrisKeys, false, kThreads>);
}

}  // namespace

absl::Status Orient(StreamView stream, const Frame& frame, bool harris_keys, int multiprocessors) {
  const bool orient = frame.orient && !frame.orient_early;
  int total = 0;
  int longest = 0;
  for (int l = 0; l < frame.levels; ++l) {
    total += frame.level[l].first_share;
    longest = Max(longest, frame.level[l].first_share);
  }
  // Where smaller blocks would need more than one look at a shortlist to count it; but not where the larger ones, of
  // which there are fewer, would have to go through their ranks in turns.
  const bool wide = longest > kEntriesPerThread * kRankThreads && harris_keys &&
                    total <= kRanksAtATime * kWideRankingBlocks * multiprocessors;
  const bool is_short = ForShortLists(harris_keys, orient, kRankThreads) && longest <= static_cast<int>(kShortList) &&
                        total <= static_cast<int>(kShortPart) * kShortRankingBlocks * multiprocessors;
  const int blocks_wanted = (wide       ? kWideRankingBlocks
                             : orient   ? kOrientingBlocks
                             : is_short ? kShortRankingBlocks
                                        : kRankingBlocks) *
                            multiprocessors;
  const LevelBlocks blocks(frame, Max(DivideUp(total, blocks_wanted), kSmallestPart), blocks_wanted);
  KernelLaunch launch;
  launch.kernel = wide          ? KernelFor<true, kWideRankThreads>(orient)
                  : harris_keys ? KernelFor<true>(orient)
                                : KernelFor<false>(orient);
  launch.block = dim3(wide ? kWideRankThreads : kRankThreads);
  launch.grid = dim3(blocks.first[frame.levels]);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<LevelBlocks*>(&blocks)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the orientation stage");
}

absl::Status LaunchNothing(StreamView stream) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&NothingKernel);
  launch.block = dim3(1);
  launch.grid = dim3(1);
  return ToStatus(stream.api->LaunchKernel(launch, nullptr, stream.stream), "launching nothing");
}

}  // namespace glint::cuda
