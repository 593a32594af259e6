// The best FAST corner of each cell by the sum of differences over the whole ring, with a longest arc and suppression.
//
// Branch and bound. The mean of the ring's differences, in bytes and rounded up, bounds a pixel's sum from above and
// costs less than the segment test. Only pixels whose bound exceeds the maximum of their cell so far are tested and
// scored exactly. Within a cell, suppression compares only the corners that were scored: a corner that was not scored
// is no greater than the cell's maximum at that time, and neither is anything that it would suppress. Across the border
// of a cell all neighbours are tested; such corners are few.
//
// Other processes may write to the image (shared memory): no result depends on reading a pixel twice.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fast/fast_cells.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/fast/arc_runs.h"
#include "cpu/fast/fast-inl.h"
#include "cpu/fast/fast_ring-inl.h"
#include "cpu/fast/fast_rows-inl.h"
#include "features/arc.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// Sums over the whole rings of kSums neighbouring pixels, from column x on.
using Sums = hn::CappedTag<int16_t, 8>;
constexpr int kSums = static_cast<int>(HWY_MIN(HWY_LANES(int16_t), 8));
HWY_INLINE hn::Vec<Sums> SumsAt(const Window& w, int x) {
  const Sums d;
  const auto pixels = [&](int i) HWY_ATTR {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<uint8_t, Sums>(), RingRow(w, i) + x));
  };
  const auto centre = hn::PromoteTo(d, hn::LoadU(hn::Rebind<uint8_t, Sums>(), w.row[3] + x));
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
#pragma GCC unroll 8
  for (int i = 0; i < kFastRing; i += 2) {
    even = hn::Add(even, hn::Abs(hn::Sub(pixels(i), centre)));
    odd = hn::Add(odd, hn::Abs(hn::Sub(pixels(i + 1), centre)));
  }
  return hn::Add(even, odd);
}

// Finds the best corner of each cell of a region.
class BestOfCells {
 public:
  BestOfCells(const CellsJob& job, uint8_t* scratch)
      : job_(job),
        map_(*job.cells),
        first_(map_.of_column[static_cast<size_t>(job.fast.region.x0)]),
        last_(map_.of_column[static_cast<size_t>(job.fast.region.x1 - 1)]),
        pitch_(FastScratchPitch(job.fast.image.width)),
        keys_(reinterpret_cast<uint64_t*>(scratch + ScoredScratchBytes(job.fast.image.width))),
        listed_(reinterpret_cast<uint32_t*>(keys_ + pitch_)),
        scores_(reinterpret_cast<float*>(listed_ + pitch_)),
        where_(reinterpret_cast<uint32_t*>(scores_ + pitch_)),
        max_sum_(reinterpret_cast<uint16_t*>(where_ + kOpenRows * pitch_)),
        limits_(reinterpret_cast<uint8_t*>(max_sum_ + kOpenRows * pitch_)) {}

  size_t Run(uint8_t* scratch, uint32_t* where, float* response) {
    const Rect r = job_.fast.region;
    const int radius = job_.radius;
    // Vectors are aligned to multiples of the vector's width: with such cells a vector has lanes of one cell.
    const Span span(r.x0, r.x1, (r.x0 / kFastLanes + 1) * kFastLanes);
    const ScoredJob scored = {job_.fast, Score::kSadCircle, job_.max_arc, radius};
    ScoredRows<true> rows(scored, span, scratch);
    size_t count = 0;
    int newest = -1;  // row of cells, counted from the region's first
    int oldest = 0;
    for (int y = r.y0; y < r.y1 + radius; ++y) {
      if (y < r.y1 && IsFirstRow(y)) Start(++newest, of_row(y));
      rows.Next(limits_, y, y < r.y1);
      const int done = y - radius;
      if (done < r.y0) continue;
      UpdateCellMaxima(done, oldest, oldest == newest, rows.Suppress(done, listed_, scores_));
      if (done + 1 < r.y1 && !IsFirstRow(done + 1)) continue;
      count += AppendCellMaxima(oldest, where + count, response + count);
      ++oldest;
    }
    return count;
  }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  // The most rows of cells that wait for suppression at the same time.
  static constexpr size_t kOpenRows = CellsJob::kOpenRows;

  int of_row(int y) const { return map_.of_row[static_cast<size_t>(y)]; }
  int of_column(int x) const { return map_.of_column[static_cast<size_t>(x)]; }
  bool IsFirstRow(int y) const { return y == job_.fast.region.y0 || of_row(y) != of_row(y - 1); }
  uint32_t* Where(int row) { return where_ + static_cast<size_t>(row) % kOpenRows * pitch_; }
  uint16_t* MaxSum(int row) { return max_sum_ + static_cast<size_t>(row) % kOpenRows * pitch_; }

  // Clears the cells of a row (row cell_y of map_) and sets the limits of their columns.
  void Start(int row, int cell_y) {
    const uint16_t* const floor = job_.floor + map_.across * static_cast<size_t>(cell_y);
    // A lower bound of every corner's sum: each difference on its arc exceeds the threshold.
    const int least = job_.fast.arc * (job_.fast.threshold + 1) - 1;
    for (int c = first_; c <= last_; ++c) {
      Where(row)[c] = kNone;
      MaxSum(row)[c] = static_cast<uint16_t>(std::max<int>(floor[c], least));
      SetLimit(c, MaxSum(row)[c]);
    }
  }

  void SetLimit(int cell, int sum) {
    const int begin = map_.first_column[static_cast<size_t>(cell)];
    const int end = map_.first_column[static_cast<size_t>(cell) + 1];
    std::memset(limits_ + begin, sum / kFastRing, static_cast<size_t>(end - begin));
  }

  // Updates the maxima of the cells with the listed corners of row y.
  void UpdateCellMaxima(int y, int row, bool has_limits, size_t count) {
    uint16_t* const max_sum = MaxSum(row);
    for (size_t i = 0; i < count; ++i) {
      const int x = PointX(listed_[i]);
      const int cell = of_column(x);
      const int sum = static_cast<int>(scores_[i]);
      if (sum <= max_sum[cell] || (job_.radius > 0 && !IsMaximum(x, y, sum))) continue;
      max_sum[cell] = static_cast<uint16_t>(sum);
      Where(row)[cell] = listed_[i];
      if (has_limits) SetLimit(cell, sum);
    }
  }

  // Appends the best of each cell of a row, in raster order. Returns their number.
  size_t AppendCellMaxima(int row, uint32_t* where, float* response) {
    size_t count = 0;
    for (int c = first_; c <= last_; ++c) {
      keys_[count] = static_cast<uint64_t>(Where(row)[c]) << 16 | MaxSum(row)[c];
      count += Where(row)[c] != kNone ? 1 : 0;
    }
    std::sort(keys_, keys_ + count);
    for (size_t i = 0; i < count; ++i) {
      where[i] = static_cast<uint32_t>(keys_[i] >> 16);
      response[i] = static_cast<float>(keys_[i] & 0xffff);
    }
    return count;
  }

  // Whether all columns within the radius are in the region and in one cell: then suppression needs no other corners.
  bool ColumnsAreKnown(int x) const {
    const Rect r = job_.fast.region;
    const int radius = job_.radius;
    return x - radius >= r.x0 && x + radius < r.x1 && of_column(x - radius) == of_column(x + radius);
  }
  // Whether row v is in the region and of the same cells as y.
  bool RowIsKnown(int v, int y) const {
    return v >= job_.fast.region.y0 && v < job_.fast.region.y1 && of_row(v) == of_row(y);
  }

  // Whether no other corner within the radius has as great a sum. Neighbours in the same cell were compared already.
  bool IsMaximum(int x, int y, int sum) const {
    const int radius = job_.radius;
    const bool columns_are_known = ColumnsAreKnown(x);
    // From the corner's own row outwards: a greater corner is most often near.
    for (int i = 1; i <= 2 * radius + 1; ++i) {
      const int v = y + (i % 2 == 0 ? i / 2 : -(i / 2));
      if (v < kFastRadius || v >= job_.fast.image.height - kFastRadius) continue;
      if (columns_are_known && RowIsKnown(v, y)) continue;
      if (HasGreaterCorner(x, y, v, sum)) return false;
    }
    return true;
  }

  // Whether row v has a corner within the radius whose sum is at least `sum`.
  bool HasGreaterCorner(int x, int y, int v, int sum) const {
    const Sums d;
    const ImageView& image = job_.fast.image;
    const Window w(image, v);
    const int last = image.width - kFastRadius - 1;
    const int end = std::min(x + job_.radius, last) + 1;
    for (int u = std::max(x - job_.radius, kFastRadius); u < end; u += kSums) {
      // Not past the end of a row that is long enough.
      const int from = std::max(std::min(u, last + 1 - kSums), kFastRadius);
      uint8_t bits[8] = {};
      hn::StoreMaskBits(d, hn::Gt(SumsAt(w, from), hn::Set(d, static_cast<int16_t>(sum - 1))), bits);
      for (uint64_t greater = bits[0] & BitRange(u - from, end - from); greater != 0; greater &= greater - 1) {
        const int other = from + static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(greater));
        if ((other != x || v != y) && IsCorner(w, other)) return true;
      }
    }
    return false;
  }

  bool IsCorner(const Window& w, int x) const {
    const int centre = w.row[3][x];
    uint32_t brighter = 0;
    uint32_t darker = 0;
#pragma GCC unroll 16
    for (int i = 0; i < kFastRing; ++i) {
      const int pixel = RingRow(w, i)[x];
      brighter |= static_cast<uint32_t>(pixel > centre + job_.fast.threshold) << i;
      darker |= static_cast<uint32_t>(pixel < centre - job_.fast.threshold) << i;
    }
    const auto has = [&](int length) { return (Runs(brighter, length) | Runs(darker, length)) != 0; };
    return has(job_.fast.arc) && (job_.max_arc == kFastRing || !has(job_.max_arc + 1));
  }

  const CellsJob& job_;
  const CellMap& map_;
  const int first_;  // cells of a row
  const int last_;
  const size_t pitch_;
  uint64_t* const keys_;
  uint32_t* const listed_;  // a row's corners
  float* const scores_;
  uint32_t* const where_;    // of the best corner of each cell, kNone without one
  uint16_t* const max_sum_;  // of each cell: a better corner's sum must exceed it
  uint8_t* const limits_;    // of each column's cell of the newest row of cells, as ScoredRows wants them
};

size_t FastCells(const CellsJob& job, uint8_t* scratch, uint32_t* where, float* response) {
  if (job.fast.region.empty()) return 0;
  return BestOfCells(job, scratch).Run(scratch, where, response);
}

void AddFastCells(Stages* stages) { stages->fast_cells = &FastCells; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddFastCells)
}  // namespace glint::cpu
#endif
