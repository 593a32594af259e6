// What a warp of the corner stage has of its strip: in shared memory, and, as a tile's warps have too, in registers.
#ifndef GLINT_CUDA_CORNERS_STRIP_CUH_
#define GLINT_CUDA_CORNERS_STRIP_CUH_

#include <cstdint>

#include "cuda/common/warp.cuh"
#include "cuda/corners/fast.cuh"
#include "cuda/corners/warp_corner_buffer.cuh"
#include "cuda/plan/tiling.h"

namespace glint::cuda {

inline constexpr int kRowVectors = 10;  // the tested columns, 4 more at each side, and up to 12 to begin at a vector
inline constexpr int kRowsPerLoad = kWarp / kRowVectors;
inline constexpr int kMaxListed = (kStep + 1) * kTestedColumns;

struct Strip {
  static constexpr int kPad = kFastRadius;  // rows held beyond the kStep tested
  static constexpr int kHeld = kStep + 2 * kPad;
  static constexpr int kResponses = kStep + 2;

  alignas(16) uint8_t pixels[kHeld][kPitch];
  alignas(16) uint8_t response[kResponses][kTestedColumns];  // 0: not a corner; row 0 is two above the first tested
  uint16_t list[kMaxListed];  // corners of the row above, then of the rows tested: (1 + row) << 7 | column
  alignas(8) Candidate found[kBufferedCorners];
};

// What the test needs of the last kStep rows, quartered: row j of the strip is at place (j + 3) % kStep.
struct Window {
  uint32_t centre[kStep], left2[kStep], right2[kStep], left3[kStep], right3[kStep];

  __device__ __forceinline__ void Load(int place, const uint8_t* pixels) {
    const auto* word = reinterpret_cast<const uint32_t*>(pixels);
    const uint32_t before = QuarterPixels(word[-1]);
    const uint32_t here = QuarterPixels(word[0]);
    const uint32_t after = QuarterPixels(word[1]);
    centre[place] = here;
    left2[place] = __funnelshift_l(before, here, 16);
    right2[place] = __funnelshift_r(here, after, 16);
    left3[place] = __funnelshift_l(before, here, 24);
    right3[place] = __funnelshift_r(here, after, 24);
  }

  // Of the row at `place`, when the three below it are the last ones loaded.
  __device__ __forceinline__ uint32_t Test(int place, uint32_t margin) const {
    const auto at = [place](int rows) { return (place + rows + kStep) % kStep; };
    const Compass ring = {{centre[at(3)], right2[at(2)], right3[place], right2[at(-2)]},
                          {centre[at(-3)], left2[at(-2)], left3[place], left2[at(2)]}};
    return CompassTest(ring, centre[place], margin);
  }
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_STRIP_CUH_
