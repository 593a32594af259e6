// Registered depths: a thread for each pixel of the sensor adds what it covers, and then one for each few pixels of the
// image writes their depths, once, to where the host reads them. The order of what is added does not matter: a depth is
// the least of whole numbers.
#include "cuda/common/warp.cuh"
#include "cuda/rectify/remap_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kRows = 8;  // of a block, each a warp's
constexpr int kThreads = 256;

__global__ void __launch_bounds__(kWarp* kRows) RegisterKernel(GLINT_KERNEL_ARGUMENT RegisterParams params) {
  const auto column = static_cast<int>(blockIdx.x * kWarp + threadIdx.x);
  const auto row = static_cast<int>(blockIdx.y * kRows + threadIdx.y);
  if (column < params.source_shape.width && row < params.source_shape.height) RegisterPixel(params, column, row);
}

__global__ void __launch_bounds__(kThreads) WriteDepthsKernel(uint4* nearest, uint4* to, uint32_t writes) {
  static_assert(kDepthsOfThread == 8);
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= writes) return;
  const uint4 a = nearest[2 * i], b = nearest[2 * i + 1];
  nearest[2 * i] = nearest[2 * i + 1] = make_uint4(0, 0, 0, 0);
  const auto pack = [](uint32_t low, uint32_t high) { return DepthOfNearest(low) | DepthOfNearest(high) << 16; };
  to[i] = make_uint4(pack(a.x, a.y), pack(a.z, a.w), pack(b.x, b.y), pack(b.z, b.w));
}

}  // namespace

absl::Status RegisterDepth(StreamView stream, const RegisterParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&RegisterKernel);
  launch.block = dim3(kWarp, kRows);
  launch.grid = dim3((params.source_shape.width + kWarp - 1) / kWarp, (params.source_shape.height + kRows - 1) / kRows);
  void* arguments[] = {const_cast<RegisterParams*>(&params)};
  GLINT_RETURN_IF_ERROR(
      ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching registration of depth"));
  KernelLaunch write;
  write.kernel = reinterpret_cast<const void*>(&WriteDepthsKernel);
  write.block = dim3(kThreads);
  auto writes = static_cast<uint32_t>((params.shape.pixels() + kDepthsOfThread - 1) / kDepthsOfThread);
  write.grid = dim3((writes + kThreads - 1) / kThreads);
  auto* nearest = reinterpret_cast<uint4*>(params.nearest);
  auto* to = reinterpret_cast<uint4*>(params.to);
  void* write_arguments[] = {&nearest, &to, &writes};
  return ToStatus(stream.api->LaunchKernel(write, write_arguments, stream.stream), "launching the writing of depths");
}

}  // namespace glint::cuda
