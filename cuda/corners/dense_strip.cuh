// What a block of dense Harris has of its tile of the image in shared memory, and how tiles cover the image.
#ifndef GLINT_CUDA_CORNERS_DENSE_STRIP_CUH_
#define GLINT_CUDA_CORNERS_DENSE_STRIP_CUH_

#include "cuda/common/map_device.cuh"
#include "cuda/corners/dense_gradients.cuh"

namespace glint::cuda {

inline constexpr int kHeldRows = 16;         // of responses; a power of 2, more than 2 * kMaxSuppressionRadius
inline constexpr float kOutside = -3.0e38f;  // less than any measure

// Warps of a block, whose strips are below each other; kByOne: a radius of suppression of 1.
template <bool kByOne>
inline constexpr int kTileWarps = kByOne ? 4 : 2;
// Rows of gradients.
template <bool kByOne>
inline constexpr int kTileRows = kByOne ? 80 : 48;
// Maxima that a warp keeps. Two rows can bring kStripColumns / 2 if neighbours are never both maxima, else one row
// kStripColumns.
template <bool kByOne>
inline constexpr int kDenseFound = kByOne ? kStripColumns : 2 * kStripColumns;

// At most 45,670 bytes by one, so that a multiprocessor has room for 5.
template <bool kByOne>
struct DenseTile {
  Gradients gradients[kTileRows<kByOne>][kWarp];
  // Of the warps' last rows, where kByOne is false.
  alignas(16) float response[kByOne ? 1 : kTileWarps<kByOne>][kByOne ? 1 : kHeldRows][kByOne ? 4 : kStripColumns];
  union {
    Places<kTileRows<kByOne> + 2> places;  // until the gradients are there
    Candidate found[kTileWarps<kByOne>][kDenseFound<kByOne>];
  };
  uint32_t greatest;  // OrderedKey() of the greatest measure that the block knows of, at least 0
  uint32_t turn;      // see BeginTurn()
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
