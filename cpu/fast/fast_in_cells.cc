// FAST corners with suppression inside cells, as if each cell were searched alone: Selection::kQuadtree.
//
// A row of cells is scanned in whole vectors as an image is: scores do not depend on cells, and suppression leaves out
// neighbours beyond a cell's sides.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fast/fast_in_cells.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/quadtree_stages.h"
#include "cpu/common/simd-inl.h"
#include "cpu/fast/fast_suppressor-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

size_t FastInCells(const CellFastJob& job, uint8_t* scratch, uint32_t* where, uint8_t* score) {
  const Rect r = job.fast.region;
  if (r.empty()) return 0;
  const Span span(r.x0, r.x1);
  Suppressor<9, NeighboursInCell> rows(job.fast, span, scratch, {job.not_first, job.not_last});
  size_t count = 0;
  for (int y = r.y0; y <= r.y1; ++y) {
    rows.Next(y, y < r.y1);
    if (y > r.y0) count += rows.Suppress(y - 1, where + count, score + count);
  }
  return count;
}

void AddFastInCells(QuadtreeStages* stages) { stages->fast_in_cells = &FastInCells; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
HWY_EXPORT(AddFastInCells);
void AddFastInCells(int64_t target, QuadtreeStages* stages) {
  HWY_DISPATCH_TABLE(AddFastInCells)[GLINT_CPU_TABLE_INDEX(target)](stages);
}

// Each in the file of its stage.
void AddLinearResize(int64_t target, QuadtreeStages* stages);
void AddFixedBlur(int64_t target, QuadtreeStages* stages);

QuadtreeStages QuadtreeStagesFor(int64_t target) {
  QuadtreeStages stages;
  for (const auto add : {&AddLinearResize, &AddFastInCells, &AddFixedBlur}) add(target, &stages);
  return stages;
}

}  // namespace glint::cpu
#endif
