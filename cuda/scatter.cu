// The first step of selection where candidates already have the response that ranks them, Harris at every corner: the
// corner stage's histogram says which bins of it stay, and at which places of the level's ranking a bin begins. Here
// each candidate goes to one of the places of its bin, which leaves little for the ranking to do (rank_sorted.cuh).
//
// The bin in which the cut falls stays whole. Shared memory 4 KiB for each level.
#include "cuda/device.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kWarp;
constexpr int kAtOnce = 4;  // candidates of a thread, neighbours in memory

// above[bin]: corners in higher bins, by the calling warp.
__device__ __forceinline__ void SumBins(const uint32_t* histogram, uint32_t* above) {
  constexpr int kPerLane = 4;
  constexpr int kTurn = kPerLane * kWarp;
  constexpr int kTurns = kBins / kTurn;
  const int low = kPerLane * (kWarp - 1 - threadIdx.x % kWarp);  // lane 0 has the highest
  uint4 bins[kTurns];
  uint32_t upto[kTurns];
#pragma unroll
  for (int i = 0; i < kTurns; ++i) {
    bins[i] = *reinterpret_cast<const uint4*>(histogram + (kTurns - 1 - i) * kTurn + low);
  }
#pragma unroll
  for (int i = 0; i < kTurns; ++i) upto[i] = SumUpTo(bins[i].x + bins[i].y + bins[i].z + bins[i].w);
  uint32_t before = 0;
#pragma unroll
  for (int i = 0; i < kTurns; ++i) {
    uint4 sum;
    sum.x = before + upto[i] - bins[i].x;
    sum.y = sum.x - bins[i].y;
    sum.z = sum.y - bins[i].z;
    sum.w = sum.z - bins[i].w;
    *reinterpret_cast<uint4*>(above + (kTurns - 1 - i) * kTurn + low) = sum;
    before += __shfl_sync(kFullWarp, upto[i], kWarp - 1);
  }
}

__global__ void __launch_bounds__(kThreads, 2) ScatterKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  extern __shared__ __align__(16) uint32_t above[];  // [levels][kBins]
  AllowSuccessor();
  const int warp = threadIdx.x / kWarp;
  // Blocks take turns, a warp's candidates a turn.
  uint32_t at = ((warp * gridDim.x + blockIdx.x) * kWarp + threadIdx.x % kWarp) * kAtOnce;
  const uint32_t step = gridDim.x * kThreads * kAtOnce;
  WaitForPredecessor();
  Counters& counters = *frame.counters;
  // Loaded ahead, before it is known how many there are. Arrays end with whole cache lines, so that the last ones may
  // be none.
  uint4 next[kAtOnce / 2] = {};
  const auto load = [&] {
#pragma unroll
    for (int i = 0; i < kAtOnce / 2; ++i) next[i] = reinterpret_cast<const uint4*>(frame.candidates + at)[i];
  };
  if (at < frame.candidate_room) load();
  const uint32_t total = counters.candidates;
  for (int l = warp; l < frame.levels; l += kWarps) {
    SumBins(counters.histogram[l], above + l * kBins);
  }
  __syncthreads();
  for (uint32_t l = blockIdx.x; l < static_cast<uint32_t>(frame.levels); l += gridDim.x) {
    for (int i = threadIdx.x; i < kBins; i += kThreads) {
      const uint32_t* from = above + l * kBins;
      counters.reaching[l][i] = i > 0 ? from[i - 1] : from[0] + counters.histogram[l][0];
    }
  }
  while (at < total) {
    Candidate c[kAtOnce];
    int level[kAtOnce], bin[kAtOnce];
    uint32_t place[kAtOnce];
    bool stays[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; i += 2) {
      c[i] = {next[i / 2].x, next[i / 2].y};
      c[i + 1] = {next[i / 2].z, next[i / 2].w};
    }
    const uint32_t first = at;
    at += step;
    if (at < total) load();
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const bool exists = first + i < total;
      level[i] = exists ? LevelOf(c[i].position) : 0;
      bin[i] = exists ? HarrisBin(c[i].key) : 0;
      place[i] = above[level[i] * kBins + bin[i]];
      stays[i] = exists && place[i] < static_cast<uint32_t>(frame.level[level[i]].first_share);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (stays[i]) place[i] += atomicAdd(&counters.bin[level[i]][bin[i]].taken, 1u);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (stays[i]) frame.level[level[i]].shortlist[place[i]] = c[i];
    }
  }
}

}  // namespace

absl::Status Scatter(StreamView stream, const Frame& frame, int multiprocessors) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&ScatterKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(multiprocessors);
  launch.shared_bytes = frame.levels * kBins * sizeof(uint32_t);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the scatter stage");
}

}  // namespace glint::cuda
