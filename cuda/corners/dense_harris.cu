// The Harris measure at every pixel (CornerTest::kEveryPixel), its maxima within the suppression's radius, and the
// greatest measure: a tile of the image for each block, of which all warps find the gradients and each walks down a
// strip.
#include "cuda/corners/dense_walker.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

// Blocks that a multiprocessor has room for, at most 96 registers a thread; with larger windows they need more.
template <int kRadius, bool kByOne>
constexpr int kBlocks = kRadius > 3 ? 1
                        : kByOne    ? 5
                                    : 4;

template <int kRadius, bool kByOne>
__global__ void __launch_bounds__(kTileWarps<kByOne>* kWarp, kBlocks<kRadius, kByOne>)
    DenseHarrisKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  constexpr int kWarps = kTileWarps<kByOne>;
  __shared__ DenseTile<kByOne> tile;
  AllowSuccessor();
  const uint32_t turn = BeginTurn(map);
  WaitForPredecessor();
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const Level& level = frame.level[0];
  const int radius = kByOne ? 1 : map.radius;
  const StripSpan span = SpanOf(kRadius, radius);
  const int strip_x = static_cast<int>(blockIdx.x) % map.strips_x * span.columns - LeadOf(span);
  const int tile_y = static_cast<int>(blockIdx.x) / map.strips_x * kWarps * map.strip_rows;
  const int tile_rows = (Min(kWarps * map.strip_rows, level.height - tile_y) + 1) / 2 * 2;  // in pairs
  const int rows = tile_rows + 2 * (kRadius + radius);                                      // of gradients
  const int top = tile_y - radius - kRadius;
  tile.places.Fill(level, strip_x, top);
  if (threadIdx.x == 0) {
    tile.greatest = 0x80000000u;
    tile.turn = turn;
  }
  __syncthreads();
  const LanePixels pixels(level, strip_x, tile.places);
  const int share = (rows / 2 + kWarps - 1) / kWarps * 2;
  const int begin = warp * share;
  const bool mirrors = !pixels.inside || top < 0 || top + rows > level.height;
  if (begin < rows) {
    FindGradients(map.harris_image, pixels, tile.places, begin, Min(begin + share, rows), mirrors, tile.gradients);
  }
  __syncthreads();
  const int y0 = tile_y + warp * map.strip_rows;
  const int y1 = Min(y0 + map.strip_rows, level.height);
  const int x0 = strip_x + span.first;
  constexpr int kSide = SideLanes(kRadius);
  Finder<kByOne> finder = {frame,
                           map,
                           level,
                           tile,
                           tile.found[warp],
                           warp,
                           lane,
                           strip_x + kLaneColumns * lane,
                           Max(x0, frame.edge),
                           Min(x0 + span.columns, level.width - frame.edge),
                           Max(y0, frame.edge),
                           Min(y1, level.height - frame.edge),
                           lane >= kSide && lane < kWarp - kSide,
                           map.is_fraction ? 0.0f : fmaxf(map.response_threshold, 0.0f)};
  if (y0 < y1) {
    const Gradients* gradients = &tile.gradients[warp * map.strip_rows][lane];
    if constexpr (kByOne) {
      WalkByOne<kRadius>(gradients, y0, y1, finder);
    } else {
      WalkByRadius<kRadius>(gradients, y0, y1, tile.response[warp], finder);
    }
  }
  finder.Finish();
}

struct Kernel {
  const void* function;
  int warps;
};

template <int kRadius>
Kernel KernelFor(bool by_one) {
  if (by_one) return {reinterpret_cast<const void*>(&DenseHarrisKernel<kRadius, true>), kTileWarps<true>};
  return {reinterpret_cast<const void*>(&DenseHarrisKernel<kRadius, false>), kTileWarps<false>};
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

DenseTiling GetDenseTiling(int width, int block_radius, int radius) {
  const StripSpan span = SpanOf(block_radius, radius);
  const bool by_one = radius == 1;
  const int warps = by_one ? kTileWarps<true> : kTileWarps<false>;
  const int rows = by_one ? kTileRows<true> : kTileRows<false>;
  return {(width + LeadOf(span) - span.first + span.columns - 1) / span.columns, warps,
          (rows - 2 * (block_radius + radius)) / warps / 2 * 2};
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
  launch.grid = dim3(map.tiles);
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the Harris measure");
}

}  // namespace glint::cuda
