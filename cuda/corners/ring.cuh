// FAST's ring of one pixel, in one polarity, two ring pixels to a register: which differ by more than the threshold,
// the runs that they form, and the scores.
#ifndef GLINT_CUDA_CORNERS_RING_CUH_
#define GLINT_CUDA_CORNERS_RING_CUH_

#include <cstdint>

#include "cuda/corners/fast.cuh"
#include "features/arc.h"
#include "features/math.h"

namespace glint::cuda {

// Ring pixel i as bit 31 - i and again as bit 15 - i.
using RingBits = uint32_t;

// Bits 0..15 from which on, towards higher ones and around, `length` neighbouring bits are set. length 9..16.
__device__ __forceinline__ uint32_t Runs(RingBits bits, int length) {
  const uint32_t two = bits & bits >> 1;
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

// The ring around a pixel that is to be a corner with brighter or, `dark`, with darker neighbours.
class Ring {
 public:
  template <int kPitch>
  __device__ __forceinline__ static Ring At(const uint8_t* centre, bool dark) {
    Ring ring;
    ring.dark_ = dark;
    ring.centre_ = *centre;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const uint32_t first = centre[FastRingY(i) * kPitch + FastRingX(i)];
      const uint32_t second = centre[FastRingY(i + kPairs) * kPitch + FastRingX(i + kPairs)];
      // First in the high half, by the multiplier: shifts and permutes are what the corner stage has most of.
      asm("mad.lo.u32 %0, %1, 65536, %2;" : "=r"(ring.pair_[i]) : "r"(first), "r"(second));
    }
    return ring;
  }

  // What differs by more than the threshold.
  __device__ __forceinline__ RingBits Beyond(int threshold) const {
    // Bit 8 of a pixel, or of its complement to 255, plus the bound says so.
    const int bound = Max(static_cast<int>(dark_ ? centre_ : 255 - centre_) - threshold, 0);
    const uint32_t bounds = (static_cast<uint32_t>(bound) + (dark_ ? 255u : 0u)) * 0x00010001u;
    uint32_t bits = 0;  // of ring pixels 4 j to 4 j + 3 in byte 3 - j
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const uint32_t first = pair_[i] * Sign() + bounds;
      const uint32_t second = pair_[i + kFours] * Sign() + bounds;
      bits = 2 * bits + __byte_perm(first, second, 0x3715);
    }
    return __byte_perm(bits + (bits >> 4), 0, 0x2020);
  }

  __device__ __forceinline__ uint32_t SumOfDifferences() const {
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < kFours; ++k) sum += __vsadu4(Four(k), centre_ * 0x01010101u);
    return sum;
  }
  // Over the pixels whose bits are set, of 0..15 as Cover() has them.
  __device__ __forceinline__ uint32_t SumOfDifferences(uint32_t bits) const {
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < kFours; ++k) {
      // Bits 3, 7, 11 and 15, moved to the lowest of a byte each.
      const uint32_t nibbles = bits >> (3 - k) & 0x1111u;
      const uint32_t bytes = (nibbles | nibbles << 8) & 0x00110011u;
      const uint32_t mask = ((bytes | bytes << 4) & 0x01010101u) * 0xffu;
      sum += __vsadu4(Four(k) & mask, centre_ * 0x01010101u & mask);
    }
    return sum;
  }

  // FastScore() if this is a corner, else something less than the threshold.
  template <int kArc>
  __device__ __forceinline__ int MaxThreshold() const {
    uint32_t pixels[kPairs], two[kPairs], four[kPairs], arcs[kPairs / 2];
#pragma unroll
    for (int i = 0; i < kPairs; ++i) pixels[i] = pair_[i] * Sign() + (dark_ ? 0x00ff00ffu : 0u);
#pragma unroll
    for (int i = 0; i < kPairs; ++i) two[i] = Min2(pixels[i], Rotated(pixels, i + 1));
#pragma unroll
    for (int i = 0; i < kPairs; ++i) four[i] = Min2(two[i], Rotated(two, i + 2));
#pragma unroll
    for (int i = 0; i < kPairs / 2; ++i) {
      const int core = 2 * i + 1;  // as in HasArc
      const uint32_t ends = Max2(pixels[2 * i], Rotated(pixels, 2 * i + kArc));
      arcs[i] = Min3(Rotated(four, core), Rotated(four, core + 4), ends);
      if (kArc > 9) arcs[i] = Min2(arcs[i], Rotated(four, core + kArc - 5));
    }
    const uint32_t best = Max3(arcs[0], arcs[1], Max2(arcs[2], arcs[3]));
    return Max(static_cast<int>(best & 0xffff), static_cast<int>(best >> 16)) -
           static_cast<int>(dark_ ? 255 - centre_ : centre_) - 1;
  }

 private:
  static constexpr int kPairs = kFastRing / 2;
  static constexpr int kFours = kFastRing / 4;

  __device__ __forceinline__ uint32_t Sign() const { return dark_ ? ~0u : 1u; }
  // Ring pixels k, 4 + k, 8 + k and 12 + k, from the highest byte down.
  __device__ __forceinline__ uint32_t Four(int k) const { return pair_[k] << 8 | pair_[k + kFours]; }
  // What begins at ring pixel i, in the high half, and at the opposite one.
  __device__ __forceinline__ static uint32_t Rotated(const uint32_t pairs[kPairs], int i) {
    const uint32_t pair = pairs[i % kPairs];
    return i / kPairs % 2 == 0 ? pair : __byte_perm(pair, 0, 0x1032);
  }

  bool dark_;
  uint32_t centre_;
  uint32_t pair_[kPairs];  // ring pixel i in the high half, 8 + i in the low one
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_RING_CUH_
