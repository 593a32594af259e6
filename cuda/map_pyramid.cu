// Levels of Pyramid::kDirect and Pyramid::kHalf.
//
// kDirect: every level from level 0, so all in one launch; the taps and the arithmetic are those of pyramid.cu. A
// thread makes 4 columns x 4 rows of one level, from windows of 8 pixels a row where the steps allow that.
//
// kHalf: a thread reads 8 x 8 pixels and makes of them 4 x 4, 2 x 2 and 1 pixel of the next three levels.
#include "cuda/map_device.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kColumns = 4;  // of a thread
constexpr int kRows = 4;
constexpr int kBlockWarps = 4;
constexpr int kTileColumns = kWarp * kColumns;

__device__ __forceinline__ int At(PackedTap tap) { return static_cast<int>(tap & 0xffff); }
__device__ __forceinline__ int Weight(PackedTap tap) { return static_cast<int>(tap >> 16); }

// How a thread makes a row pass at its columns: from windows of eight pixels if the taps are narrow enough.
template <bool kNarrow>
struct RowPass {
  uint32_t at[kColumns];       // pixels
  uint32_t weights[kColumns];  // of a pixel and the next one, 16 bits each
  uint32_t select[kColumns];   // those two in a window that begins at at[0], as __byte_perm() takes it

  __device__ __forceinline__ explicit RowPass(uint4 taps) {
    const PackedTap tap[kColumns] = {taps.x, taps.y, taps.z, taps.w};
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      at[i] = static_cast<uint32_t>(At(tap[i]));
      weights[i] = (tap[i] & 0xffff0000u) + (256 - (tap[i] >> 16));
      select[i] = (at[i] - at[0]) * 0x11u + 0x10u;
    }
  }

  // Rows may be read beyond their end, where weights are 0.
  __device__ __forceinline__ void Run(const uint8_t* row, uint32_t (&sum)[kColumns]) const {
    if (kNarrow) {
      const auto* words = reinterpret_cast<const uint32_t*>(row + (at[0] & ~3u));
      const uint32_t first = words[0], second = words[1], third = words[2];
      const uint32_t low = __funnelshift_r(first, second, 8 * (at[0] & 3));
      const uint32_t high = __funnelshift_r(second, third, 8 * (at[0] & 3));
#pragma unroll
      for (int i = 0; i < kColumns; ++i) sum[i] = __dp2a_lo(weights[i], __byte_perm(low, high, select[i]), 0u);
    } else {
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const uint8_t* pixel = row + at[i];
        sum[i] = __dp2a_lo(weights[i], static_cast<uint32_t>(pixel[0]) | static_cast<uint32_t>(pixel[1]) << 8, 0u);
      }
    }
  }
};

// kRows rows of a thread's columns, from (x0, y0) on.
template <bool kNarrow>
__device__ __forceinline__ void MakeDirect(const Level& image, const Level& level, int x0, int y0) {
  // The tables are padded to a whole number of vectors.
  const RowPass<kNarrow> pass(*reinterpret_cast<const uint4*>(level.column_taps + x0));
  const uint4 row_taps = *reinterpret_cast<const uint4*>(level.row_taps + y0);
  const PackedTap rows[kRows] = {row_taps.x, row_taps.y, row_taps.z, row_taps.w};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const PackedTap tap = rows[r];
    uint32_t top[kColumns], bottom[kColumns];
    pass.Run(image.image + static_cast<size_t>(At(tap)) * image.pitch, top);
    pass.Run(image.image + static_cast<size_t>(Min(At(tap) + 1, image.height - 1)) * image.pitch, bottom);
    // ResizeColumn(), whose result is the sum's third byte.
    uint32_t sum[kColumns];
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const auto weight = static_cast<uint32_t>(Weight(tap));
      sum[i] = (256 - weight) * top[i] + weight * bottom[i] + (1u << 15);
    }
    if (y0 + r >= level.height) break;
    *reinterpret_cast<uint32_t*>(level.image + static_cast<size_t>(y0 + r) * level.pitch + x0) =
        __byte_perm(__byte_perm(sum[0], sum[1], 0x0062), __byte_perm(sum[2], sum[3], 0x0062), 0x5410);
  }
}

__global__ void __launch_bounds__(kWarp* kBlockWarps)
    DirectLevelsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  AllowSuccessor();
  int l = 1;
  while (l + 1 < frame.levels && static_cast<int>(blockIdx.x) >= map.level[l + 1].first_block) ++l;
  const Level& level = frame.level[l];
  const int number = blockIdx.x - map.level[l].first_block;
  const int tiles_x = (level.width + kTileColumns - 1) / kTileColumns;
  const int x0 = (number % tiles_x * kWarp + threadIdx.x) * kColumns;
  const int y0 = (number / tiles_x * kBlockWarps + threadIdx.y) * kRows;
  WaitForPredecessor();
  if (x0 >= level.width || y0 >= level.height) return;
  if (level.narrow_taps) {
    MakeDirect<true>(frame.level[0], level, x0, y0);
  } else {
    MakeDirect<false>(frame.level[0], level, x0, y0);
  }
}

// Two pixels, in the low bytes of 16-bit halves: MeanOfFour() of two neighbouring pixels of two words.
__device__ __forceinline__ uint32_t HalveWords(uint32_t top, uint32_t bottom) {
  constexpr uint32_t kEven = 0x00ff00ffu;
  const uint32_t sum = (top & kEven) + (top >> 8 & kEven) + (bottom & kEven) + (bottom >> 8 & kEven) + 0x00020002u;
  return sum >> 2 & kEven;
}

constexpr int kSide = 8;  // pixels that a thread reads, squared

__global__ void __launch_bounds__(kWarp* kBlockWarps)
    HalfLevelsKernel(GLINT_KERNEL_ARGUMENT Frame frame, int index, int count) {
  AllowSuccessor();
  const Level& from = frame.level[index];
  const int bx = blockIdx.x * kWarp + threadIdx.x;
  const int by = blockIdx.y * kBlockWarps + threadIdx.y;
  WaitForPredecessor();
  if (bx * kSide >= from.width || by * kSide >= from.height) return;
  uint32_t first[4];  // rows of the next level
  const uint8_t* pixels = from.image + bx * kSide;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int y = by * kSide + 2 * r;
    const auto* top =
        reinterpret_cast<const uint2*>(pixels + static_cast<size_t>(Min(y, from.height - 1)) * from.pitch);
    const auto* bottom =
        reinterpret_cast<const uint2*>(pixels + static_cast<size_t>(Min(y + 1, from.height - 1)) * from.pitch);
    const uint2 a = *top;
    const uint2 b = *bottom;
    first[r] = __byte_perm(HalveWords(a.x, b.x), HalveWords(a.y, b.y), 0x6420);
  }
  const Level& one = frame.level[index + 1];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int y = by * 4 + r;
    if (y < one.height && bx * 4 < one.width) {
      *reinterpret_cast<uint32_t*>(one.image + static_cast<size_t>(y) * one.pitch + bx * 4) = first[r];
    }
  }
  if (count < 2) return;
  const Level& two = frame.level[index + 2];
  uint32_t second[2];  // two pixels each, in 16-bit halves
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    second[r] = HalveWords(first[2 * r], first[2 * r + 1]);
    const int y = by * 2 + r;
    if (y < two.height && bx * 2 < two.width) {
      *reinterpret_cast<uint16_t*>(two.image + static_cast<size_t>(y) * two.pitch + bx * 2) =
          static_cast<uint16_t>(__byte_perm(second[r], 0, 0x4420));
    }
  }
  if (count < 3) return;
  const Level& three = frame.level[index + 3];
  if (by < three.height && bx < three.width) {
    three.image[static_cast<size_t>(by) * three.pitch + bx] =
        MeanOfFour(second[0] & 0xff, second[0] >> 16, second[1] & 0xff, second[1] >> 16);
  }
}

}  // namespace

absl::Status BuildDirectLevels(StreamView stream, const Frame& frame, const MapFrame& map) {
  if (map.direct_blocks == 0) return absl::OkStatus();
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&DirectLevelsKernel);
  launch.block = dim3(kWarp, kBlockWarps);
  launch.grid = dim3(map.direct_blocks);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<MapFrame*>(&map)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the direct pyramid");
}

absl::Status BuildHalfLevels(StreamView stream, const Frame& frame, int from) {
  int count = 0;
  while (count < 3 && from + count + 1 < frame.levels && frame.level[from + count + 1].width > 0) ++count;
  if (count == 0) return absl::OkStatus();
  const Level& level = frame.level[from];
  constexpr int kBlockColumns = kWarp * kSide;
  constexpr int kBlockRows = kBlockWarps * kSide;
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&HalfLevelsKernel);
  launch.block = dim3(kWarp, kBlockWarps);
  launch.grid = dim3((level.width + kBlockColumns - 1) / kBlockColumns, (level.height + kBlockRows - 1) / kBlockRows);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), &from, &count};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the half pyramid");
}

}  // namespace glint::cuda
