// Four neighbouring columns of a level, from words of the level before; see cascaded.cu for the equations. kLinear: by
// INTER_LINEAR, else by INTER_LINEAR_EXACT.
#ifndef GLINT_CUDA_PYRAMID_RESIZE_CUH_
#define GLINT_CUDA_PYRAMID_RESIZE_CUH_

#include "cuda/common/warp.cuh"
#include "cuda/plan/resize_tables.h"

namespace glint::cuda {

// number / divisor, with `inverse` = (2^32 - 1) / divisor; the rest into `rest`.
__device__ __forceinline__ int Divided(uint32_t number, int divisor, uint32_t inverse, int* rest) {
  int quotient = static_cast<int>(__umulhi(number, inverse));  // or one less
  *rest = static_cast<int>(number) - quotient * divisor;
  if (*rest >= divisor) {
    *rest -= divisor;
    ++quotient;
  }
  return quotient;
}

// The row pass of two columns. Exact: plus 128, which rounds the column pass: 2^15 after weights of 256 together.
template <bool kLinear>
__device__ __forceinline__ void PassPair(uint32_t first, uint32_t second, const uint32_t weights[2], uint32_t h[2]) {
  constexpr uint32_t kHalf = kLinear ? 0 : 128;
  constexpr int kCut = kLinear ? 4 : 0;
  h[0] = __dp2a_lo(weights[0], first, kHalf) >> kCut;
  h[1] = __dp2a_hi(weights[1], second, kHalf) >> kCut;
}

// Of four columns.
template <bool kLinear>
__device__ __forceinline__ void PassRow(uint32_t low, uint32_t high, const uint32_t weights[kGroup],
                                        const uint32_t pairs[2], uint32_t h[kGroup]) {
  const uint32_t first = __byte_perm(low, high, pairs[0]);
  const uint32_t second = __byte_perm(low, high, pairs[1]);
  PassPair<kLinear>(first, first, weights, h);
  PassPair<kLinear>(second, second, weights + 2, h + 2);
}

// The column pass, `weights` as RowMix has them; the pixel is the third byte.
//
// Exact: integers below 2^24 are the bits of floats that count in units of 2^-149, the smallest one: a float times an
// integer is exact there, and float units are twice as many as integer multipliers.
// Linear: the high halves of both products, side by side, are added by a multiplication, together with 2.
template <bool kLinear>
__device__ __forceinline__ uint32_t MixPixel(uint32_t top, uint32_t bottom, uint32_t weights) {
  if (kLinear) {
    const uint32_t halves = __byte_perm(top * (weights & 0xffff), bottom * (weights >> 16), 0x7632);
    return (halves * 0x00010001u + 0x00020000u) >> 2;
  }
  const float lower = __uint_as_float(weights);
  return __float_as_uint(__fmaf_rn(__uint_as_float(bottom), lower, __fmul_rn(__uint_as_float(top), 256.0f - lower)));
}
template <bool kLinear>
__device__ __forceinline__ uint32_t MixRows(const uint32_t top[kGroup], const uint32_t bottom[kGroup],
                                            uint32_t weights) {
  uint32_t mixed[kGroup];
#pragma unroll
  for (int i = 0; i < kGroup; ++i) mixed[i] = MixPixel<kLinear>(top[i], bottom[i], weights);
  return __byte_perm(__byte_perm(mixed[0], mixed[1], 0x0062), __byte_perm(mixed[2], mixed[3], 0x0062), 0x5410);
}

// Each byte 255 if it is 255, else 0.
__device__ __forceinline__ uint32_t CutMaskBytes(uint32_t v) { return __vcmpeq4(v, 0xffffffffu); }

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PYRAMID_RESIZE_CUH_
