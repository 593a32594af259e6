// The final ranking, the angles and the result. A block takes some corners of one level: it finds each one's place
// among the level's (rank.cuh) and whether it stays; then half a warp each finds the angles of those that do and writes
// them to their places, in device memory and straight into memory that the host reads: only what was found crosses the
// bus, and no copy is set up.
//
// A corner stays if fewer than the level's share have a larger response (cv::KeyPointsFilter::retainBest keeps ties).
//
// Shared memory 24 KiB.
#include <cstddef>

#include "cuda/centroid.cuh"
#include "cuda/rank.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kBlocksPerMultiprocessor = 3;
constexpr int kOwn = 4;                // corners that a thread ranks at once
constexpr uint32_t kSmallestPart = 8;  // corners of a block

struct Kept {
  Candidate corner;
  uint32_t rank;
};

struct Memory {
  union {
    RankMemory ranking;
    Kept kept[kOwn * kRankThreads];
  };
  uint32_t kept_count;
};

// Lists a corner of level l, whose shortlist has `count`, if it stays. The level's last one tells how many do.
__device__ __forceinline__ void List(const Frame& frame, int l, uint32_t count, const Ranked& r, Memory& memory) {
  const Level& level = frame.level[l];
  const auto share = static_cast<uint32_t>(level.share);
  if (r.better >= share) return;
  if (r.preceding + 1 == r.not_worse && (r.not_worse >= share || r.not_worse == count)) {
    frame.counters->kept[l] = r.not_worse;
    frame.result->kept[l] = r.not_worse;
  }
  if (r.preceding >= static_cast<uint32_t>(level.ranked_capacity)) return;
  memory.kept[atomicAdd(&memory.kept_count, 1u)] = {r.corner, r.preceding};
}

template <bool kHarrisKeys>
__global__ void __launch_bounds__(kRankThreads, kBlocksPerMultiprocessor)
    OrientKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  __shared__ Memory memory;
  AllowSuccessor();
  const DiscLane disc(frame);
  WaitForPredecessor();
  Counters& counters = *frame.counters;
  const uint32_t thread = blockIdx.x * kRankThreads + threadIdx.x;
  // The shortlist stage is done with these.
  auto* clear = reinterpret_cast<uint32_t*>(&counters);
  constexpr uint32_t kClear = offsetof(Counters, shortlisted) / sizeof(uint32_t);
  for (uint32_t i = thread; i < kClear; i += gridDim.x * kRankThreads) clear[i] = 0;
  if (thread < kMaxLevels && counters.shortlisted[thread] == 0) frame.result->kept[thread] = 0;

  // Each level's shortlist in parts of equal length, no more of them than there are blocks. A lane per level.
  const int lane = threadIdx.x % kWarp;
  const uint32_t mine = lane < frame.levels ? counters.shortlisted[lane] : 0;
  const auto total = static_cast<uint32_t>(WarpSum(static_cast<int>(mine)));
  const uint32_t blocks = gridDim.x - frame.levels;
  const uint32_t even = (total + blocks - 1) / blocks;
  const uint32_t part = even > kSmallestPart ? even : kSmallestPart;
  const uint32_t parts = (mine + part - 1) / part;
  uint32_t upto = parts;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const uint32_t other = __shfl_up_sync(kFullWarp, upto, step);
    if (lane >= step) upto += other;
  }
  const int l = __popc(__ballot_sync(kFullWarp, blockIdx.x >= upto));
  if (l >= frame.levels) return;
  const uint32_t index = blockIdx.x - __shfl_sync(kFullWarp, upto - parts, l);
  const uint32_t count = __shfl_sync(kFullWarp, mine, l);
  const Level& level = frame.level[l];
  const uint32_t end = (index + 1) * part < count ? (index + 1) * part : count;

  for (uint32_t first = index * part; first < end; first += kOwn * kRankThreads) {
    Ranked own[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const uint32_t k = first + i * kRankThreads + threadIdx.x;
      own[i] = Ranked{};
      if (k < end) own[i].corner = level.shortlist[k];
    }
    RankByBlock<kHarrisKeys>(level.shortlist, count, static_cast<uint32_t>(level.share), level.height, memory.ranking,
                             own);
    __syncthreads();
    if (threadIdx.x == 0) memory.kept_count = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if (own[i].not_worse > 0) List(frame, l, count, own[i], memory);
    }
    __syncthreads();
    const uint32_t kept = memory.kept_count;
    constexpr uint32_t kGroups = kRankThreads / kAngleLanes;
    for (uint32_t i = threadIdx.x / kAngleLanes; i < (kept + 1) / 2 * 2; i += kGroups) {
      const Kept mine = memory.kept[i < kept ? i : kept - 1];
      const uint32_t position = mine.corner.position;
      const float angle = frame.orient ? CentroidAngle(frame, level, disc, XOf(position), YOf(position)) : -1.0f;
      if (i >= kept) continue;
      const uint4 record = {position, mine.corner.key, __float_as_uint(angle), 0};
      if (threadIdx.x % kAngleLanes == 0) *reinterpret_cast<uint4*>(&level.result[mine.rank]) = record;
      if (threadIdx.x % kAngleLanes == 1) *reinterpret_cast<uint4*>(&level.ranked[mine.rank]) = record;
    }
    __syncthreads();
  }
}

__global__ void NothingKernel() {}

}  // namespace

absl::Status Orient(StreamView stream, const Frame& frame, bool harris_keys, int multiprocessors) {
  KernelLaunch launch;
  launch.kernel = harris_keys ? reinterpret_cast<const void*>(&OrientKernel<true>)
                              : reinterpret_cast<const void*>(&OrientKernel<false>);
  launch.block = dim3(kRankThreads);
  launch.grid = dim3(Max(kBlocksPerMultiprocessor * multiprocessors, 2 * kMaxLevels));
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
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
