// Windows of pixels in shared memory, one warp each, and dot products of neighbouring pixels.
#ifndef GLINT_CUDA_TRACK_WINDOW_CUH_
#define GLINT_CUDA_TRACK_WINDOW_CUH_

#include <cstddef>
#include <cstdint>

#include "cuda/common/warp.cuh"
#include "cuda/track/track_params.h"

namespace glint::cuda {

inline constexpr int kWindowUnit = 16;  // bytes: windows begin at multiples of it in a row
inline constexpr int kWordBytes = 4;

// sum + the halves of `factors` (signed) * bytes 0 and 1 of `pixels`.
__device__ __forceinline__ int DotLow(uint32_t factors, uint32_t pixels, int sum) {
  int result;
  asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(factors), "r"(pixels), "r"(sum));
  return result;
}
// As DotLow(), bytes 2 and 3.
__device__ __forceinline__ int DotHigh(uint32_t factors, uint32_t pixels, int sum) {
  int result;
  asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(factors), "r"(pixels), "r"(sum));
  return result;
}
// sum + a half of `pair` (unsigned) * kFactor, 0..255.
template <int kFactor, bool kHigh>
__device__ __forceinline__ int MultiplyHalf(uint32_t pair, int sum) {
  constexpr uint32_t kWeights = kHigh ? kFactor << 8 : kFactor;
  uint32_t result;
  asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(pair), "r"(kWeights), "r"(static_cast<uint32_t>(sum)));
  return static_cast<int>(result);
}

// Closes the group of this thread's copies that were begun since the last call.
__device__ __forceinline__ void CloseCopies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Until the copies of all lanes are there, but for those of the last kOpen groups.
template <int kOpen>
__device__ __forceinline__ void WaitForGroups() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
#endif
  __syncwarp();
}

// 16 pixels of a row of `width`, from `left` on; those outside have the value of the nearest one inside.
__device__ __forceinline__ void CopyEdge(const uint8_t* row, int left, int width, uint32_t* to) {
#pragma unroll 1
  for (int w = 0; w < kWindowUnit / kWordBytes; ++w) {
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < kWordBytes; ++i) {
      word |= static_cast<uint32_t>(row[Clamp(left + kWordBytes * w + i, 0, width - 1)]) << (8 * i);
    }
    to[w] = word;
  }
}

// Begins to copy `rows` rows of kPitch pixels, the first of them at (left, top); `left` is a multiple of kWindowUnit.
// Pixels outside as in CopyEdge().
template <int kPitch>
__device__ __forceinline__ void CopyWindow(const TrackLevel& level, int left, int top, int rows, uint32_t* to) {
  constexpr int kUnits = kPitch / kWindowUnit;
  constexpr int kRowsAtOnce = kWarp / kUnits;
  const int lane = threadIdx.x;
  const int unit = lane % kUnits;
  const int x = left + unit * kWindowUnit;
  const bool is_inside = x >= 0 && x + kWindowUnit <= level.width;
  if (lane >= kRowsAtOnce * kUnits) return;
#pragma unroll 1
  for (int i = lane / kUnits; i < rows; i += kRowsAtOnce) {
    const int y = Clamp(top + i, 0, level.height - 1);
    const uint8_t* const row = level.pixels + static_cast<ptrdiff_t>(y) * level.pitch;
    uint32_t* const at = to + (i * kUnits + unit) * (kWindowUnit / kWordBytes);
    if (is_inside) {
      CopyAsync16(at, row + x);
    } else {
      CopyEdge(row, x, level.width, at);
    }
  }
}

// Pixels 0 to kCount of a row, so that any two neighbours lie in one half of a word.
template <int kCount>
class RowPixels {
 public:
  // The row begins `shift` bits into `words`; 0, 8, 16 or 24. Reads kWords + 1 words.
  __device__ __forceinline__ void Load(const uint32_t* words, unsigned shift) {
    uint32_t low = words[0];
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const uint32_t high = words[w + 1];
      even_[w] = __funnelshift_r(low, high, shift);
      odd_[w] = __funnelshift_rc(low, high, shift + 8);
      low = high;
    }
  }
  // sum + factors * pixels i and i + 1. i: known at compile time.
  __device__ __forceinline__ int Dot(int i, uint32_t factors, int sum) const {
    const uint32_t word = i % 2 == 0 ? even_[i / kWordBytes] : odd_[i / kWordBytes];
    return i % kWordBytes < 2 ? DotLow(factors, word, sum) : DotHigh(factors, word, sum);
  }

 private:
  static constexpr int kWords = (kCount + 3) / kWordBytes;
  uint32_t even_[kWords];  // from pixel 4 w on
  uint32_t odd_[kWords];   // from pixel 4 w + 1 on
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_WINDOW_CUH_
