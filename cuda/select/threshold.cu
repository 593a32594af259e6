// The best of the candidates, exactly: those that fewer than the wanted number exceed (cv::KeyPointsFilter::retainBest,
// ties kept), over the image or for each level.
//
// The histogram tells in which bin the threshold falls. With a threshold for each level, candidates above it go to the
// shortlists, those in it to a list of their own, from which one block of each level then selects by the key's bytes,
// most significant first. With one threshold for the image all of them go to the ranking's buckets: its blocks then
// find for themselves which of them stay.
#include "cuda/common/enqueue.h"
#include "cuda/common/harris.cuh"
#include "cuda/common/sort_key.cuh"
#include "cuda/select/bins.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = kThresholdThreads;

struct TopKThreshold {
  int bin;         // the smallest that stays, at least in part; kBins if nothing does
  uint32_t above;  // candidates in higher bins
};

// By the calling warp; valid in all lanes.
__device__ TopKThreshold FindThreshold(const uint32_t* histogram, uint32_t wanted) {
  if (wanted == 0) return {kBins, 0};
  constexpr int kPerLane = kBins / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int low = kBins - kPerLane * (lane + 1);  // lane 0 has the highest
  uint32_t bins[kPerLane];
  uint32_t mine = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; i += 4) {
    const uint4 v = *reinterpret_cast<const uint4*>(histogram + low + i);
    bins[i] = v.x;
    bins[i + 1] = v.y;
    bins[i + 2] = v.z;
    bins[i + 3] = v.w;
  }
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) mine += bins[i];
  const uint32_t upto = SumUpTo(mine);
  const unsigned reached = __ballot_sync(kFullWarp, upto >= wanted);
  // If there are fewer than wanted, everything stays: the threshold is in the lowest bin.
  const int from = reached != 0 ? __ffs(static_cast<int>(reached)) - 1 : kWarp - 1;
  TopKThreshold threshold = {low, upto - mine};
  uint32_t above = upto - mine;
  bool found = false;
#pragma unroll
  for (int i = kPerLane - 1; i >= 0; --i) {
    if (!found) threshold = {low + i, above};
    above += bins[i];
    found = found || above >= wanted;
  }
  return {__shfl_sync(kFullWarp, threshold.bin, from), __shfl_sync(kFullWarp, threshold.above, from)};
}

__global__ void __launch_bounds__(kThreads)
    ThresholdKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  __shared__ int threshold[kMaxLevels];
  WaitForPredecessor();
  const int warp = threadIdx.x / kWarp;
  const uint32_t total = frame.counters->candidates;
  const uint32_t buffer = params.counters->buffer;
  uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (blockIdx.x * kThreads >= total) return;
  Candidate c = {0, 0};
  if (i < total) c = frame.candidates[i];
  const int groups = params.threshold_by_level ? frame.levels : 1;
  for (int g = warp; g < groups; g += kThreads / kWarp) {
    const TopKThreshold found = FindThreshold(frame.counters->histogram[g], WantedOf(frame, params, g));
    if (threadIdx.x % kWarp == 0) threshold[g] = found.bin;
  }
  __syncthreads();
  while (true) {
    const int l = LevelOf(c.position);
    const int g = GroupOf(params, l);
    const int bin = HarrisBin(c.key);
    const bool in_boundary_bin = i < total && bin == threshold[g];
    const bool stays = i < total && (bin > threshold[g] || (in_boundary_bin && !params.threshold_by_level));
    if (params.threshold_by_level) {
      const Reserved boundary = Reserve(params.counters->boundary, in_boundary_bin, g);
      const Reserved reserved = Reserve(frame.counters->shortlisted, stays, l);
      const uint32_t boundary_index = boundary.Index();
      const uint32_t index = reserved.Index();
      if (in_boundary_bin) params.boundary[params.level[g].first_boundary + boundary_index] = c;
      if (stays) frame.level[l].shortlist[index] = c;
    } else {
      AppendToBucket(frame, params, buffer, stays, c);
    }
    i += gridDim.x * kThreads;
    if (i - threadIdx.x >= total) break;
    if (i < total) c = frame.candidates[i];
  }
  AllowSuccessor();  // not before: its blocks would be placed where there is room now, unevenly
}

__global__ void __launch_bounds__(kBoundaryThreads)
    BoundaryBinKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  __shared__ uint32_t histogram[256];
  __shared__ uint32_t above_shared, least_shared;
  AllowSuccessor();
  WaitForPredecessor();
  const int group = blockIdx.x;
  const uint32_t wanted = WantedOf(frame, params, group);
  const uint32_t count = params.counters->boundary[group];
  const Candidate* boundary = params.boundary + params.level[group].first_boundary;
  if (threadIdx.x < kWarp) {
    const TopKThreshold threshold = FindThreshold(frame.counters->histogram[group], wanted);
    if (threadIdx.x == 0) above_shared = threshold.above;
  }
  __syncthreads();
  uint32_t needed = wanted - above_shared;  // count 0 or at least 1
  uint32_t least = 0;                       // key that still stays
  if (count > needed) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      if (threadIdx.x < 256) histogram[threadIdx.x] = 0;
      __syncthreads();
      const uint32_t known = shift == 24 ? 0 : ~0u << (shift + 8);
      for (uint32_t i = threadIdx.x; i < count; i += kBoundaryThreads) {
        const uint32_t key = boundary[i].key;
        if ((key & known) == (least & known)) atomicAdd(&histogram[key >> shift & 255], 1u);
      }
      __syncthreads();
      if (threadIdx.x < kWarp) {
        // Lane 0 has the eight highest bytes.
        const int low = 256 - 8 * (static_cast<int>(threadIdx.x) + 1);
        uint32_t mine = 0;
#pragma unroll
        for (int i = 0; i < 8; ++i) mine += histogram[low + i];
        uint32_t upto = mine;
#pragma unroll
        for (int step = 1; step < kWarp; step *= 2) {
          const uint32_t other = __shfl_up_sync(kFullWarp, upto, step);
          if (static_cast<int>(threadIdx.x) >= step) upto += other;
        }
        if (upto >= needed && upto - mine < needed) {
          uint32_t above = upto - mine;
          int byte = low + 7;
          while (above + histogram[byte] < needed) above += histogram[byte--];
          above_shared = above;
          least_shared = static_cast<uint32_t>(byte) << shift;
        }
      }
      __syncthreads();
      needed -= above_shared;
      least |= least_shared;
    }
  }
  for (uint32_t first = 0; first < count; first += kBoundaryThreads) {
    const uint32_t i = first + threadIdx.x;
    Candidate c = {0, 0};
    if (i < count) c = boundary[i];
    AppendToShortlist(frame, frame.counters->shortlisted, i < count && c.key >= least, c);
  }
  __syncthreads();
  if (threadIdx.x == 0) params.counters->boundary[group] = 0;
}

__global__ void __launch_bounds__(kThreads) RescoreKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  AllowSuccessor();
  WaitForPredecessor();
  for (int l = 0; l < frame.levels; ++l) {
    const Level& level = frame.level[l];
    const uint32_t count = frame.counters->shortlisted[l];
    for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
      const uint32_t position = level.shortlist[i].position;
      level.shortlist[i].key = OrderedKey(__float_as_uint(HarrisAt(level, XOf(position), YOf(position))));
    }
  }
}

}  // namespace

absl::Status ThresholdCandidates(StreamView stream, const Launch& launch, const Frame& frame,
                                 const SelectionParams& params) {
  return Enqueue(stream, launch, ThresholdKernel, frame, params);
}

absl::Status SelectBoundaryBins(StreamView stream, const Launch& launch, const Frame& frame,
                                const SelectionParams& params) {
  return Enqueue(stream, launch, BoundaryBinKernel, frame, params);
}

absl::Status RescoreShortlists(StreamView stream, const Launch& launch, const Frame& frame) {
  return Enqueue(stream, launch, RescoreKernel, frame);
}

}  // namespace glint::cuda
