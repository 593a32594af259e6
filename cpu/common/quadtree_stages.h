// The stages that Selection::kQuadtree has of its own, as a table of functions, one table per SIMD target; the others
// are in cpu/common/stages.h, whose demands on images hold here too. No stage allocates. All are pure functions:
// thread-safe.
#ifndef GLINT_CPU_COMMON_QUADTREE_STAGES_H_
#define GLINT_CPU_COMMON_QUADTREE_STAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/common/stages.h"
#include "features/linear_resize.h"
#include "features/types.h"

namespace glint::cpu {

// Tables for ResizeLinear of a pair of shapes. Across, 8 neighbouring output pixels are a group: bytes from_x[group] +
// 0..15 of the input row are shuffled into 8 pairs. A pair's weights are 16 * coarse + fine, both of which fit a signed
// byte.
struct LinearTables {
  Shape from;
  Shape to;
  bool in_groups = false;        // 16 bytes hold each group's pixels; otherwise only `across` is of use
  std::vector<int32_t> from_x;   // per group
  std::vector<uint8_t> shuffle;  // 16 per group
  std::vector<int8_t> coarse;    // 16 per group
  std::vector<int8_t> fine;      // 16 per group
  std::vector<LinearTap> across;
  std::vector<LinearTap> down;
};
// Fills the tables, `to` at most `from` on both axes; allocates only beyond the largest so far.
void MakeLinearTables(Shape from, Shape to, LinearTables* tables);

// Corners of neighbouring cells in one row of cells. Each cell is searched alone: suppression sees no other.
struct CellFastJob {
  FastJob fast;              // arc 9; region: of whole cells, whose upper and lower borders are the region's
  const uint8_t* not_first;  // of each column: 0 in the first column of a cell, 255 elsewhere; kReadMargin more bytes
  const uint8_t* not_last;   // of each column: 0 in the last column of a cell, 255 elsewhere; likewise
};

// The row pass's results of a run, and of 6 more rows.
inline constexpr size_t kFixedBlurScratchElements = (kBlurRows + 6) * kBlurBlock;

struct QuadtreeStages {
  // As Stages::resize, with INTER_LINEAR.
  void (*resize)(const LinearTables& tables, const ImageView& image, int y0, int y1, uint8_t* out, ptrdiff_t out_stride,
                 int16_t* scratch);
  // As Stages::fast_suppressed, in cells.
  size_t (*fast_in_cells)(const CellFastJob& job, uint8_t* scratch, uint32_t* where, uint8_t* score);
  // As Stages::blur, in fixed point. `scratch`: kFixedBlurScratchElements, 64-byte aligned.
  void (*blur)(const BlurJob& job, int16_t* scratch);
};

QuadtreeStages QuadtreeStagesFor(int64_t target);

}  // namespace glint::cpu

#endif  // GLINT_CPU_COMMON_QUADTREE_STAGES_H_
