// The Harris measure at every pixel (CornerTest::kEveryPixel), its maxima within the suppression's radius, and the
// greatest measure: a tile of the image for each block, of which all warps find the gradients and each walks down a
// strip.
#include "cuda/common/enqueue.h"
#include "cuda/corners/dense_scanner.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Blocks that a multiprocessor has room for, at most 96 registers a thread; with larger windows they need more.
template <int kRadius, bool kSuppress3x3>
constexpr int kBlocks = kRadius > 3    ? 1
                        : kSuppress3x3 ? 5
                                       : 4;

template <int kRadius, bool kSuppress3x3>
__global__ void __launch_bounds__(kTileWarps<kSuppress3x3>* kWarp, kBlocks<kRadius, kSuppress3x3>)
    DenseHarrisKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  constexpr int kWarps = kTileWarps<kSuppress3x3>;
  __shared__ DenseTile<kSuppress3x3> tile;
  AllowSuccessor();
  const uint32_t buffer = BeginBuffer(params);
  WaitForPredecessor();
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const Level& level = frame.level[0];
  const int radius = kSuppress3x3 ? 1 : params.radius;
  const StripSpan span = SpanOf(kRadius, radius);
  const int strip_x = static_cast<int>(blockIdx.x) % params.strips_x * span.columns - LeadOf(span);
  const int tile_y = static_cast<int>(blockIdx.x) / params.strips_x * kWarps * params.strip_rows;
  const int tile_rows = (Min(kWarps * params.strip_rows, level.height - tile_y) + 1) / 2 * 2;  // in pairs
  const int rows = tile_rows + 2 * (kRadius + radius);                                         // of gradients
  const int top = tile_y - radius - kRadius;
  tile.offsets.Fill(level, strip_x, top);
  if (threadIdx.x == 0) {
    tile.greatest = 0x80000000u;
    tile.buffer = buffer;
  }
  __syncthreads();
  const LanePixels pixels(level, strip_x, tile.offsets);
  const int share = (rows / 2 + kWarps - 1) / kWarps * 2;
  const int begin = warp * share;
  const bool mirrors = !pixels.inside || top < 0 || top + rows > level.height;
  if (begin < rows) {
    FindGradients(params.harris_image, pixels, tile.offsets, begin, Min(begin + share, rows), mirrors, tile.gradients);
  }
  __syncthreads();
  const int y0 = tile_y + warp * params.strip_rows;
  const int y1 = Min(y0 + params.strip_rows, level.height);
  const int x0 = strip_x + span.first;
  constexpr int kSide = SideLanes(kRadius);
  Finder<kSuppress3x3> finder = {frame,
                                 params,
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
                                 params.is_fraction ? 0.0f : fmaxf(params.response_threshold, 0.0f)};
  if (y0 < y1) {
    const Gradients* gradients = &tile.gradients[warp * params.strip_rows][lane];
    if constexpr (kSuppress3x3) {
      ScanSuppressing3x3<kRadius>(gradients, y0, y1, finder);
    } else {
      ScanSuppressingByRadius<kRadius>(gradients, y0, y1, tile.response[warp], finder);
    }
  }
  finder.Finish();
}

using DenseKernel = void (*)(Frame, SelectionParams);

template <int kRadius>
DenseKernel KernelFor(bool suppress_3x3) {
  return suppress_3x3 ? DenseHarrisKernel<kRadius, true> : DenseHarrisKernel<kRadius, false>;
}

DenseKernel KernelFor(int block_radius, bool suppress_3x3) {
  switch (block_radius) {
    case 1:
      return KernelFor<1>(suppress_3x3);
    case 2:
      return KernelFor<2>(suppress_3x3);
    case 3:
      return KernelFor<3>(suppress_3x3);
    case 4:
      return KernelFor<4>(suppress_3x3);
    case 5:
      return KernelFor<5>(suppress_3x3);
    case 6:
      return KernelFor<6>(suppress_3x3);
    default:
      return KernelFor<7>(suppress_3x3);
  }
}

// reference::Smooth(). A thread per pixel.
__global__ void __launch_bounds__(256)
    SmoothKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
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
  params.smooth[static_cast<size_t>(y) * level.pitch + x] = static_cast<uint8_t>((sum + 8) >> 4);
}

}  // namespace

absl::Status SmoothImage(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params) {
  return Enqueue(stream, launch, SmoothKernel, frame, params);
}

absl::Status FindDenseHarris(StreamView stream, const Launch& launch, const Frame& frame,
                             const SelectionParams& params) {
  return Enqueue(stream, launch, KernelFor(params.block_radius, params.radius == 1), frame, params);
}

}  // namespace glint::cuda
