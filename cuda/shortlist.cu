// The first cut: of each level's candidates, the best `first_share` by key and all that tie with the last of them
// (cv::KeyPointsFilter::retainBest), exactly for FAST scores, whose histogram has a bin per score; for Harris keys the
// bin in which the cut falls stays whole, which the ranking resolves. cv::ORB's order of stages then scores what is
// left by Harris.
//
// A block queues what stays of its candidates. The queue's places in the shortlists, one atomic per level, are on their
// way while it is scored with 8 lanes per corner, each with one column of the window. Shared memory 10 KiB.
#include "cuda/device.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kHarrisLanes = 8;  // 7 columns of the window
constexpr int kQueue = 4 * kThreads;
constexpr int kBlocksPerMultiprocessor = 4;

// The smallest bin that stays, by the calling warp; kBins if nothing does.
template <int kCount>
__device__ int FindCut(const uint32_t* histogram, uint32_t wanted) {
  if (wanted == 0) return kBins;
  constexpr int kPerLane = 8;
  const int lane = threadIdx.x % kWarp;
  uint32_t above = 0;  // in the bins already passed
  for (int high = kCount; high > 0; high -= kPerLane * kWarp) {
    const int low = high - kPerLane * (lane + 1);  // lane 0 has the highest
    const uint4 a = *reinterpret_cast<const uint4*>(histogram + low);
    const uint4 b = *reinterpret_cast<const uint4*>(histogram + low + 4);
    const uint32_t bins[kPerLane] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    uint32_t mine = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) mine += bins[i];
    uint32_t upto = mine;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const uint32_t other = __shfl_up_sync(kFullWarp, upto, step);
      if (lane >= step) upto += other;
    }
    upto += above;
    const unsigned reached = __ballot_sync(kFullWarp, upto >= wanted);
    if (reached != 0) {
      uint32_t sum = upto - mine;
      int cut = low;
#pragma unroll
      for (int i = kPerLane - 1; i >= 0; --i) {
        if (sum < wanted) cut = low + i;
        sum += bins[i];
      }
      return __shfl_sync(kFullWarp, cut, __ffs(static_cast<int>(reached)) - 1);
    }
    above = __shfl_sync(kFullWarp, upto, kWarp - 1);
  }
  return 0;
}

// The Harris response at (x, y) by the kHarrisLanes lanes of a group, lane `column` of it; valid in all of them. Pixels
// outside the level are its reflection.
__device__ float HarrisByGroup(const Level& level, int x, int y, int column) {
  int difference[2 * kHarrisRadius + 1];
  int sum[2 * kHarrisRadius + 1];
  const auto take = [&](int v, int a, int b, int c) {
    difference[v] = c - a;
    sum[v] = a + 2 * b + c;
  };
  int left = x - kHarrisRadius + column;  // of the three columns that this lane reads
  if (x >= kHarrisRadius && x < level.width - kHarrisRadius && y >= kHarrisRadius && y < level.height - kHarrisRadius) {
    // The last lane's columns, which nobody needs, may leave the row: it reads its neighbour's.
    left = Min(left, x - kHarrisRadius + kHarrisBlock - 1);
    const uint8_t* pixel = level.image + static_cast<size_t>(y - kHarrisRadius) * level.pitch + left;
    uint8_t p[2 * kHarrisRadius + 1][3];  // all loaded before the first is used
#pragma unroll
    for (int v = 0; v <= 2 * kHarrisRadius; ++v) {
#pragma unroll
      for (int u = 0; u < 3; ++u) p[v][u] = pixel[u];
      pixel += level.pitch;
    }
#pragma unroll
    for (int v = 0; v <= 2 * kHarrisRadius; ++v) take(v, p[v][0], p[v][1], p[v][2]);
  } else {
    const int middle = Reflect101(left + 1, level.width);
    const int right = Reflect101(left + 2, level.width);
    left = Reflect101(left, level.width);
#pragma unroll
    for (int v = 0; v <= 2 * kHarrisRadius; ++v) {
      const int row = Reflect101(y - kHarrisRadius + v, level.height);
      const uint8_t* line = level.image + static_cast<size_t>(row) * level.pitch;
      take(v, line[left], line[middle], line[right]);
    }
  }
  int xx = 0, yy = 0, xy = 0;
  if (column < kHarrisBlock) {
#pragma unroll
    for (int v = 2; v <= 2 * kHarrisRadius; ++v) {
      const int gx = difference[v - 2] + 2 * difference[v - 1] + difference[v];
      const int gy = sum[v] - sum[v - 2];
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
  }
#pragma unroll
  for (int step = kHarrisLanes / 2; step > 0; step /= 2) {
    xx += __shfl_xor_sync(kFullWarp, xx, step);
    yy += __shfl_xor_sync(kFullWarp, yy, step);
    xy += __shfl_xor_sync(kFullWarp, xy, step);
  }
  return HarrisResponse(xx, yy, xy);
}

struct Queue {
  Candidate corner[kQueue];
  uint16_t place[kQueue];  // among the queue's corners of the same level
  uint32_t length;
  uint32_t per_level[kMaxLevels];
  uint32_t base[kMaxLevels];  // of the queue's corners in the shortlist
};

// Moves the queue to the shortlists. All threads of the block must call.
template <bool kRescore>
__device__ void Flush(const Frame& frame, Queue& queue) {
  __syncthreads();
  const int length = queue.length;
  if (threadIdx.x < kMaxLevels && queue.per_level[threadIdx.x] != 0) {
    queue.base[threadIdx.x] = atomicAdd(&frame.counters->shortlisted[threadIdx.x], queue.per_level[threadIdx.x]);
  }
  if (kRescore) {
    constexpr int kPerWarp = kWarp / kHarrisLanes;
    const int lane = threadIdx.x % kWarp;
    // The last warp first: the first one waits for the atomics.
    for (int first = (kWarps - 1 - threadIdx.x / kWarp) * kPerWarp; first < length; first += kWarps * kPerWarp) {
      const int i = Min(first + lane / kHarrisLanes, length - 1);
      const uint32_t position = queue.corner[i].position;
      const float response =
          HarrisByGroup(frame.level[LevelOf(position)], XOf(position), YOf(position), lane % kHarrisLanes);
      if (lane % kHarrisLanes == 0) queue.corner[i].key = OrderedKey(__float_as_uint(response));
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < length; i += kThreads) {
    const int l = LevelOf(queue.corner[i].position);
    frame.level[l].shortlist[queue.base[l] + queue.place[i]] = queue.corner[i];
  }
  __syncthreads();
  if (threadIdx.x < kMaxLevels) queue.per_level[threadIdx.x] = 0;
  if (threadIdx.x == 0) queue.length = 0;
  __syncthreads();
}

template <bool kRescore, bool kHarrisKeys>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    ShortlistKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  __shared__ int cut[kMaxLevels];
  __shared__ Queue queue;

  if (threadIdx.x < kMaxLevels) queue.per_level[threadIdx.x] = 0;
  if (threadIdx.x == 0) queue.length = 0;
  AllowSuccessor();
  WaitForPredecessor();
  const Counters& counters = *frame.counters;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  // The blocks take turns, so that all get their share of the good ones.
  const uint32_t total = counters.candidates;
  const uint32_t even = (total + gridDim.x - 1) / gridDim.x;
  const uint32_t turn = even < kThreads ? even : kThreads;  // candidates
  const uint32_t step = gridDim.x * turn;
  uint32_t at = threadIdx.x < turn ? blockIdx.x * turn + threadIdx.x : total;
  if (blockIdx.x * turn >= total) return;
  Candidate next{};  // loaded ahead, while the cuts are found
  if (at < total) next = frame.candidates[at];
  for (int l = warp; l < frame.levels; l += kWarps) {
    const int found = FindCut < kHarrisKeys ? kBins : 256 > (counters.histogram[l], frame.level[l].first_share);
    if (lane == 0) cut[l] = found;
  }
  __syncthreads();
  for (uint32_t first = blockIdx.x * turn; first < total; first += step) {
    const Candidate c = next;
    const bool exists = at < total;
    if (exists) at += step;
    if (at < total) next = frame.candidates[at];
    const int bin = kHarrisKeys ? HarrisBin(c.key) : static_cast<int>(c.key);
    const int l = LevelOf(c.position);
    const bool keep = exists && bin >= cut[l];
    const unsigned kept = __ballot_sync(kFullWarp, keep);
    uint32_t base = 0;
    if (kept != 0 && lane == 0) base = atomicAdd(&queue.length, __popc(kept));
    base = __shfl_sync(kFullWarp, base, 0);
    if (keep) {
      const uint32_t i = base + __popc(kept & ((1u << lane) - 1));
      queue.corner[i] = c;
      queue.place[i] = static_cast<uint16_t>(atomicAdd(&queue.per_level[l], 1u));
    }
    // The same decision in all threads: between barriers, before anyone can add more.
    if (first + step < total) {
      __syncthreads();
      const bool full = queue.length > kQueue - kThreads;
      __syncthreads();
      if (full) Flush<kRescore>(frame, queue);
    }
  }
  Flush<kRescore>(frame, queue);
}

}  // namespace

absl::Status Shortlist(StreamView stream, const Frame& frame, bool rescore, bool harris_keys, int multiprocessors) {
  KernelLaunch launch;
  launch.kernel = rescore       ? reinterpret_cast<const void*>(&ShortlistKernel<true, false>)
                  : harris_keys ? reinterpret_cast<const void*>(&ShortlistKernel<false, true>)
                                : reinterpret_cast<const void*>(&ShortlistKernel<false, false>);
  launch.block = dim3(kThreads);
  launch.grid = dim3(kBlocksPerMultiprocessor * multiprocessors);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the shortlist stage");
}

}  // namespace glint::cuda
