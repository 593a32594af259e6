// The patch of a keypoint that the rBRIEF stage has in shared memory.
#ifndef GLINT_CUDA_PLAN_PATCH_SHAPE_H_
#define GLINT_CUDA_PLAN_PATCH_SHAPE_H_

#include "cuda/plan/block_shapes.h"
#include "features/math.h"

namespace glint::cuda {

inline constexpr int kBlurColumns = 4;  // that a lane blurs: a word of bytes
inline constexpr int kBlurRows = 13;
inline constexpr int kPatchVector = 16;  // bytes that a lane loads at once

// The two images of a patch in shared memory. Those before blurring begin at any byte of their first vector; both have
// rows to spare, so that lanes blur whole blocks.
struct PatchShape {
  int blurred;        // side of the patch that the pattern reads, pixels
  int loaded;         // and of what the blur reads
  int block_columns;  // blocks that lanes blur, side by side
  int blocks;
  int pitch;  // bytes from row to row before blurring, a multiple of kPatchVector
  int blurred_pitch;
  int pixel_bytes;
  int bytes;  // of a warp

  GLINT_HD explicit PatchShape(int reach)
      : blurred(2 * reach + 1),
        loaded(blurred + 2 * kGaussianRadius),
        block_columns((blurred + kBlurColumns - 1) / kBlurColumns) {
    const int block_rows = (blurred + kBlurRows - 1) / kBlurRows;
    blocks = block_columns * block_rows;
    // A lane reads four words, of which the first is up to three words from the row's beginning.
    pitch = ((block_columns + 6) * 4 + kPatchVector - 1) / kPatchVector * kPatchVector;
    blurred_pitch = block_columns * kBlurColumns;
    pixel_bytes = (block_rows * kBlurRows + 2 * kGaussianRadius) * pitch;
    bytes = (pixel_bytes + block_rows * kBlurRows * blurred_pitch + kPatchVector - 1) / kPatchVector * kPatchVector;
  }
  GLINT_HD int SharedBytes() const { return kRbriefThreads / kWarp * bytes; }
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PLAN_PATCH_SHAPE_H_
