// FAST's ring as bits: which of its pixels are brighter or darker, and the runs that they form. Bit 15 - i stands for
// ring pixel i, which runs do not mind.
#ifndef GLINT_CUDA_RING_CUH_
#define GLINT_CUDA_RING_CUH_

#include <cstdint>

#include "features/arc.h"
#include "features/math.h"

namespace glint::cuda {

struct RingBits {
  uint32_t brighter;
  uint32_t darker;
};

// Bits from which on, towards higher ones and around, `length` neighbouring bits are set. length 9..16.
__device__ __forceinline__ uint32_t Runs(uint32_t bits, int length) {
  const uint32_t twice = bits | bits << kFastRing;
  const uint32_t two = twice & twice >> 1;
  const uint32_t four = two & two >> 2;
  const uint32_t eight = four & four >> 4;
  return eight & eight >> (length - 8) & 0xffffu;
}

// The bits of the runs that Runs(bits, length) stands for.
__device__ __forceinline__ uint32_t Cover(uint32_t runs, int length) {
  const uint32_t two = runs | runs << 1;
  const uint32_t four = two | two << 2;
  const uint32_t eight = four | four << 4;
  const uint32_t all = eight | eight << (length - 8);
  return (all | all >> kFastRing) & 0xffffu;
}

struct RingPixels {
  int centre;
  int pixel[kFastRing];

  __device__ __forceinline__ RingBits Bits(int threshold) const {
    RingBits bits = {0, 0};
#pragma unroll
    for (int i = 0; i < kFastRing; ++i) {
      // Shifts the sign in.
      bits.brighter = __funnelshift_l(static_cast<uint32_t>(centre + threshold - pixel[i]), bits.brighter, 1);
      bits.darker = __funnelshift_l(static_cast<uint32_t>(pixel[i] - (centre - threshold)), bits.darker, 1);
    }
    return bits;
  }
  __device__ __forceinline__ bool HasRun(int threshold, int length) const {
    const RingBits bits = Bits(threshold);
    return (Runs(bits.brighter, length) | Runs(bits.darker, length)) != 0;
  }
  // Over all pixels, four at a time.
  __device__ __forceinline__ uint32_t SumOfDifferences() const {
    const uint32_t centres = static_cast<uint32_t>(centre) * 0x01010101u;
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kFastRing; i += 4) {
      const uint32_t low = __byte_perm(pixel[i], pixel[i + 1], 0x0040);
      const uint32_t high = __byte_perm(pixel[i + 2], pixel[i + 3], 0x0040);
      sum += __vsadu4(__byte_perm(low, high, 0x5410), centres);
    }
    return sum;
  }
  // Over the pixels whose bits are set.
  __device__ __forceinline__ uint32_t SumOfDifferences(uint32_t bits) const {
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kFastRing; ++i) {
      if ((bits >> (kFastRing - 1 - i) & 1) != 0) sum = __usad(pixel[i], centre, sum);
    }
    return sum;
  }
};

template <int kPitch>
__device__ __forceinline__ RingPixels RingAt(const uint8_t* centre) {
  RingPixels ring;
  ring.centre = *centre;
#pragma unroll
  for (int i = 0; i < kFastRing; ++i) ring.pixel[i] = centre[FastRingY(i) * kPitch + FastRingX(i)];
  return ring;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RING_CUH_
