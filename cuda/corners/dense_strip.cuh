// What a block of dense Harris has of its tile of the image in shared memory, and how tiles cover the image.
#ifndef GLINT_CUDA_CORNERS_DENSE_STRIP_CUH_
#define GLINT_CUDA_CORNERS_DENSE_STRIP_CUH_

#include "cuda/common/append.cuh"
#include "cuda/corners/dense_gradients.cuh"
#include "cuda/plan/tiling.h"

namespace glint::cuda {

inline constexpr int kHeldRows = 16;         // of responses; a power of 2, more than 2 * kMaxSuppressionRadius
inline constexpr float kOutside = -3.0e38f;  // less than any measure

// Maxima that a warp keeps. Two rows can bring kStripColumns / 2 if neighbours are never both maxima, else one row
// kStripColumns.
template <bool kSuppress3x3>
inline constexpr int kDenseFound = kSuppress3x3 ? kStripColumns : 2 * kStripColumns;

// At most 45,670 bytes by one, so that a multiprocessor has room for 5.
template <bool kSuppress3x3>
struct DenseTile {
  Gradients gradients[kTileRows<kSuppress3x3>][kWarp];
  // Of the warps' last rows, where kSuppress3x3 is false.
  alignas(16) float response[kSuppress3x3 ? 1 : kTileWarps<kSuppress3x3>][kSuppress3x3 ? 1 : kHeldRows]
                            [kSuppress3x3 ? 4 : kStripColumns];
  union {
    ReflectedOffsets<kTileRows<kSuppress3x3> + 2> offsets;  // until the gradients are there
    Candidate found[kTileWarps<kSuppress3x3>][kDenseFound<kSuppress3x3>];
  };
  uint32_t greatest;  // OrderedKey() of the greatest measure that the block knows of, at least 0
  uint32_t buffer;    // see BeginBuffer()
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_DENSE_STRIP_CUH_
