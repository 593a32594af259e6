// The final ranking of what is sorted by bins (scatter.cu), angles and result. A block takes some places of one level,
// as in orient.cu, and writes them in order. Where bins of the level hold too many for that, its blocks all rank as
// those of orient.cu do: two ways of sharing the corners of a bin would not fit together.
//
// Shared memory 40 KiB.
#include <cstddef>

#include "cuda/orient.cuh"
#include "cuda/rank_sorted.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int Threads(bool orient) { return orient ? 256 : 512; }
constexpr int BlocksPerMultiprocessor(bool orient) { return orient ? 3 : 2; }  // at once
constexpr int BlocksWanted(bool orient) { return orient ? 3 : 1; }             // for each multiprocessor
constexpr int kSmallestPart = 16;                                              // places for a block
constexpr int kLargestPart = kRankPlaces / 2;

__device__ __forceinline__ void Tell(const Frame& frame, int l, uint32_t kept) {
  frame.counters->kept[l] = kept;
  frame.result->kept[l] = kept;
}

// Writes memory.ranked, `count` places of the level from `first` on.
template <bool kOrient>
__device__ __forceinline__ void WriteRanked(const Frame& frame, const Level& level, uint32_t first, uint32_t count,
                                            const RankMemory& memory) {
  constexpr int kThreads = Threads(kOrient);
  const auto capacity = static_cast<uint32_t>(level.ranked_capacity);
  if (!kOrient) {
    for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
      const uint64_t precedence = memory.ranked[i];
      if (precedence != 0 && first + i < capacity) Write(level, precedence, -1.0f, first + i);
    }
    return;
  }
  if (memory.ranked[0] == 0) return;
  const DiscLane disc(frame);
  for (uint32_t i = threadIdx.x / kAngleLanes; i < (count + 1) / 2 * 2; i += kThreads / kAngleLanes) {
    const bool stays = i < count && memory.ranked[i] != 0 && first + i < capacity;
    const uint64_t precedence = memory.ranked[stays ? i : 0];
    const uint32_t position = ~static_cast<uint32_t>(precedence);
    const float angle = CentroidAngle(frame, level, disc, XOf(position), YOf(position));
    if (stays && threadIdx.x % kAngleLanes == 0) Write(level, precedence, angle, first + i);
  }
}

template <bool kOrient>
__global__ void __launch_bounds__(Threads(kOrient), BlocksPerMultiprocessor(kOrient))
    OrientSortedKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT LevelBlocks blocks) {
  constexpr int kThreads = Threads(kOrient);
  __shared__ RankMemory memory;
  AllowSuccessor();
  ClearBins<kThreads>(memory);
  const int l = blocks.LevelOf(blockIdx.x, frame.levels);
  const Level& level = frame.level[l];
  const auto share = static_cast<uint32_t>(level.first_share);
  const uint32_t parts = blocks.first[l + 1] - blocks.first[l];
  const uint32_t part = (share + parts - 1) / parts;
  SortedRanking<kThreads> ranking(level, blockIdx.x - blocks.first[l], part, memory);
  const uint32_t first = ranking.first();
  if (threadIdx.x == 0) memory.large_bins = 0;
  __syncthreads();
  WaitForPredecessor();
  Counters& counters = *frame.counters;
  ranking.Load(counters.reaching[l]);
  // The stage before is done with these.
  const uint32_t threads = gridDim.x * kThreads;
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  auto* clear = reinterpret_cast<uint32_t*>(&counters.histogram);
  constexpr uint32_t kClear = (offsetof(Counters, shortlisted) - offsetof(Counters, histogram)) / sizeof(uint32_t);
  for (uint32_t i = thread; i < kClear; i += threads) clear[i] = 0;
  for (uint32_t i = thread; i < static_cast<uint32_t>(frame.levels * kBins); i += threads) {
    counters.bin[i / kBins][i % kBins].taken = 0;
  }

  ranking.FindBins();
  const uint32_t count = ranking.count();
  if (first == 0 && count <= share && threadIdx.x == 0) Tell(frame, l, count);
  if (first >= count || first >= share) return;
  const uint32_t end = ranking.end();
  if (ranking.Fits()) {
    ranking.Rank([&](uint32_t kept) { Tell(frame, l, kept); });
    WriteRanked<kOrient>(frame, level, first, end - first, memory);
    return;
  }
  __syncthreads();
  ClearBins<kThreads>(memory);
  __syncthreads();
  ListWindow<true, false> head;
  Listed listed[kListedPerThread];
  head.Load(level, 0);
  LoadListed<false>(level, listed);
  RankPlaces<true, kOrient, false, kThreads>(frame, l, count, first, end, head, listed, memory);
}

}  // namespace

absl::Status OrientSorted(StreamView stream, const Frame& frame, int multiprocessors) {
  int total = 0;
  for (int l = 0; l < frame.levels; ++l) total += frame.level[l].first_share;
  const int blocks_wanted = BlocksWanted(frame.orient) * multiprocessors;
  const LevelBlocks blocks(frame, Clamp(DivideUp(total, blocks_wanted), kSmallestPart, kLargestPart));
  KernelLaunch launch;
  launch.kernel = frame.orient ? reinterpret_cast<const void*>(&OrientSortedKernel<true>)
                               : reinterpret_cast<const void*>(&OrientSortedKernel<false>);
  launch.block = dim3(Threads(frame.orient));
  launch.grid = dim3(blocks.first[frame.levels]);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<LevelBlocks*>(&blocks)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the orientation stage");
}

}  // namespace glint::cuda
