// FAST corners of any score that is an integer, with a longest arc, suppression in squares of any size, and optionally
// only the best of each cell.
//
// As in fast_suppressed.cc, a row is suppressed once the rows below it are scored; scores have 16 bits. With cells and
// without suppression, only the best corner of each cell is listed.
//
// Other processes may write to the image (shared memory): no result depends on reading a pixel twice. Corners are
// listed from the rows of scores alone.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fast/fast_scored.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cstring>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/fast/fast-inl.h"
#include "cpu/fast/fast_cells-inl.h"
#include "cpu/fast/fast_rows-inl.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// The best of each cell. Rows and keys for cells follow the rows of scores.
size_t BestOfEachCell(const ScoredJob& job, const Span& span, uint8_t* scratch, uint32_t* where, float* response) {
  const Rect r = job.fast.region;
  const size_t pitch = FastScratchPitch(job.fast.image.width);
  ScoredRows<false> rows(job, span, scratch);
  uint64_t* const keys = reinterpret_cast<uint64_t*>(scratch + ScoredRowsBytes(job.fast.image.width));
  int16_t* const best = reinterpret_cast<int16_t*>(keys + pitch) + rows.origin();
  std::memset(keys + pitch, 0, pitch * sizeof(int16_t));
  RowOfCells cells(job.cell_width, best, best + pitch, keys);
  size_t count = 0;
  for (int y = r.y0; y < r.y1; ++y) {
    const int cell_y = y - y % job.cell_height;
    rows.Next(nullptr, y, true);
    cells.UpdateCellMaxima(rows.newest().scores, y - cell_y, rows.newest().active, rows.newest().active_count);
    if (y + 1 == r.y1 || y + 1 == cell_y + job.cell_height) {
      count += cells.AppendCellMaxima(r.x0, r.x1, cell_y, rows.bias(), where + count, response + count);
    }
  }
  return count;
}

size_t FastScored(const ScoredJob& job, uint8_t* scratch, uint32_t* where, float* response) {
  const Rect r = job.fast.region;
  if (r.empty()) return 0;
  // Score a halo around the region as well: suppression compares with it.
  const int radius = job.radius;
  const ImageView& image = job.fast.image;
  const Span span(std::max(r.x0 - radius, kFastRadius), std::min(r.x1 + radius, image.width - kFastRadius));
  if (job.cell_width > 0) return BestOfEachCell(job, span, scratch, where, response);
  ScoredRows<false> rows(job, span, scratch);
  size_t count = 0;
  for (int y = r.y0 - radius; y < r.y1 + radius; ++y) {
    rows.Next(nullptr, y, y >= kFastRadius && y < image.height - kFastRadius);
    if (y - radius >= r.y0) count += rows.Suppress(y - radius, where + count, response + count);
  }
  return count;
}

void AddFastScored(Stages* stages) { stages->fast_scored = &FastScored; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddFastScored)
}  // namespace glint::cpu
#endif
