// The final ranking of what is in buckets (buckets.cuh), angles and result. A block takes some ranks of one level, as
// in orient.cu, and writes them in order; but large buckets, which hold too much for that, are ranked by all of the
// level's blocks together.
//
// Shared memory 28 KiB.
#include "cuda/describe/orient.cuh"
#include "cuda/runtime/error.h"
#include "cuda/select/rank_large.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int Threads(bool orient) { return orient ? 256 : 512; }
constexpr int BlocksPerMultiprocessor(bool orient) { return orient ? 3 : 2; }  // at once
constexpr int BlocksWanted(bool orient) { return orient ? 3 : 1; }             // for each multiprocessor
constexpr int kSmallestPart = 16;                                              // ranks for a block
constexpr int kLargestPart = kBucketRanks / 2;

__device__ __forceinline__ void Tell(const Frame& frame, int l, uint32_t kept) {
  frame.counters->kept[l] = kept;
  frame.result->kept[l] = kept;
}

// Writes `count` corners to the level's ranks from `first` on, where not 0.
template <bool kOrient>
__device__ __forceinline__ void WriteRanked(const Frame& frame, const Level& level, const uint64_t* ranked,
                                            uint32_t first, uint32_t count) {
  constexpr int kThreads = Threads(kOrient);
  const auto capacity = static_cast<uint32_t>(level.ranked_capacity);
  if (!kOrient) {
    for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
      if (ranked[i] != 0 && first + i < capacity) Write(level, ranked[i], -1.0f, first + i);
    }
    return;
  }
  static_assert(kWarp == 2 * kAngleLanes);
  const DiscLane disc(frame);
  for (uint32_t i = threadIdx.x / kAngleLanes; i < (count + 1) / 2 * 2; i += kThreads / kAngleLanes) {
    const uint64_t precedence = ranked[i];
    const uint64_t neighbour = ranked[i ^ 1];  // of the warp's other lanes
    if ((precedence | neighbour) == 0) continue;
    const uint32_t position = ~static_cast<uint32_t>(precedence != 0 ? precedence : neighbour);
    const float angle = CentroidAngle(frame, level, disc, XOf(position), YOf(position));
    if (precedence == 0 || i >= count || threadIdx.x % kAngleLanes != 0 || first + i >= capacity) continue;
    Write(level, precedence, angle, first + i);
  }
}

// The ranks of large buckets, by block `index` of the level's `blocks`: those of all such buckets together are shared
// out evenly, since few blocks would have them otherwise.
template <bool kOrient>
__device__ __forceinline__ void RankLarge(const Frame& frame, int l, uint32_t index, uint32_t blocks, uint32_t largest,
                                          BucketMemory& memory) {
  constexpr int kThreads = Threads(kOrient);
  const auto share = static_cast<uint32_t>(frame.level[l].first_share);
  if (threadIdx.x == 0) memory.sorted = -1;
  MarkLarge<kThreads>(share, largest, memory);
  uint32_t kept = memory.count;
  const int last = LastLarge(memory);
  if (memory.begin[last + 1] > share) {
    LargeRanking<kThreads> ranking(frame, l, last, memory);
    kept = memory.begin[last] + ranking.NotWorse(share - 1 - memory.begin[last]);
    if (index == 0 && threadIdx.x == 0) Tell(frame, l, kept);
  }
  uint32_t ranks = 0;
  const uint32_t end = min(kept, static_cast<uint32_t>(frame.level[l].ranked_capacity));
  for (int bucket = -1; (bucket = NextLarge(bucket, memory)) < kBins;) ranks += RanksOf(bucket, end, memory);
  const uint32_t part = (ranks + blocks - 1) / blocks;
  if (threadIdx.x == 0) {
    memory.next_own = min(index * part, ranks);
    memory.end_own = min(index * part + part, ranks);
  }
  __syncthreads();
  while (memory.next_own < memory.end_own) {
    uint32_t first = memory.next_own;
    int bucket = NextLarge(-1, memory);
    for (; first >= memory.SizeOf(bucket); bucket = NextLarge(bucket, memory)) first -= memory.SizeOf(bucket);
    const uint32_t behind = min(first + memory.end_own - memory.next_own, memory.SizeOf(bucket));
    const RankedRange range = LargeRanking<kThreads>(frame, l, bucket, memory).Rank(first, behind);
    WriteRanked<kOrient>(frame, frame.level[l], range.corners, memory.begin[bucket] + first, range.count);
    __syncthreads();
    if (threadIdx.x == 0) memory.next_own += range.count;
    __syncthreads();
  }
}

// Which the ranking's blocks have read when they come here. By the last warp of the last block.
__device__ __forceinline__ void ClearCounters(const Frame& frame) {
  Counters& counters = *frame.counters;
  constexpr int kVectors = kBins / 4;
  for (int i = threadIdx.x % kWarp; i < frame.levels * kVectors; i += kWarp) {
    reinterpret_cast<uint4*>(counters.histogram[i / kVectors])[i % kVectors] = make_uint4(0, 0, 0, 0);
  }
  static_assert(kMaxLevels <= kWarp);
  if (threadIdx.x % kWarp < kMaxLevels) counters.overflow[threadIdx.x % kWarp] = 0;
  if (threadIdx.x % kWarp == 0) counters.blocks_ranking = 0;
}

template <bool kOrient>
__global__ void __launch_bounds__(Threads(kOrient), BlocksPerMultiprocessor(kOrient))
    OrientBucketsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT LevelBlocks blocks) {
  constexpr int kThreads = Threads(kOrient);
  __shared__ BucketMemory memory;
  AllowSuccessor();
  const int l = blocks.LevelOf(blockIdx.x, frame.levels);
  const Level& level = frame.level[l];
  const auto share = static_cast<uint32_t>(level.first_share);
  const uint32_t parts = blocks.first[l + 1] - blocks.first[l];
  const uint32_t part = (share + parts - 1) / parts;
  const uint32_t index = blockIdx.x - blocks.first[l];
  BucketRanking<kThreads> ranking(level, index, part, memory);
  __syncthreads();
  WaitForPredecessor();
  ranking.Load(frame.counters->histogram[l], &frame.counters->overflow[l]);
  ranking.FindBuckets();
  // All threads of the block have what they need of the counters, so that they may be cleared. What the atomic says is
  // looked at in the end alone: nothing waits for it.
  constexpr int kLastLane = kThreads - 1;
  uint32_t blocks_before = 0;
  if (threadIdx.x == kLastLane) blocks_before = atomicAdd(&frame.counters->blocks_ranking, 1u);

  const uint32_t count = ranking.count();
  if (index == 0 && count <= share && threadIdx.x == 0) Tell(frame, l, count);
  if (ranking.HasRanks()) {
    ranking.Rank([&](uint32_t kept) { Tell(frame, l, kept); });
    WriteRanked<kOrient>(frame, level, memory.ranked, ranking.first(), ranking.length());
  }
  if (threadIdx.x / kWarp == kLastLane / kWarp) {
    if (__shfl_sync(kFullWarp, blocks_before, kWarp - 1) == gridDim.x - 1) ClearCounters(frame);
  }
  // Last, so that what is executed otherwise lies together.
  if (!memory.has_large) return;
  __syncthreads();
  RankLarge<kOrient>(frame, l, index, parts, ranking.largest(), memory);
}

}  // namespace

absl::Status OrientBuckets(StreamView stream, const Frame& frame, int multiprocessors) {
  int total = 0;
  for (int l = 0; l < frame.levels; ++l) total += frame.level[l].first_share;
  const int blocks_wanted = BlocksWanted(frame.orient) * multiprocessors;
  const LevelBlocks blocks(frame, Clamp(DivideUp(total, blocks_wanted), kSmallestPart, kLargestPart));
  KernelLaunch launch;
  launch.kernel = frame.orient ? reinterpret_cast<const void*>(&OrientBucketsKernel<true>)
                               : reinterpret_cast<const void*>(&OrientBucketsKernel<false>);
  launch.block = dim3(Threads(frame.orient));
  launch.grid = dim3(blocks.first[frame.levels]);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<LevelBlocks*>(&blocks)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the orientation stage");
}

}  // namespace glint::cuda
