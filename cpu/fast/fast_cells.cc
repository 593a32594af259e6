// The best FAST corner of each cell by the sum of differences over the whole ring, with a longest arc and suppression.
//
// Few pixels can still become the best of their cell, and a bound says which: means of bytes, rounded up, of the ring's
// differences are cheaper than FAST's test. What is above its cell's best so far is tested, and scored exactly. Corners
// of a cell are suppressed by those of it that are known: one that is not known is no better than the cell's best was
// when its row was scored, and so is whatever it would suppress. Next to other cells all corners count, which are few.
//
// The image may be memory that others write to: nothing relies on reading the same pixel twice.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fast/fast_cells.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cstring>
#include <vector>

#include "cpu/fast/arc_runs.h"
#include "cpu/fast/fast-inl.h"
#include "cpu/fast/fast_ring-inl.h"
#include "cpu/fast/fast_rows-inl.h"
#include "cpu/simd-inl.h"
#include "cpu/stages.h"
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

// A region of a level on its way to the best of its cells.
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
        most_(reinterpret_cast<uint16_t*>(where_ + kAlive * pitch_)),
        limits_(reinterpret_cast<uint8_t*>(most_ + kAlive * pitch_)) {}

  size_t Run(uint8_t* scratch, uint32_t* where, float* response) {
    const Rect r = job_.fast.region;
    const int radius = job_.radius;
    // Vectors that begin with a cell have lanes of fewer cells, where the cells' width allows it.
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
      Compete(done, oldest, oldest == newest, rows.Suppress(done, listed_, scores_));
      if (done + 1 < r.y1 && !IsFirstRow(done + 1)) continue;
      count += Settle(oldest, where + count, response + count);
      ++oldest;
    }
    return count;
  }

 private:
  static constexpr uint32_t kNone = 0xffffffff;
  // Rows of cells that have corners which are not yet suppressed, at most.
  static constexpr size_t kAlive = CellsJob::kAlive;

  int of_row(int y) const { return map_.of_row[static_cast<size_t>(y)]; }
  int of_column(int x) const { return map_.of_column[static_cast<size_t>(x)]; }
  bool IsFirstRow(int y) const { return y == job_.fast.region.y0 || of_row(y) != of_row(y - 1); }
  uint32_t* Where(int row) { return where_ + static_cast<size_t>(row) % kAlive * pitch_; }
  uint16_t* Most(int row) { return most_ + static_cast<size_t>(row) % kAlive * pitch_; }

  // Empties the cells of a row, map_'s row cell_y, and makes them those that have limits.
  void Start(int row, int cell_y) {
    const uint16_t* const floor = job_.floor + map_.across * static_cast<size_t>(cell_y);
    // No corner's sum is less: none of its arc's differences is within the threshold.
    const int least = job_.fast.arc * (job_.fast.threshold + 1) - 1;
    for (int c = first_; c <= last_; ++c) {
      Where(row)[c] = kNone;
      Most(row)[c] = static_cast<uint16_t>(std::max<int>(floor[c], least));
      SetLimit(c, Most(row)[c]);
    }
  }

  void SetLimit(int cell, int sum) {
    const int begin = map_.first_column[static_cast<size_t>(cell)];
    const int end = map_.first_column[static_cast<size_t>(cell) + 1];
    std::memset(limits_ + begin, sum / kFastRing, static_cast<size_t>(end - begin));
  }

  // Lets the listed corners of row y take part.
  void Compete(int y, int row, bool has_limits, size_t count) {
    uint16_t* const most = Most(row);
    for (size_t i = 0; i < count; ++i) {
      const int x = PointX(listed_[i]);
      const int cell = of_column(x);
      const int sum = static_cast<int>(scores_[i]);
      if (sum <= most[cell] || (job_.radius > 0 && !IsMaximum(x, y, sum))) continue;
      most[cell] = static_cast<uint16_t>(sum);
      Where(row)[cell] = listed_[i];
      if (has_limits) SetLimit(cell, sum);
    }
  }

  // Appends the best of each cell of a row, in raster order. Returns their number.
  size_t Settle(int row, uint32_t* where, float* response) {
    size_t count = 0;
    for (int c = first_; c <= last_; ++c) {
      keys_[count] = static_cast<uint64_t>(Where(row)[c]) << 16 | Most(row)[c];
      count += Where(row)[c] != kNone ? 1 : 0;
    }
    std::sort(keys_, keys_ + count);
    for (size_t i = 0; i < count; ++i) {
      where[i] = static_cast<uint32_t>(keys_[i] >> 16);
      response[i] = static_cast<float>(keys_[i] & 0xffff);
    }
    return count;
  }

  // Whether the columns within the radius are in the region and all of the same cell.
  bool ColumnsAreKnown(int x) const {
    const Rect r = job_.fast.region;
    const int radius = job_.radius;
    return x - radius >= r.x0 && x + radius < r.x1 && of_column(x - radius) == of_column(x + radius);
  }
  // Whether row v is in the region and of the same cells as y.
  bool RowIsKnown(int v, int y) const {
    return v >= job_.fast.region.y0 && v < job_.fast.region.y1 && of_row(v) == of_row(y);
  }

  // Whether no other corner within the radius has as great a sum. Of pixels of the same cell it is known already.
  bool IsMaximum(int x, int y, int sum) const {
    const int radius = job_.radius;
    const bool columns_are_known = ColumnsAreKnown(x);
    // The corner's own row, then the rows next to it, and so on: a greater one is most often near.
    for (int i = 1; i <= 2 * radius + 1; ++i) {
      const int v = y + (i % 2 == 0 ? i / 2 : -(i / 2));
      if (v < kFastRadius || v >= job_.fast.image.height - kFastRadius) continue;
      if (columns_are_known && RowIsKnown(v, y)) continue;
      if (HasRival(x, y, v, sum)) return false;
    }
    return true;
  }

  // Whether row v has one.
  bool HasRival(int x, int y, int v, int sum) const {
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
      for (uint64_t rivals = bits[0] & BitRange(u - from, end - from); rivals != 0; rivals &= rivals - 1) {
        const int rival = from + static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(rivals));
        if ((rival != x || v != y) && IsCorner(w, rival)) return true;
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
  uint32_t* const where_;  // of the best of each cell, kNone if there is none yet
  uint16_t* const most_;   // what the next one's sum must exceed
  uint8_t* const limits_;  // of each column's cell of the newest row of cells, as ScoredRows wants them
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
