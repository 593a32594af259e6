// A rectified image. What it waits for is memory: the table, of 2.5 bytes a pixel, and then the source, whose pixels
// the neighbours on all sides read, too.
#include "cuda/common/warp.cuh"
#include "cuda/rectify/remap_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kRows = 4;  // of a block, each a warp's
static_assert(kLanes == kWarp);

__global__ void __launch_bounds__(kLanes* kRows) RemapKernel(GLINT_KERNEL_ARGUMENT RemapParams params) {
  const uint32_t lane = threadIdx.x;
  const uint32_t y = blockIdx.y * kRows + threadIdx.y;
  if (y >= static_cast<uint32_t>(params.shape.height)) return;
  uint32_t remapped[kLanePixels];
  RemapLane(params, blockIdx.x, y, lane, remapped);
  const uint32_t first = blockIdx.x * kSegment + lane;
  uint8_t* const to = params.to + (y * static_cast<uint32_t>(params.to_pitch) + first);
#pragma unroll
  for (int k = 0; k < kLanePixels; ++k) {
    if (first + k * kLanes < static_cast<uint32_t>(params.shape.width))
      to[k * kLanes] = static_cast<uint8_t>(remapped[k]);
  }
}

}  // namespace

absl::Status RemapImage(StreamView stream, const RemapParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&RemapKernel);
  launch.block = dim3(kLanes, kRows);
  launch.grid = dim3(params.segments, (params.shape.height + kRows - 1) / kRows);
  void* arguments[] = {const_cast<RemapParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching rectification");
}

}  // namespace glint::cuda
