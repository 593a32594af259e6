// Which pixels of a tile can matter, and which of their responses are maxima.
#ifndef GLINT_CUDA_COMMON_SUPPRESSION_CUH_
#define GLINT_CUDA_COMMON_SUPPRESSION_CUH_

#include <cstdint>

#include "features/math.h"

namespace glint::cuda {

// Whether a response in rows of kPitch is larger than the eight around it.
template <int kPitch, typename Response>
__device__ __forceinline__ bool IsMaximum(const Response* own) {
  Response neighbours = Response{0};
#pragma unroll
  for (int v = -1; v <= 1; ++v) {
#pragma unroll
    for (int u = -1; u <= 1; ++u) {
      if (u != 0 || v != 0) neighbours = max(neighbours, own[v * kPitch + u]);
    }
  }
  return *own > neighbours;
}

// Bytes of a word of columns x..x+3 that lie in low..high-1, as 0xff each.
__device__ __forceinline__ uint32_t ColumnMask(int x, int low, int high) {
  uint32_t mask = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) mask |= x + i >= low && x + i < high ? 0xffu << (8 * i) : 0u;
  return mask;
}

// Bits r of each byte for which y + r is in low..high-1.
__device__ __forceinline__ uint32_t RowMask(int y, int low, int high) {
  const int first = Clamp(low - y, 0, 8);
  const int last = Clamp(high - y, 0, 8);
  return (((1u << last) - 1) & ~((1u << first) - 1)) * 0x01010101u;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_COMMON_SUPPRESSION_CUH_
