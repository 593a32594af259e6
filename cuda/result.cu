// The result, all levels together in output order, straight into memory that the host reads: only what was found
// crosses the bus, in whole lines, and no copy has to be set up. A thread writes one keypoint.
#include "cuda/result.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads) WriteResultKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  AllowSuccessor();
  WaitForPredecessor();
  const RankedLists lists(frame);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    uint32_t dropped = 0;
    for (int l = 0; l < frame.levels; ++l) dropped += frame.counters->dropped[l];
    auto* header = reinterpret_cast<ResultHeader*>(frame.result);
    header->count = lists.count;
    header->truncated = lists.total > lists.count || dropped > 0;
  }
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < lists.count; i += gridDim.x * kThreads) {
    const LevelLists::Place at = lists.Find(i);
    const Level& level = frame.level[at.level];
    const RankedCorner corner = level.ranked[at.index];
    ResultFloats(frame, 0)[i] = static_cast<float>(corner.position & 0xffff) * level.scale;
    ResultFloats(frame, 1)[i] = static_cast<float>(corner.position >> 16) * level.scale;
    ResultFloats(frame, 2)[i] = static_cast<float>(frame.patch_size) * level.scale;
    ResultFloats(frame, 3)[i] = corner.angle;
    ResultFloats(frame, 4)[i] = frame.key_is_response ? static_cast<float>(corner.key) : FromOrderedKey(corner.key);
    ResultOctaves(frame)[i] = at.level;
  }
}

__global__ void NothingKernel() {}

}  // namespace

absl::Status WriteResult(StreamView stream, const Frame& frame, int multiprocessors) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&WriteResultKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(multiprocessors);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the result stage");
}

absl::Status LaunchNothing(StreamView stream) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&NothingKernel);
  launch.block = dim3(1);
  launch.grid = dim3(1);
  return ToStatus(stream.api->LaunchKernel(launch, nullptr, stream.stream), "launching nothing");
}

}  // namespace glint::cuda
