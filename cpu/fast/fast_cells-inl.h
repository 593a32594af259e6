// The best of each cell of a row of cells: each column keeps the best of its scores, and a cell's best is the best of
// its columns. Included once per target, hence the unusual guard.
#if defined(GLINT_CPU_FAST_FAST_CELLS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_FAST_FAST_CELLS_INL_H_
#undef GLINT_CPU_FAST_FAST_CELLS_INL_H_
#else
#define GLINT_CPU_FAST_FAST_CELLS_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/fast/fast_ring-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

class RowOfCells {
 public:
  // Element x of `best` and `row` belongs to column x; vectors that begin inside the image are read and written whole.
  // `best` is zero. `keys` has room for a cell in each column.
  RowOfCells(int cell_width, int16_t* best, int16_t* row, uint64_t* keys)
      : cell_width_(cell_width), best_(best), row_(row), keys_(keys) {}

  // Updates the maxima with the scores of the cells' row number `row`: two vectors from each column of `active` on; all
  // other scores are 0. Call row after row: of equal scores the first row's stays.
  void UpdateCellMaxima(const int16_t* HWY_RESTRICT scores, int row, const uint16_t* active, size_t active_count) {
    const D16 d;
    const V16 at = hn::Set(d, static_cast<int16_t>(row));
    for (size_t i = 0; i < active_count; ++i) {
      for (ptrdiff_t x = active[i]; x < active[i] + 2 * kLanes16; x += kLanes16) {
        const V16 score = hn::LoadU(d, scores + x);
        const V16 best = hn::LoadU(d, best_ + x);
        const auto better = hn::Gt(score, best);
        hn::StoreU(hn::IfThenElse(better, score, best), d, best_ + x);
        hn::StoreU(hn::IfThenElse(better, at, hn::LoadU(d, row_ + x)), d, row_ + x);
      }
    }
  }

  // Appends the best corner of each cell in columns [x0, x1), in raster order, with scores reduced by `bias`, and
  // clears the cells. Their first row is cell_y. Returns the number of corners.
  size_t AppendCellMaxima(int x0, int x1, int cell_y, int bias, uint32_t* where, float* response) {
    size_t count = 0;
    for (int x = x0; x < x1;) {
      const int end = std::min(x - x % cell_width_ + cell_width_, x1);
      const int best = BestColumn(x, end);
      x = end;
      if (best_[best] == 0) continue;
      keys_[count++] =
          static_cast<uint64_t>(PackPoint(best, cell_y + row_[best])) << 16 | static_cast<uint64_t>(best_[best] - bias);
    }
    std::memset(best_ + x0, 0, static_cast<size_t>(x1 - x0) * sizeof(int16_t));
    std::sort(keys_, keys_ + count);
    for (size_t i = 0; i < count; ++i) {
      where[i] = static_cast<uint32_t>(keys_[i] >> 16);
      response[i] = static_cast<float>(keys_[i] & 0xffff);
    }
    return count;
  }

 private:
  // Of the columns [x0, x1): the one with the greatest score, of those the first in raster order. If all are 0, any.
  HWY_INLINE int BestColumn(int x0, int x1) const {
    const D16 d;
    constexpr int kStep = static_cast<int>(kLanes16);
    const auto inside = [&](int x) HWY_ATTR { return hn::FirstN(d, static_cast<size_t>(std::min(x1 - x, kStep))); };
    V16 most = hn::Zero(d);
    for (int x = x0; x < x1; x += kStep) {
      most = hn::Max(most, hn::IfThenElseZero(inside(x), hn::LoadU(d, best_ + x)));
    }
    most = hn::MaxOfLanes(d, most);
    if (hn::GetLane(most) == 0) return x0;
    const auto is_best = [&](int x) HWY_ATTR { return hn::And(inside(x), hn::Eq(hn::LoadU(d, best_ + x), most)); };
    V16 first_row = hn::Set(d, std::numeric_limits<int16_t>::max());
    for (int x = x0; x < x1; x += kStep) {
      first_row = hn::Min(first_row, hn::IfThenElse(is_best(x), hn::LoadU(d, row_ + x), first_row));
    }
    first_row = hn::MinOfLanes(d, first_row);
    for (int x = x0; x < x1; x += kStep) {
      const intptr_t lane = hn::FindFirstTrue(d, hn::And(is_best(x), hn::Eq(hn::LoadU(d, row_ + x), first_row)));
      if (lane >= 0) return x + static_cast<int>(lane);
    }
    return x0;
  }

  const int cell_width_;
  int16_t* const best_;
  int16_t* const row_;
  uint64_t* const keys_;
};

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
