// FAST's ring, four pixels to a register, and as bits: which of its pixels are brighter or darker, and the runs that
// they form.
#ifndef GLINT_CUDA_RING_CUH_
#define GLINT_CUDA_RING_CUH_

#include <cstdint>

#include "cuda/fast.cuh"
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

// Top bit of each byte: a > b, unsigned; other bits are arbitrary.
__device__ __forceinline__ uint32_t Greater4(uint32_t a, uint32_t b) {
  const uint32_t not_greater = (b | kTopBits) - (a & ~kTopBits);  // of the lower seven bits
  return (a & ~b) | ((a | ~b) & ~not_greater);
}

struct RingPixels {
  static constexpr int kWords = kFastRing / 4;

  uint32_t centre;        // in each byte
  uint32_t word[kWords];  // ring pixels k, 4 + k, 8 + k and 12 + k, from the highest byte down

  __device__ __forceinline__ RingBits Brighter(int threshold) const {
    const uint32_t bound = static_cast<uint32_t>(Min(static_cast<int>(centre & 0xff) + threshold, 255)) * 0x01010101u;
    uint32_t marks[kWords];
#pragma unroll
    for (int k = 0; k < kWords; ++k) marks[k] = Greater4(word[k], bound);
    return Gather(marks);
  }
  __device__ __forceinline__ RingBits Darker(int threshold) const {
    const uint32_t bound = static_cast<uint32_t>(Max(static_cast<int>(centre & 0xff) - threshold, 0)) * 0x01010101u;
    uint32_t marks[kWords];
#pragma unroll
    for (int k = 0; k < kWords; ++k) marks[k] = Greater4(bound, word[k]);
    return Gather(marks);
  }
  // Some run of at least `length` exists.
  __device__ __forceinline__ bool HasRun(int threshold, int length) const {
    return (Runs(Brighter(threshold), length) | Runs(Darker(threshold), length)) != 0;
  }
  __device__ __forceinline__ uint32_t SumOfDifferences() const {
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < kWords; ++k) sum += __vsadu4(word[k], centre);
    return sum;
  }
  // Over the pixels whose bits are set, of 0..15 as Cover() has them.
  __device__ __forceinline__ uint32_t SumOfDifferences(uint32_t bits) const {
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < kWords; ++k) {
      // Bits 3, 7, 11 and 15, moved to the lowest of a byte each.
      const uint32_t nibbles = bits >> (3 - k) & 0x1111u;
      const uint32_t bytes = (nibbles | nibbles << 8) & 0x00110011u;
      const uint32_t mask = ((bytes | bytes << 4) & 0x01010101u) * 0xffu;
      sum += __vsadu4(word[k] & mask, centre & mask);
    }
    return sum;
  }

 private:
  // From the top bits of the words' bytes.
  __device__ __forceinline__ static RingBits Gather(const uint32_t marks[kWords]) {
    constexpr uint32_t kPairs = 0xc0c0c0c0u;
    const uint32_t a = (marks[0] & kTopBits) | (marks[1] >> 1 & ~kTopBits);  // the highest two bits count
    const uint32_t b = (marks[2] & kTopBits) | (marks[3] >> 1 & ~kTopBits);
    const uint32_t nibbles = ((a & kPairs) | (b >> 2 & ~kPairs)) & 0xf0f0f0f0u;
    // Bytes 3 and 1 have all of it now, twice.
    return __byte_perm(nibbles | nibbles << 4, 0, 0x3131);
  }
};

template <int kPitch>
__device__ __forceinline__ RingPixels RingAt(const uint8_t* centre) {
  uint32_t pixel[kFastRing];
#pragma unroll
  for (int i = 0; i < kFastRing; ++i) pixel[i] = centre[FastRingY(i) * kPitch + FastRingX(i)];
  RingPixels ring;
  ring.centre = *centre * 0x01010101u;
#pragma unroll
  for (int k = 0; k < RingPixels::kWords; ++k) {
    const uint32_t low = __byte_perm(pixel[12 + k], pixel[8 + k], 0x0040);
    const uint32_t high = __byte_perm(pixel[4 + k], pixel[k], 0x0040);
    ring.word[k] = __byte_perm(low, high, 0x5410);
  }
  return ring;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RING_CUH_
