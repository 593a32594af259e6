// FAST's first test on packed data: four pixels in a register.
//
// An arc of kArc ring pixels holds kArc / 2 neighbours among the eight even ones; those are looked for, in both
// polarities. It works on halved pixels, q = p >> 1, each byte with its top bit set, so that one subtraction compares
// four pairs: the top bit of (q | 0x80) - b says q >= b for any b in 0..128. The test passes every corner and some
// pixels that miss; the ring's bits (ring.cuh) or the score then decide.
#ifndef GLINT_CUDA_SEGMENT_CUH_
#define GLINT_CUDA_SEGMENT_CUH_

#include <cstdint>

#include "cuda/device.cuh"
#include "cuda/fast.cuh"

namespace glint::cuda {

__device__ __forceinline__ uint32_t HalvePixels(uint32_t four) { return ((four >> 1) & 0x7f7f7f7fu) | kTopBits; }

// Bounds on the halved ring pixels, derived from four halved centres.
struct SegmentBounds {
  uint32_t bright;  // at least this: brighter than the centre by more than t; 1..128
  uint32_t dark;    // less than this: darker by more than t; 0..127

  // margin = (t + 1) >> 1 in each byte.
  __device__ __forceinline__ SegmentBounds(uint32_t centre, uint32_t margin) {
    const uint32_t sum = (centre ^ kTopBits) + margin;  // 1..254
    const uint32_t over = sum & kTopBits;
    bright = sum & ~(over - (over >> 7));  // at most 128, which nothing reaches
    const uint32_t difference = centre - margin + 0x01010101u;
    const uint32_t positive = difference & kTopBits;
    dark = difference & (positive - (positive >> 7));  // at least 0, which nothing is below
  }
};

// Of each bit: kRun neighbours of the eight marks, which form a circle, are set; kRun 4..6.
template <int kRun>
__device__ __forceinline__ uint32_t HasRun(const uint32_t marks[8]) {
  uint32_t found = 0;
#pragma unroll
  for (int i = 0; i < 8; i += 2) {  // runs that start at i and at i + 1
    uint32_t core = marks[(i + 1) & 7] & marks[(i + 2) & 7] & marks[(i + 3) & 7];
    if (kRun > 4) core &= marks[(i + 4) & 7];
    if (kRun > 5) core &= marks[(i + 5) & 7];
    found |= core & (marks[i] | marks[(i + kRun) & 7]);
  }
  return found;
}

// The halved even ring pixels of four neighbouring pixels.
struct EvenRing {
  uint32_t pixel[8];
};

// Top bit of each byte: this pixel may be a corner; other bits are arbitrary. `bounds` belong to the ring's centres.
template <int kArc>
__device__ __forceinline__ uint32_t SegmentTest(const EvenRing& ring, const SegmentBounds& bounds) {
  uint32_t bright[8], dark[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    bright[i] = ring.pixel[i] - bounds.bright;
    dark[i] = ~(ring.pixel[i] - bounds.dark);
  }
  return HasRun<kArc / 2>(bright) | HasRun<kArc / 2>(dark);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SEGMENT_CUH_
