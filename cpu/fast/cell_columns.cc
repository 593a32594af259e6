#include "cpu/fast/cell_columns.h"

#include <algorithm>

#include "features/limits.h"

namespace glint::cpu {
namespace {

constexpr int kMaxCells = kMaxImageSide / kQuadtreeCell;

}  // namespace

void CellColumns::Prepare(int level_width) {
  if (width_ == level_width) return;
  width_ = level_width;
  axis_ = DivideQuadtreeAxis(level_width);
  const size_t room = static_cast<size_t>(level_width + kReadMargin);
  not_first_.assign(room, 255);
  not_last_.assign(room, 255);
  cell_.assign(room, 0);
  if (axis_.cells == 0) return;
  for (int x = kQuadtreeEdge; x < level_width - kQuadtreeEdge; ++x) {
    const int at = x - kQuadtreeEdge;
    const size_t column = static_cast<size_t>(x);
    cell_[column] = static_cast<uint16_t>(at / axis_.cell);
    if (at % axis_.cell == 0) not_first_[column] = 0;
    if (at % axis_.cell == axis_.cell - 1) not_last_[column] = 0;
  }
}

size_t CellColumns::MaxCorners(int cell_height) const {
  return static_cast<size_t>(axis_.cells) * MaxSuppressedCorners({0, 0, axis_.cell, cell_height});
}

size_t CellColumns::FindCorners(const QuadtreeStages& stages, const ImageView& image, Rect region, int ini_threshold,
                                int min_threshold, uint8_t* scratch, uint32_t* where, uint8_t* score) const {
  constexpr int kArc = 9;
  CellFastJob job = {{image, region, ini_threshold, kArc}, not_first_.data(), not_last_.data()};
  size_t count = stages.fast_in_cells(job, scratch, where, score);
  if (min_threshold == ini_threshold) return count;
  bool has_corner[kMaxCells] = {};
  for (size_t i = 0; i < count; ++i) has_corner[cell_[static_cast<size_t>(PointX(where[i]))]] = true;
  job.fast.threshold = min_threshold;
  // Neighbouring cells without a corner are searched together.
  for (int cell = 0; cell < axis_.cells; ++cell) {
    if (has_corner[cell]) continue;
    const int first = cell;
    while (cell < axis_.cells && !has_corner[cell]) ++cell;
    job.fast.region.x0 = region.x0 + first * axis_.cell;
    job.fast.region.x1 = std::min(region.x0 + cell * axis_.cell, region.x1);
    count += stages.fast_in_cells(job, scratch, where + count, score + count);
  }
  return count;
}

}  // namespace glint::cpu
