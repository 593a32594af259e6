// FAST's first test on packed data: four pixels in a register.
//
// An arc of nine or more ring pixels holds four neighbours among the eight even ones, one of ten or more holds five;
// those are looked for, in each polarity. It works on halved pixels, q = p >> 1, each byte with its top bit set, so
// that one subtraction compares four pairs: the top bit of (q | 0x80) - b says q >= b for any b in 0..128. The test
// passes every corner and some pixels that miss; the ring's bits (ring.cuh) or the score then decide, in that polarity.
#ifndef GLINT_CUDA_CORNERS_SEGMENT_TEST_CUH_
#define GLINT_CUDA_CORNERS_SEGMENT_TEST_CUH_

#include <cstdint>

#include "cuda/common/warp.cuh"
#include "cuda/corners/fast.cuh"

namespace glint::cuda {

__device__ __forceinline__ uint32_t HalvePixels(uint32_t four) { return ((four >> 1) & 0x7f7f7f7fu) | kTopBits; }

// Each byte's top bit in all of its bits.
__device__ __forceinline__ uint32_t SpreadTopBits(uint32_t four) {
  uint32_t mask;
  asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(mask) : "r"(four));
  return mask;
}

// What takes halved centres to the bounds below.
struct SegmentMargins {
  uint32_t bright;
  uint32_t dark;

  __device__ __forceinline__ explicit SegmentMargins(int threshold) {
    const uint32_t margin = static_cast<uint32_t>((threshold + 1) >> 1) * 0x01010101u;  // 1..127 each
    bright = margin - kTopBits;
    dark = 0x01010101u - margin;
  }
};

// Bounds on the halved ring pixels, derived from four halved centres.
struct SegmentBounds {
  uint32_t bright;  // at least this: brighter than the centre by more than t; 1..128
  uint32_t dark;    // less than this: darker by more than t; 0..127

  __device__ __forceinline__ SegmentBounds(uint32_t centre, const SegmentMargins& margins) {
    const uint32_t sum = centre + margins.bright;  // 1..254
    const uint32_t over = SpreadTopBits(sum);
    bright = (sum & ~over) | (kTopBits & over);                 // at most 128, which nothing reaches
    const uint32_t difference = centre + margins.dark;          // 2..255, 128 too much
    dark = difference & ~kTopBits & SpreadTopBits(difference);  // at least 0, which nothing is below
  }
};

// Of each bit: kRun neighbours of the eight marks, which form a circle, are set. kRun 4 or 5.
//
// Four neighbours are two pairs next to each other, both of which begin at an even mark or both at an odd one; five
// hold such pairs of either kind, and pairs of either kind that do not share five cover the circle.
template <int kRun>
__device__ __forceinline__ uint32_t HasRun(const uint32_t m[8]) {
  static_assert(kRun == 4 || kRun == 5);
  const uint32_t even = ((m[0] & m[1]) | (m[4] & m[5])) & ((m[2] & m[3]) | (m[6] & m[7]));
  const uint32_t odd = ((m[1] & m[2]) | (m[5] & m[6])) & ((m[3] & m[4]) | (m[7] & m[0]));
  return kRun == 4 ? even | odd : even & odd;
}

// ~HasRun(~m), without the complements: of a difference they would be instructions of their own.
template <int kRun>
__device__ __forceinline__ uint32_t LacksRun(const uint32_t m[8]) {
  const uint32_t even = ((m[0] | m[1]) & (m[4] | m[5])) | ((m[2] | m[3]) & (m[6] | m[7]));
  const uint32_t odd = ((m[1] | m[2]) & (m[5] | m[6])) | ((m[3] | m[4]) & (m[7] | m[0]));
  return kRun == 4 ? even & odd : even | odd;
}

// The halved even ring pixels of four neighbouring pixels.
struct EvenRing {
  uint32_t pixel[8];
};

// Top bit of each byte: this pixel may be a corner that its ring is brighter or darker than; other bits are arbitrary.
struct SegmentMarks {
  uint32_t bright;
  uint32_t dark;
};

// `bounds` belong to the ring's centres.
template <int kArc>
__device__ __forceinline__ SegmentMarks SegmentTest(const EvenRing& ring, const SegmentBounds& bounds) {
  constexpr int kRun = kArc < 10 ? 4 : 5;
  uint32_t bright[8], not_dark[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    bright[i] = ring.pixel[i] - bounds.bright;
    not_dark[i] = ring.pixel[i] - bounds.dark;
  }
  return {HasRun<kRun>(bright), ~LacksRun<kRun>(not_dark)};
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_SEGMENT_TEST_CUH_
