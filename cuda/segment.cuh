// FAST's segment test on packed data: four pixels in a register.
//
// The test works on halved pixels, q = p >> 1, four to a word, each byte with its top bit set, so that one subtraction
// compares four pairs: the top bit of (q | 0x80) - b says q >= b for any b in 0..128. Halving makes it conservative: it
// passes every corner and a few pixels that miss by one grey level; the ring's bits (ring.cuh) or the score then decide
// exactly.
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

// The halved ring of four neighbouring pixels.
struct Ring {
  uint32_t pixel[16];
};

// Top bit of each byte: an arc of kArc marks in a row exists. marks[i]: top bits, ring pixel i passes.
template <int kArc>
__device__ __forceinline__ uint32_t HasArc(const uint32_t marks[16]) {
  // Arcs that start at ring pixels i and i + 1 share a core of kArc - 1 pixels; i even.
  uint32_t two[16], four[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) two[i] = marks[i] & marks[(i + 1) & 15];
#pragma unroll
  for (int i = 0; i < 16; ++i) four[i] = two[i] & two[(i + 2) & 15];
  uint32_t found = 0;
#pragma unroll
  for (int i = 0; i < 16; i += 2) {
    const int core = i + 1;
    uint32_t all = four[core & 15] & four[(core + 4) & 15];
    if (kArc > 9) all &= four[(core + kArc - 5) & 15];
    found |= all & (marks[i] | marks[(i + kArc) & 15]);
  }
  return found;
}

// Top bit of each byte: this pixel may be a corner. The ring must be complete; `bounds` belong to its centres.
// `wanted`: top bits of the pixels that matter. All lanes of the warp must call: it stops early if none has a
// candidate.
template <int kArc>
__device__ __forceinline__ uint32_t SegmentTest(const Ring& ring, const SegmentBounds& bounds, uint32_t wanted) {
  // An arc of nine or more holds a pixel of every opposite pair; four pairs are tested.
  uint32_t bright_marks[8], not_dark_marks[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    bright_marks[i] = ring.pixel[2 * i] - bounds.bright;
    not_dark_marks[i] = ring.pixel[2 * i] - bounds.dark;
  }
  uint32_t bright = wanted & kTopBits;
  uint32_t not_dark = ~bright;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    bright &= bright_marks[i] | bright_marks[i + 4];
    not_dark |= not_dark_marks[i] & not_dark_marks[i + 4];
  }
  const uint32_t dark = ~not_dark;  // top bits alone, as `bright`
  if (__any_sync(kFullWarp, (bright | dark) != 0) == 0) return 0;

  // Each pixel is tested for one polarity: dark ones as bright ones of the complemented image. The few that may be
  // either pass untested: the score decides.
  uint32_t as_dark = dark & ~bright;
  asm("" : "+r"(as_dark));  // one register: the selections below are then one instruction each
  const uint32_t low_bits = as_dark - (as_dark >> 7);
  const uint32_t all_bits = low_bits | as_dark;
  const uint32_t bound = (bounds.bright & ~all_bits) | ((kTopBits - bounds.dark) & all_bits);
  uint32_t marks[16];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    marks[2 * i] = (bright_marks[i] & ~as_dark) | (~not_dark_marks[i] & as_dark);
    marks[2 * i + 1] = (ring.pixel[2 * i + 1] ^ low_bits) - bound;
  }
  return (HasArc<kArc>(marks) & (bright | dark)) | (bright & dark);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SEGMENT_CUH_
