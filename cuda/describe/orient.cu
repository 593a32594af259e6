// The final ranking, the angles that the shortlist stage has not found, and the result. A block takes some ranks of
// one level: it finds the corners at them (rank.cuh) and whether they stay, and writes those that do, in device memory
// and straight into memory that the host reads: only what was found crosses the bus, and no copy is set up.
// Neighbouring ranks are written by neighbouring lanes, so that they share packets on the bus.
//
// A corner stays if fewer than the level's share have a larger response (cv::KeyPointsFilter::retainBest keeps ties).
//
// Shared memory 40 KiB.
#include "cuda/common/enqueue.h"
#include "cuda/common/sort_key.cuh"
#include "cuda/describe/orient.cuh"
#include "cuda/runtime/error.h"
#include "cuda/select/rank_short.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// At once.
constexpr int BlocksPerMultiprocessor(bool for_short_lists, int threads) {
  return for_short_lists ? 4 : threads == kRankThreads ? 3 : 1;
}
template <bool kHarrisKeys, bool kOrient, int kThreads>
__global__ void __launch_bounds__(kThreads,
                                  BlocksPerMultiprocessor(ForShortLists(kHarrisKeys, kOrient, kThreads), kThreads))
    OrientKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT LevelBlocks blocks) {
  constexpr bool kShort = ForShortLists(kHarrisKeys, kOrient, kThreads);
  __shared__ RankMemory memory;
  AllowSuccessor();
  memory.bins.Clear<kThreads>();
  ClearTaken<kThreads>(memory);
  if (threadIdx.x == 0) {
    memory.kept_count = 0;
    memory.has_large = false;
  }
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
      if (entry < count) memory.bins.begin[entry] = head.corner[j].key;
    }
    __syncthreads();
    const uint32_t begin = index * part;
    const uint32_t end = begin + part < count ? begin + part : count;
    RankShortList(level, memory.bins.begin, count, begin, end,
                  [&](const Rank& r, uint32_t key, const ShortlistEntry& listed) {
                    Keep<false>(frame, l, count, r, Precedence({listed.position, key}), 0, listed.angle, memory);
                  });
    return;
  }
  if (kShort) LoadShortlistEntries(level, listed);
  RankPart<kHarrisKeys, kOrient, kThreads>(frame, l, count, index, parts, head, listed, memory);
}

__global__ void NothingKernel() {}

using OrientedKernel = void (*)(Frame, LevelBlocks);
template <bool kHarrisKeys, int kThreads = kRankThreads>
OrientedKernel KernelFor(bool orients) {
  return orients ? OrientKernel<kHarrisKeys, true, kThreads> : OrientKernel<kHarrisKeys, false, kThreads>;
}
OrientedKernel KernelFor(const Launch& launch) {
  if (launch.block.x == kWideRankThreads) return KernelFor<true, kWideRankThreads>(launch.orients);
  return launch.harris_keys ? KernelFor<true>(launch.orients) : KernelFor<false>(launch.orients);
}

}  // namespace

absl::Status Orient(StreamView stream, const Launch& launch, const Frame& frame) {
  return Enqueue(stream, launch, KernelFor(launch), frame, launch.blocks);
}

absl::Status LaunchNothing(StreamView stream) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&NothingKernel);
  launch.block = dim3(1);
  launch.grid = dim3(1);
  return ToStatus(stream.api->LaunchKernel(launch, nullptr, stream.stream), "launching nothing");
}

}  // namespace glint::cuda
