// The Harris measure at every pixel (CornerTest::kEveryPixel), its maxima within the suppression's radius, and the
// greatest measure: a strip of the image for each warp.
#include "cuda/dense_walker.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

// Blocks that a multiprocessor has room for: at most 96 registers a thread. Those of larger windows lack shared memory.
template <int kRadius>
constexpr int kBlocks = kRadius <= 3 ? 5 : 1;

template <int kRadius, bool kByOne>
__global__ void __launch_bounds__(StripsAtOnce<kRadius, kByOne>() * kWarp, kBlocks<kRadius>)
    DenseHarrisKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  constexpr int kWarps = StripsAtOnce<kRadius, kByOne>();
  __shared__ Strip<kRadius, kByOne> strips[kWarps];
  AllowSuccessor();
  MapList& list = map.counters->list[BeginTurn(map)];
  WaitForPredecessor();
  const int warp = threadIdx.x / kWarp;
  const int number = blockIdx.x * kWarps + warp;
  if (number >= map.strips) return;
  const Level& level = frame.level[0];
  const StripSpan span = SpanOf(kRadius, kByOne ? 1 : map.radius);
  const int x = number % map.strips_x * span.columns - LeadOf(span);
  const int x0 = x + span.first;
  const int y0 = number / map.strips_x * map.strip_rows;
  Walker<kRadius, kByOne> walker(frame, map, strips[warp], list, x);
  walker.Walk(x0, Min(x0 + span.columns, level.width), y0, Min(y0 + map.strip_rows, level.height));
}

struct Kernel {
  const void* function;
  int warps;
};

template <int kRadius>
Kernel KernelFor(bool by_one) {
  if (by_one) return {reinterpret_cast<const void*>(&DenseHarrisKernel<kRadius, true>), StripsAtOnce<kRadius, true>()};
  return {reinterpret_cast<const void*>(&DenseHarrisKernel<kRadius, false>), StripsAtOnce<kRadius, false>()};
}

Kernel KernelFor(int block_radius, bool by_one) {
  switch (block_radius) {
    case 1:
      return KernelFor<1>(by_one);
    case 2:
      return KernelFor<2>(by_one);
    case 3:
      return KernelFor<3>(by_one);
    case 4:
      return KernelFor<4>(by_one);
    case 5:
      return KernelFor<5>(by_one);
    case 6:
      return KernelFor<6>(by_one);
    default:
      return KernelFor<7>(by_one);
  }
}

// reference::Smooth(). A thread per pixel.
__global__ void __launch_bounds__(256)
    SmoothKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  AllowSuccessor();
  WaitForPredecessor();
  const Level& level = frame.level[0];
  const int x = blockIdx.x * kWarp + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= level.width || y >= level.height) return;
  int sum = 0;
#pragma unroll
  for (int v = -1; v <= 1; ++v) {
    const uint8_t* row = level.image + static_cast<size_t>(Reflect101(y + v, level.height)) * level.pitch;
    sum += (2 - v * v) * (row[Reflect101(x - 1, level.width)] + 2 * row[x] + row[Reflect101(x + 1, level.width)]);
  }
  map.smooth[static_cast<size_t>(y) * level.pitch + x] = static_cast<uint8_t>((sum + 8) >> 4);
}

}  // namespace

int DenseHarrisStrips(int width, int block_radius, int radius) {
  const StripSpan span = SpanOf(block_radius, radius);
  return (width + LeadOf(span) - span.first + span.columns - 1) / span.columns;
}

absl::Status FindDenseHarris(StreamView stream, const Frame& frame, const MapFrame& map) {
  const Level& level = frame.level[0];
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<MapFrame*>(&map)};
  KernelLaunch launch;
  launch.overlaps_predecessor = true;
  if (map.smooth != nullptr) {
    constexpr int kRows = 8;
    launch.kernel = reinterpret_cast<const void*>(&SmoothKernel);
    launch.block = dim3(kWarp, kRows);
    launch.grid = dim3((level.width + kWarp - 1) / kWarp, (level.height + kRows - 1) / kRows);
    GLINT_RETURN_IF_ERROR(
        ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the smoothing"));
  }
  const Kernel kernel = KernelFor(map.block_radius, map.radius == 1);
  launch.kernel = kernel.function;
  launch.block = dim3(kernel.warps * kWarp);
  launch.grid = dim3((map.strips + kernel.warps - 1) / kernel.warps);
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the Harris measure");
}

}  // namespace glint::cuda
