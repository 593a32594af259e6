// What a block of dense Harris has of its tile of the image in shared memory, and how tiles cover the image.
#ifndef GLINT_CUDA_CORNERS_DENSE_STRIP_CUH_
#define GLINT_CUDA_CORNERS_DENSE_STRIP_CUH_

#include "cuda/common/append.cuh"
#include "cuda/corners/dense_gradients.cuh"

namespace glint::cuda {

inline constexpr int kHeldRows = 16;         // of responses; a power of 2, more than 2 * kMaxSuppressionRadius
inline constexpr float kOutside = -3.0e38f;  // less than any measure

// Warps of a block, whose strips are below each other; kSuppress3x3: a radius of suppression of 1.
template <bool kSuppress3x3>
inline constexpr int kTileWarps = kSuppress3x3 ? 4 : 2;
// Rows of gradients.
template <bool kSuppress3x3>
inline constexpr int kTileRows = kSuppress3x3 ? 80 : 48;
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

// Lanes at each side of a strip that have columns without a measure, as the window needs more than the strip has.
__host__ __device__ constexpr int SideLanes(int block_radius) {
  return (block_radius + 1 + kLaneColumns - 1) / kLaneColumns;
}

// Columns of a strip that answer, in whole lanes for aligned loads: all but those that gradient, window and suppression
// need at each side.
struct StripSpan {
  int first;  // of those that answer
  int columns;
};
__host__ __device__ constexpr StripSpan SpanOf(int block_radius, int radius) {
  const int needed = 1 + block_radius + radius;
  const int lanes = kLaneColumns * SideLanes(block_radius);
  const int side = needed < lanes ? lanes : needed;
  return {side, (kStripColumns - 2 * side) / kLaneColumns * kLaneColumns};
}

// Columns of the first strip left of the image.
__host__ __device__ constexpr int LeadOf(StripSpan span) {
  return (span.first + kLaneColumns - 1) / kLaneColumns * kLaneColumns;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_DENSE_STRIP_CUH_
