// The first threshold: of each level's candidates, the best `first_share` by key and all that tie with the last of them
// (cv::KeyPointsFilter::retainBest), exactly: the histogram has a bin per score. cv::ORB's order of stages then scores
// what is left by Harris. Candidates that come with the response that ranks them take another way (buckets.cuh).
//
// A block queues what stays of its candidates. The queue's places in the shortlists, one atomic per level, are on their
// way while some warps score it, 4 lanes per corner, each with two columns of the window, and others find its angles
// (Frame::orient_early), which takes the angles out of what a frame waits for. Shared memory 14 KiB.
#include "cuda/common/centroid.cuh"
#include "cuda/common/enqueue.h"
#include "cuda/common/warp.cuh"
#include "cuda/select/histogram.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int Threads(bool orient) { return ShortlistThreads(orient); }
constexpr int kThreadsPerMultiprocessor = kShortlistThreadsWanted;
constexpr int kHarrisLanes = 4;  // for 7 columns of the window
constexpr int kQueue = 1024;
constexpr uint32_t kRun = 8;  // neighbours in memory among the candidates of a block

// The smallest of `bins` scores that stays, by the calling warp; `bins` if nothing does.
__device__ __forceinline__ int FindThreshold(const uint32_t* histogram, int bins, uint32_t wanted) {
  constexpr int kAtOnce = 256;
  if (wanted == 0) return bins;
  for (int low = bins - kAtOnce; low >= 0; low -= kAtOnce) {
    uint32_t count = 0;
    const int bin = FindThresholdBin<kAtOnce>(histogram + low, wanted, &count);
    if (bin >= 0) return low + bin;
    wanted -= count;
  }
  return 0;
}

// Sum of a word's bytes, each times a signed byte of `weights`.
__device__ __forceinline__ int DotBytes(uint32_t word, uint32_t weights) {
  int sum;
  asm("dp4a.u32.s32 %0, %1, %2, 0;" : "=r"(sum) : "r"(word), "r"(weights));
  return sum;
}

// The Harris response at (x, y) by the kHarrisLanes lanes of a group, each with two columns of the window; valid in all
// of them. Pixels outside the level are its reflection.
__device__ __forceinline__ float HarrisByGroup(const Level& level, int x, int y, int lane) {
  constexpr int kRows = 2 * kHarrisRadius + 1;
  const int left = x - kHarrisRadius + 2 * lane;  // of the four columns that this lane reads
  uint32_t pixels[kRows];
  if (x >= kHarrisRadius && x < level.width - kHarrisRadius && y >= kHarrisRadius && y < level.height - kHarrisRadius) {
    const uint8_t* from = level.image + static_cast<size_t>(y - kHarrisRadius) * level.pitch + (left & ~3);
    uint32_t words[kRows][2];  // all loaded before the first is used
#pragma unroll
    for (int v = 0; v < kRows; ++v) {
      words[v][0] = reinterpret_cast<const uint32_t*>(from)[0];
      words[v][1] = reinterpret_cast<const uint32_t*>(from)[1];
      from += level.pitch;
    }
#pragma unroll
    for (int v = 0; v < kRows; ++v) pixels[v] = __funnelshift_r(words[v][0], words[v][1], (left & 3) * 8);
  } else {
#pragma unroll
    for (int v = 0; v < kRows; ++v) {
      const int row = Reflect101(y - kHarrisRadius + v, level.height);
      const uint8_t* line = level.image + static_cast<size_t>(row) * level.pitch;
      pixels[v] = 0;
      for (int u = 0; u < 4; ++u) {
        pixels[v] |= static_cast<uint32_t>(line[Reflect101(left + u, level.width)]) << (8 * u);
      }
    }
  }
  int xx = 0, yy = 0, xy = 0;
#pragma unroll
  for (int column = 0; column < 2; ++column) {
    // There are seven columns: the last lane's second is none.
    const bool exists = column == 0 || lane + 1 < kHarrisLanes;
    const uint32_t smooth = exists ? 0x00010201u << (8 * column) : 0;
    const uint32_t derive = exists ? 0x000100ffu << (8 * column) : 0;
    int difference[kRows];
    int sum[kRows];
#pragma unroll
    for (int v = 0; v < kRows; ++v) {
      difference[v] = DotBytes(pixels[v], derive);
      sum[v] = DotBytes(pixels[v], smooth);
      if (v < 2) continue;
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
  uint32_t position[kQueue];
  uint32_t key[kQueue];
  float angle[kQueue];
  uint16_t index[kQueue];  // among the queue's corners of the same level
  uint32_t length;
  uint32_t per_level[kMaxLevels];
  uint32_t base[kMaxLevels];  // of the queue's corners in the shortlist
};

// Moves the queue to the shortlists. All threads of the block must call.
template <bool kRescore, bool kOrient>
__device__ __forceinline__ void Flush(const Frame& frame, const DiscLane& disc, Queue& queue) {
  constexpr int kThreads = Threads(kOrient);
  constexpr int kWarps = kThreads / kWarp;
  __syncthreads();
  const int length = queue.length;
  if (threadIdx.x < kMaxLevels && queue.per_level[threadIdx.x] != 0) {
    queue.base[threadIdx.x] = atomicAdd(&frame.counters->shortlisted[threadIdx.x], queue.per_level[threadIdx.x]);
  }
  // A warp finds some angles or some responses at a time: the angles first, they take longer; and the last warp first,
  // as the first one waits for the atomics.
  constexpr int kAngles = kWarp / kAngleLanes;
  constexpr int kResponses = kWarp / kHarrisLanes;
  const int lane = threadIdx.x % kWarp;
  const int angle_tasks = kOrient ? (length + kAngles - 1) / kAngles : 0;
  const int tasks = angle_tasks + (kRescore ? (length + kResponses - 1) / kResponses : 0);
  for (int task = kWarps - 1 - threadIdx.x / kWarp; task < tasks; task += kWarps) {
    if (kOrient && task < angle_tasks) {
      const int i = Min(task * kAngles + lane / kAngleLanes, length - 1);
      const uint32_t position = queue.position[i];
      const float angle = CentroidAngle(frame, frame.level[LevelOf(position)], disc, XOf(position), YOf(position));
      if (lane % kAngleLanes == 0) queue.angle[i] = angle;
    } else if (kRescore) {
      const int i = Min((task - angle_tasks) * kResponses + lane / kHarrisLanes, length - 1);
      const uint32_t position = queue.position[i];
      const float response =
          HarrisByGroup(frame.level[LevelOf(position)], XOf(position), YOf(position), lane % kHarrisLanes);
      if (lane % kHarrisLanes == 0) queue.key[i] = OrderedKey(__float_as_uint(response));
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < length; i += kThreads) {
    const uint32_t position = queue.position[i];
    const int l = LevelOf(position);
    const uint32_t at = queue.base[l] + queue.index[i];
    frame.level[l].shortlist_keys[at] = queue.key[i];
    frame.level[l].shortlist_entries[at] = {position, kOrient ? queue.angle[i] : -1.0f};
  }
}

template <bool kRescore, bool kOrient>
__global__ void __launch_bounds__(Threads(kOrient), kThreadsPerMultiprocessor / Threads(kOrient))
    ShortlistKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  constexpr int kThreads = Threads(kOrient);
  constexpr int kWarps = kThreads / kWarp;
  __shared__ int threshold[kMaxLevels];
  __shared__ Queue queue;

  if (threadIdx.x < kMaxLevels) queue.per_level[threadIdx.x] = 0;
  if (threadIdx.x == 0) queue.length = 0;
  AllowSuccessor();
  const DiscLane disc(frame);
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  // Runs of a few candidates, neighbours in memory, go to the blocks round robin, so that all get their share of the
  // good ones.
  uint32_t at = (threadIdx.x / kRun * gridDim.x + blockIdx.x) * kRun + threadIdx.x % kRun;
  const uint32_t step = gridDim.x * kThreads;
  WaitForPredecessor();
  const Counters& counters = *frame.counters;
  // Loaded ahead, before it is known how many there are.
  Candidate next{};
  if (at < frame.candidate_room) next = frame.candidates[at];
  const uint32_t total = counters.candidates;
  for (int l = warp; l < frame.levels; l += kWarps) {
    const int found = FindThreshold(counters.histogram[l], frame.score_bins, frame.level[l].first_share);
    if (lane == 0) threshold[l] = found;
  }
  if (blockIdx.x * kRun >= total) return;
  __syncthreads();
  for (uint32_t first = blockIdx.x * kRun; first < total; first += step) {
    const Candidate c = next;
    const bool exists = at < total;
    at += step;
    if (at < total) next = frame.candidates[at];
    const auto bin = static_cast<int>(c.key);
    const int l = exists ? LevelOf(c.position) : 0;
    const bool keep = exists && bin >= threshold[l];
    const unsigned kept = __ballot_sync(kFullWarp, keep);
    uint32_t base = 0;
    if (kept != 0 && lane == 0) base = atomicAdd(&queue.length, __popc(kept));
    base = __shfl_sync(kFullWarp, base, 0);
    if (keep) {
      const uint32_t i = base + __popc(kept & ((1u << lane) - 1));
      queue.position[i] = c.position;
      queue.key[i] = c.key;
      queue.index[i] = static_cast<uint16_t>(atomicAdd(&queue.per_level[l], 1u));
    }
    // Full if the warp that came last says so.
    if (first + step < total && __syncthreads_or(base + __popc(kept) > kQueue - kThreads ? 1 : 0) != 0) {
      Flush<kRescore, kOrient>(frame, disc, queue);
      __syncthreads();
      if (threadIdx.x < kMaxLevels) queue.per_level[threadIdx.x] = 0;
      if (threadIdx.x == 0) queue.length = 0;
      __syncthreads();
    }
  }
  Flush<kRescore, kOrient>(frame, disc, queue);
}

using ShortlistedKernel = void (*)(Frame);
ShortlistedKernel KernelFor(bool rescores, bool orients) {
  if (orients) return rescores ? ShortlistKernel<true, true> : ShortlistKernel<false, true>;
  return rescores ? ShortlistKernel<true, false> : ShortlistKernel<false, false>;
}

}  // namespace

absl::Status Shortlist(StreamView stream, const Launch& launch, const Frame& frame) {
  return Enqueue(stream, launch, KernelFor(launch.rescores, launch.orients), frame);
}

}  // namespace glint::cuda
