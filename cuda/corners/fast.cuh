// FAST on packed data: a test that rejects most pixels, four to a register, and the exact score of one.
//
// A pixel is a corner if `kArc` contiguous ring pixels are all > p + t or all < p - t (Rosten, Drummond 2006).
//
// The test works on quartered pixels, q = p >> 2, four to a word: their differences and a margin fit a byte with its
// sign, so that one addition compares four pairs. Quartering makes it conservative: it passes every corner and some
// pixels that miss; the score then decides exactly.
#ifndef GLINT_CUDA_CORNERS_FAST_CUH_
#define GLINT_CUDA_CORNERS_FAST_CUH_

#include <cuda_fp16.h>

#include <cstdint>

#include "cuda/common/warp.cuh"
#include "features/math.h"

namespace glint::cuda {

inline constexpr uint32_t kTopBits = 0x80808080u;

__device__ __forceinline__ uint32_t QuarterPixels(uint32_t four) { return (four >> 2) & 0x3f3f3f3fu; }

// 128 - m in each byte, where a ring pixel that differs by more than t has |difference of the quarters| >= m.
__device__ __forceinline__ uint32_t CompassMargin(int threshold) {
  return kTopBits - static_cast<uint32_t>((threshold + 1) >> 2) * 0x01010101u;
}

// Four opposite pairs of the quartered ring of four neighbouring pixels: ring pixels 0 and 8, 2 and 10, 4 and 12, 6 and
// 14. An arc of nine or more holds a pixel of every pair.
struct Compass {
  uint32_t a[4], b[4];
};

// Top bit of each byte: this pixel may be a corner. The other bits are arbitrary.
__device__ __forceinline__ uint32_t CompassTest(const Compass& ring, uint32_t centre, uint32_t margin) {
  const uint32_t bright_bound = margin - centre;  // 2..128, so that no sum below leaves its byte
  const uint32_t dark_bound = margin + centre;    // 65..191
  uint32_t bright = ~0u;
  uint32_t dark = ~0u;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    bright &= (ring.a[i] + bright_bound) | (ring.b[i] + bright_bound);
    dark &= (dark_bound - ring.a[i]) | (dark_bound - ring.b[i]);
  }
  return bright | dark;
}

// ---- score

// Minimum and maximum of two unsigned 16-bit halves below 2^15.
__device__ __forceinline__ uint32_t Min2(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900
  // As half floats, small integers are denormals, which compare like the integers and are not flushed.
  const __half2 r = __hmin2(*reinterpret_cast<__half2*>(&a), *reinterpret_cast<__half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&r);
#else
  return __vminu2(a, b);
#endif
}
__device__ __forceinline__ uint32_t Max2(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 900
  const __half2 r = __hmax2(*reinterpret_cast<__half2*>(&a), *reinterpret_cast<__half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&r);
#else
  return __vmaxu2(a, b);
#endif
}
__device__ __forceinline__ uint32_t Min3(uint32_t a, uint32_t b, uint32_t c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return __vimin3_u16x2(a, b, c);
#else
  return Min2(Min2(a, b), c);
#endif
}
__device__ __forceinline__ uint32_t Max3(uint32_t a, uint32_t b, uint32_t c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return __vimax3_u16x2(a, b, c);
#else
  return Max2(Max2(a, b), c);
#endif
}

// FastScore() of the pixel at `centre` in an image of row pitch kPitch: the ring in the low halves, its complement to
// 255 in the high ones, so that one pass of minima and maxima finds the best bright and the best dark arc.
template <int kArc, int kPitch>
__device__ __forceinline__ int PackedFastScore(const uint8_t* centre) {
  uint32_t ring[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const uint32_t p = centre[FastRingY(i) * kPitch + FastRingX(i)];
    ring[i] = p * (1u - 65536u) + (255u << 16);
  }
  uint32_t two[16], four[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) two[i] = Min2(ring[i], ring[(i + 1) & 15]);
#pragma unroll
  for (int i = 0; i < 16; ++i) four[i] = Min2(two[i], two[(i + 2) & 15]);
  uint32_t arcs[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int core = 2 * i + 1;  // as in HasArc
    const uint32_t ends = Max2(ring[2 * i], ring[(2 * i + kArc) & 15]);
    arcs[i] = Min3(four[core & 15], four[(core + 4) & 15], ends);
    if (kArc > 9) arcs[i] = Min2(arcs[i], four[(core + kArc - 5) & 15]);
  }
  const uint32_t best = Max3(Max3(arcs[0], arcs[1], arcs[2]), Max3(arcs[3], arcs[4], arcs[5]), Max2(arcs[6], arcs[7]));
  const int brightest = best & 0xffff;
  const int darkest = 255 - static_cast<int>(best >> 16);
  const int p = *centre;
  return Max(brightest - p, p - darkest) - 1;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_FAST_CUH_
