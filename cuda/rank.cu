// The final ranking, exact and without a sort: a warp counts, for its corner, those of its level with a larger key and
// those with the same key that come first in raster order. The sum is the corner's place in the output; it is kept if
// fewer than the level's share have a larger key (cv::KeyPointsFilter::retainBest keeps ties). A shortlist holds about
// twice the share, so counting is a few hundred coalesced loads per corner and needs no second pass.
//
// The same warp then finds the angle of a kept corner: the intensity centroid of the disc (Rosin 1999; Rublee et al.
// 2011, section 3.2),  m10 = sum u * I,  m01 = sum v * I,  angle = fastAtan2(m01, m10),  a lane per column.
#include <cstddef>

#include "cuda/device.cuh"
#include "cuda/level_lists.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor = 4;

// By a warp; valid in all lanes.
__device__ float CentroidAngle(const Frame& frame, const Level& level, int x, int y) {
  const int half = frame.half_patch;
  const int lane = threadIdx.x % kWarp;
  const bool inside = x >= half && x < level.width - half && y >= half && y < level.height - half;
  int moment_x = 0;
  int moment_y = 0;
  for (int u = lane - half; u <= half; u += kWarp) {
    const int half_height = frame.half_height[u < 0 ? -u : u];
    int sum = 0;
    if (inside) {
      const uint8_t* centre = level.image + static_cast<size_t>(y) * level.pitch + (x + u);
#pragma unroll 8
      for (int v = -half; v <= half; ++v) {
        // Loaded whether in the disc or not, so that loads need not wait for branches.
        int p = centre[v * level.pitch];
        if (v < -half_height || v > half_height) p = 0;
        sum += p;
        moment_y += v * p;
      }
    } else {
      const int column = Reflect101(x + u, level.width);
      for (int v = -half_height; v <= half_height; ++v) {
        const int row = Reflect101(y + v, level.height);
        const int p = level.image[static_cast<size_t>(row) * level.pitch + column];
        sum += p;
        moment_y += v * p;
      }
    }
    moment_x += u * sum;
  }
  return FastAtan2(static_cast<float>(WarpSum(moment_y)), static_cast<float>(WarpSum(moment_x)));
}

__global__ void __launch_bounds__(kThreads) RankAndOrientKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  AllowSuccessor();
  WaitForPredecessor();
  Counters& counters = *frame.counters;
  const int thread = blockIdx.x * kThreads + threadIdx.x;
  const int threads = gridDim.x * kThreads;
  // The shortlist stage is done with these.
  auto* clear = reinterpret_cast<uint32_t*>(&counters);
  constexpr int kClear = offsetof(Counters, shortlisted) / sizeof(uint32_t);
  for (int i = thread; i < kClear; i += threads) clear[i] = 0;

  const LevelLists lists(counters.shortlisted, frame.levels);
  const int lane = threadIdx.x % kWarp;
  for (uint32_t i = thread / kWarp; i < lists.total; i += threads / kWarp) {
    const LevelLists::Place at = lists.Find(i);
    const Level& level = frame.level[at.level];
    const Candidate* list = level.shortlist;
    const uint32_t count = counters.shortlisted[at.level];
    const Candidate own = list[at.index];
    int better = 0;
    int before = 0;  // equally good, first in raster order
#pragma unroll 4
    for (uint32_t j = lane; j < count; j += kWarp) {
      const Candidate other = list[j];
      better += other.key > own.key;
      before += other.key == own.key && other.position < own.position;
    }
    better = WarpSum(better);
    before = WarpSum(before);
    if (better >= level.share) continue;
    if (lane == 0) atomicAdd(&counters.kept[at.level], 1u);
    const int rank = better + before;
    if (rank >= frame.output_capacity) continue;
    float angle = -1.0f;
    if (frame.orient) angle = CentroidAngle(frame, level, own.position & 0xffff, own.position >> 16);
    if (lane == 0) level.ranked[rank] = {own.position, own.key, angle};
  }
}

}  // namespace

absl::Status RankAndOrient(StreamView stream, const Frame& frame, int multiprocessors) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&RankAndOrientKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(kBlocksPerMultiprocessor * multiprocessors);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the ranking stage");
}

}  // namespace glint::cuda
