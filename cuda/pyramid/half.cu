// Levels of Pyramid::kHalf: a thread reads 8 x 8 pixels and makes of them 4 x 4, 2 x 2 and 1 pixel of the next three.
#include "cuda/common/append.cuh"
#include "cuda/common/enqueue.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Two pixels, in the low bytes of 16-bit halves: MeanOfFour() of two neighbouring pixels of two words.
__device__ __forceinline__ uint32_t HalveWords(uint32_t top, uint32_t bottom) {
  constexpr uint32_t kEven = 0x00ff00ffu;
  const uint32_t sum = (top & kEven) + (top >> 8 & kEven) + (bottom & kEven) + (bottom >> 8 & kEven) + 0x00020002u;
  return sum >> 2 & kEven;
}

__global__ void __launch_bounds__(kWarp* kHalfWarps)
    HalfLevelsKernel(GLINT_KERNEL_ARGUMENT Frame frame, int index, int count) {
  AllowSuccessor();
  const Level& from = frame.level[index];
  const int bx = blockIdx.x * kWarp + threadIdx.x;
  const int by = blockIdx.y * kHalfWarps + threadIdx.y;
  WaitForPredecessor();
  if (bx * kHalfSide >= from.width || by * kHalfSide >= from.height) return;
  uint32_t first[4];  // rows of the next level
  const uint8_t* pixels = from.image + bx * kHalfSide;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int y = by * kHalfSide + 2 * r;
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

absl::Status BuildHalfLevels(StreamView stream, const Launch& launch, const Frame& frame) {
  return Enqueue(stream, launch, HalfLevelsKernel, frame, launch.from, launch.levels);
}

}  // namespace glint::cuda
