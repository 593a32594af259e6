// The next one or two levels of a tracking pyramid in one launch. A block makes a tile of each: it reads the finer
// level once, with the pixels around that the second one needs, and sums across, then down.
#include "cuda/common/warp.cuh"
#include "cuda/runtime/error.h"
#include "cuda/track/track_stages.h"
#include "cuda/track/window.cuh"
#include "features/track_math.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 256;
// Of the first level that is made; the second one's tile is half of it.
constexpr int kTileWidth = 32;
constexpr int kTileHeight = 16;
constexpr int kAfter = kPyramidTaps - kPyramidReach - 2;  // pixels beyond the last two that a pixel is made of
// With what the second level's pixels need around it.
constexpr int kWideColumns = kTileWidth + kPyramidReach + kAfter;
constexpr int kWideRows = kTileHeight + kPyramidReach + kAfter;
// Of the finer level: the first pixel lies kBefore left of twice the tile's first column, in whole words.
constexpr int kReach = 3 * kPyramidReach;
constexpr int kBefore = (kReach + kWordBytes - 1) / kWordBytes * kWordBytes;
constexpr int kFromWords = (kBefore + 2 * (kTileWidth + kAfter) + kAfter + kWordBytes - 1) / kWordBytes;
constexpr int kFromRows = 2 * kWideRows + kPyramidReach + kAfter;

struct Tile {
  uint32_t from[kFromRows][kFromWords];
  uint16_t across[kFromRows][kWideColumns];
  alignas(2) uint8_t first[kWideRows][kWideColumns];
  uint16_t across_first[kWideRows][kTileWidth / 2];
};

__device__ __forceinline__ uint32_t LoadWord(const TrackLevel& level, int x, int y) {
  const uint8_t* const row = level.pixels + static_cast<size_t>(Clamp(y, 0, level.height - 1)) * level.pitch;
  if (x >= 0 && x + kWordBytes <= level.width) return *reinterpret_cast<const uint32_t*>(row + x);
  uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < kWordBytes; ++i) {
    word |= static_cast<uint32_t>(row[Clamp(x + i, 0, level.width - 1)]) << (8 * i);
  }
  return word;
}

// Of kPyramidTaps pixels side by side; the address of the first is even.
__device__ __forceinline__ int SumAcross(const uint8_t* pixels) {
  static_assert(kPyramidTaps == 6);
  const auto weights = [](int i) {
    return static_cast<uint32_t>(PyramidWeight(i)) | static_cast<uint32_t>(PyramidWeight(i + 1)) << 8;
  };
  const auto* const pairs = reinterpret_cast<const uint16_t*>(pixels);
  const uint32_t four = pairs[0] | static_cast<uint32_t>(pairs[1]) << 16;
  return static_cast<int>(__dp4a(four, weights(0) | weights(2) << 16, __dp4a(uint32_t{pairs[2]}, weights(4), 0u)));
}

// Of kPyramidTaps sums, `step` apart.
__device__ __forceinline__ int SumDown(const uint16_t* sums, int step) {
  int sum = 0;
#pragma unroll
  for (int i = 0; i < kPyramidTaps; ++i) sum += PyramidWeight(i) * sums[i * step];
  return sum;
}

__global__ void __launch_bounds__(kThreads) HalveLevelsKernel(GLINT_KERNEL_ARGUMENT HalveParams params) {
  __shared__ Tile tile;
  const TrackLevel& from = params.from;
  const int width = from.width / 2;
  const int height = from.height / 2;
  const int left = static_cast<int>(blockIdx.x) * kTileWidth;
  const int top = static_cast<int>(blockIdx.y) * kTileHeight;
  const int thread = static_cast<int>(threadIdx.x);
  AllowSuccessor();
  WaitForPredecessor();
  for (int i = thread; i < kFromRows * kFromWords; i += kThreads) {
    const int row = i / kFromWords;
    const int word = i % kFromWords;
    tile.from[row][word] = LoadWord(from, 2 * left - kBefore + kWordBytes * word, 2 * top - kReach + row);
  }
  __syncthreads();
  // Pixels beyond the border are the nearest ones inside of each level, not means of those beyond the finer one's.
  for (int i = thread; i < kFromRows * kWideColumns; i += kThreads) {
    const int row = i / kWideColumns;
    const int column = i % kWideColumns;
    const int x = Clamp(left - kPyramidReach + column, 0, width - 1);
    const auto* const pixels = reinterpret_cast<const uint8_t*>(tile.from[row]);
    tile.across[row][column] = static_cast<uint16_t>(SumAcross(pixels + 2 * (x - left) - kPyramidReach + kBefore));
  }
  __syncthreads();
  for (int i = thread; i < kWideRows * kWideColumns; i += kThreads) {
    const int row = i / kWideColumns;
    const int column = i % kWideColumns;
    const int x = left - kPyramidReach + column;
    const int y = top - kPyramidReach + row;
    const int above = 2 * (Clamp(y, 0, height - 1) - top) - kPyramidReach + kReach;
    const int pixel = PyramidPixel(SumDown(&tile.across[above][column], kWideColumns));
    tile.first[row][column] = static_cast<uint8_t>(pixel);
    const bool is_own =
        x >= left && x < Min(left + kTileWidth, width) && y >= top && y < Min(top + kTileHeight, height);
    if (is_own) params.to[0][static_cast<size_t>(y) * params.to_pitch[0] + x] = static_cast<uint8_t>(pixel);
  }
  if (params.count < 2) return;
  __syncthreads();
  for (int i = thread; i < kWideRows * kTileWidth / 2; i += kThreads) {
    const int row = i / (kTileWidth / 2);
    const int column = i % (kTileWidth / 2);
    tile.across_first[row][column] = static_cast<uint16_t>(SumAcross(&tile.first[row][2 * column]));
  }
  __syncthreads();
  for (int i = thread; i < kTileHeight / 2 * (kTileWidth / 2); i += kThreads) {
    const int row = i / (kTileWidth / 2);
    const int column = i % (kTileWidth / 2);
    const int x = left / 2 + column;
    const int y = top / 2 + row;
    if (x >= width / 2 || y >= height / 2) continue;
    const int pixel = PyramidPixel(SumDown(&tile.across_first[2 * row][column], kTileWidth / 2));
    params.to[1][static_cast<size_t>(y) * params.to_pitch[1] + x] = static_cast<uint8_t>(pixel);
  }
}

}  // namespace

absl::Status HalveLevels(StreamView stream, const HalveParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&HalveLevelsKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3((params.from.width / 2 + kTileWidth - 1) / kTileWidth,
                     (params.from.height / 2 + kTileHeight - 1) / kTileHeight);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<HalveParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching levels for tracking");
}

}  // namespace glint::cuda
