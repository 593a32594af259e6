// The next level of a tracking pyramid: a thread a pixel, which sums 6x6 pixels of the finer level.
#include "cuda/common/warp.cuh"
#include "cuda/runtime/error.h"
#include "cuda/track/track_stages.h"

namespace glint::cuda {
namespace {

constexpr int kColumns = 32;
constexpr int kRows = 8;

__global__ void __launch_bounds__(kColumns* kRows) HalveLevelKernel(GLINT_KERNEL_ARGUMENT HalveParams params) {
  const TrackLevel& from = params.from;
  const int x = blockIdx.x * kColumns + threadIdx.x;
  const int y = blockIdx.y * kRows + threadIdx.y;
  if (x >= from.width / 2 || y >= from.height / 2) return;
  int sum = 0;
#pragma unroll
  for (int j = 0; j < kPyramidTaps; ++j) {
    const uint8_t* const row =
        from.pixels + static_cast<size_t>(Clamp(2 * y + j - kPyramidReach, 0, from.height - 1)) * from.pitch;
    int line = 0;
#pragma unroll
    for (int i = 0; i < kPyramidTaps; ++i) {
      line += PyramidWeight(i) * row[Clamp(2 * x + i - kPyramidReach, 0, from.width - 1)];
    }
    sum += PyramidWeight(j) * line;
  }
  params.to[static_cast<size_t>(y) * params.to_pitch + x] = static_cast<uint8_t>(PyramidPixel(sum));
}

}  // namespace

absl::Status HalveLevel(StreamView stream, const HalveParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&HalveLevelKernel);
  launch.block = dim3(kColumns, kRows);
  launch.grid = dim3((params.from.width / 2 + kColumns - 1) / kColumns, (params.from.height / 2 + kRows - 1) / kRows);
  void* arguments[] = {const_cast<HalveParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching a level for tracking");
}

}  // namespace glint::cuda
