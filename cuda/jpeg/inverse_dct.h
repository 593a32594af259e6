// The inverse DCT of libjpeg's JDCT_ISLOW, after C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT
// algorithms with 11 multiplications" (ICASSP 1989): columns first, with 2 bits more than integers, then rows. Decoders
// agree in every bit where nothing leaves 16 bits on the way; what could is told apart. Pure functions.
#ifndef GLINT_CUDA_JPEG_INVERSE_DCT_H_
#define GLINT_CUDA_JPEG_INVERSE_DCT_H_

#include <cstdint>

#include "features/math.h"

namespace glint::cuda {

// Values that go into a pass: the sum of two has 16 bits. What comes out of the second one, before 128 is added.
inline constexpr int32_t kMaxDctInput = 16383;
inline constexpr int32_t kMinDctOutput = -512, kMaxDctOutput = 511;

// Bits that a pass leaves off, rounding to nearest.
inline constexpr int kColumnShift = 11, kRowShift = 18;

// One dimension, in place. Values beyond kMaxDctInput give some result.
template <int kShift>
GLINT_HD inline void InverseDct(int32_t (&values)[8]) {
  // 13 bits behind the point; unsigned, as sums on the way may go over and come back.
  const auto v = [&](int i) { return static_cast<uint32_t>(values[i]); };
  const uint32_t even = (v(2) + v(6)) * 4433u;
  const uint32_t low = even - v(6) * 15137u, high = even + v(2) * 6270u;
  const uint32_t sum = (v(0) + v(4)) << 13, difference = (v(0) - v(4)) << 13;
  const uint32_t evens[4] = {sum + high, difference + low, difference - low, sum - high};

  const uint32_t all = (v(7) + v(3) + v(5) + v(1)) * 9633u;
  const uint32_t outer = (v(7) + v(1)) * 7373u, inner = (v(5) + v(3)) * 20995u;
  const uint32_t third = all - (v(7) + v(3)) * 16069u, fourth = all - (v(5) + v(1)) * 3196u;
  const uint32_t odds[4] = {v(1) * 12299u - outer + fourth, v(3) * 25172u - inner + third,
                            v(5) * 16819u - inner + fourth, v(7) * 2446u - outer + third};
  constexpr uint32_t kHalf = 1u << (kShift - 1);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int i = 0; i < 4; ++i) {
    values[i] = static_cast<int32_t>(evens[i] + odds[i] + kHalf) >> kShift;
    values[7 - i] = static_cast<int32_t>(evens[i] - odds[i] + kHalf) >> kShift;
  }
}

GLINT_HD inline bool FitsDct(int32_t value) { return value >= -kMaxDctInput && value <= kMaxDctInput; }
GLINT_HD inline bool FitsPixel(int32_t value) { return value >= kMinDctOutput && value <= kMaxDctOutput; }
GLINT_HD inline uint8_t PixelOfDct(int32_t value) {
  const int32_t pixel = value + 128;
  return static_cast<uint8_t>(pixel < 0 ? 0 : pixel > 255 ? 255 : pixel);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_JPEG_INVERSE_DCT_H_
