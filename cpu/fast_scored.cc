// FAST corners of any score that is an integer, with a longest arc, suppression in squares of any size, and optionally
// only the best of each cell.
//
// Rows of scores complete one by one, as in fast_suppressed.cc; scores are 16 bits. Without suppression and with cells,
// nothing is listed: each column of a row of cells keeps the best of its scores, and a cell's best is the best of its
// columns.
//
// The image may be memory that others write to: nothing relies on reading the same pixel twice. What is listed comes
// from the rows of scores alone.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fast_scored.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cstring>

#include "cpu/fast-inl.h"
#include "cpu/fast_ring-inl.h"
#include "cpu/fast_score-inl.h"
#include "cpu/simd-inl.h"
#include "cpu/stages.h"
#include "features/arc.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr int kMostRows = 2 * kMaxSuppressionRadius + 1;

// Scores of a row, 0 where there is no corner, and the vectors of them that are not all zero.
struct ScoredRow {
  int16_t* scores;
  uint16_t* active;
  size_t active_count;
};

// Rows of scores that follow one another, and what is reused from row to row.
class ScoredRows {
 public:
  ScoredRows(const ScoredJob& job, const Span& span, uint8_t* scratch)
      : job_(job),
        span_(span),
        k_(job.fast),
        // Scores + 1 are what FAST's own score is made of; sums of differences are never 0.
        bias_(job.score == Score::kMaxThreshold ? 1 : 0),
        side_(2 * job.radius + 1),
        pitch_(FastScratchPitch(job.fast.image.width)),
        room_(FastListElements(job.fast.image.width)),
        origin_(static_cast<ptrdiff_t>(kFastScratchMargin) - (span.first & (kFastScratchMargin - 1))),
        keys_(reinterpret_cast<uint64_t*>(scratch)),
        bytes_(scratch + pitch_ * sizeof(uint64_t)),
        best_(reinterpret_cast<int16_t*>(bytes_ + pitch_) + origin_),
        best_row_(best_ + pitch_),
        lists_(reinterpret_cast<uint16_t*>(best_row_ - origin_ + static_cast<size_t>(kMostRows + 1) * pitch_)),
        candidates_(span, lists_, lists_ + room_) {
    int16_t* const scores = best_row_ - origin_ + pitch_;
    std::memset(scores, 0, static_cast<size_t>(side_) * pitch_ * sizeof(int16_t));
    std::memset(best_ - origin_, 0, pitch_ * sizeof(int16_t));
    for (int i = 0; i < side_; ++i) {
      const size_t place = static_cast<size_t>(i);
      rows_[i] = {scores + place * pitch_ + origin_, lists_ + (3 + place) * room_, 0};
    }
  }

  // Makes row y the last, with scores if `scored`, else without.
  void Next(int y, bool scored) {
    const D16 d;
    std::rotate(rows_, rows_ + 1, rows_ + side_);
    ScoredRow& row = rows_[side_ - 1];
    for (size_t i = 0; i < row.active_count; ++i) {
      hn::StoreU(hn::Zero(d), d, row.scores + row.active[i]);
      hn::StoreU(hn::Zero(d), d, row.scores + row.active[i] + kLanes16);
    }
    row.active_count = 0;
    if (!scored) return;
    if (job_.fast.arc == 9) {
      ScoreRow<true>(y, &row);
    } else {
      ScoreRow<false>(y, &row);
    }
  }

  // Appends the corners of the middle row, y, whose score is above all others' around them. Returns their number.
  size_t Suppress(int y, uint32_t* HWY_RESTRICT where, float* HWY_RESTRICT response) const {
    const ScoredRow& row = rows_[job_.radius];
    size_t count = 0;
    for (size_t i = 0; i < row.active_count; ++i) {
      const ptrdiff_t x = row.active[i];
      uint64_t bits = Maxima(x) | Maxima(x + kLanes16) << kLanes16;
      if (bits == 0) continue;
      bits &= span_.NewLanes(x, job_.fast.region.x0, job_.fast.region.x1);
      const uint32_t origin = PackPoint(static_cast<int>(x), y);
      for (; bits != 0; bits &= bits - 1) {
        const size_t bit = hwy::Num0BitsBelowLS1Bit_Nonzero64(bits);
        where[count] = origin + static_cast<uint32_t>(bit);
        response[count] = static_cast<float>(row.scores[x + static_cast<ptrdiff_t>(bit)] - bias_);
        ++count;
      }
    }
    return count;
  }

  // Lets the only row's scores take part in the row of cells that begins at cell_y. Of equals the first row's stays.
  void Compete(int y, int cell_y) {
    const D16 d;
    const ScoredRow& row = rows_[0];
    const V16 at = hn::Set(d, static_cast<int16_t>(y - cell_y));
    for (size_t i = 0; i < row.active_count; ++i) {
      for (ptrdiff_t x = row.active[i]; x < row.active[i] + 2 * kLanes16; x += kLanes16) {
        const V16 score = hn::LoadU(d, row.scores + x);
        const V16 best = hn::LoadU(d, best_ + x);
        const auto better = hn::Gt(score, best);
        hn::StoreU(hn::IfThenElse(better, score, best), d, best_ + x);
        hn::StoreU(hn::IfThenElse(better, at, hn::LoadU(d, best_row_ + x)), d, best_row_ + x);
      }
    }
  }

  // Appends the best of each cell of the row of cells, in raster order, and empties them. Returns their number.
  size_t Settle(int cell_y, uint32_t* where, float* response) {
    const Rect r = job_.fast.region;
    size_t count = 0;
    for (int x = r.x0; x < r.x1;) {
      const int end = std::min(x - x % job_.cell_width + job_.cell_width, r.x1);
      int best = x;
      for (; x < end; ++x) {
        const bool better = best_[x] > best_[best] || (best_[x] == best_[best] && best_row_[x] < best_row_[best]);
        best = better ? x : best;
      }
      if (best_[best] == 0) continue;
      keys_[count++] = static_cast<uint64_t>(PackPoint(best, cell_y + best_row_[best])) << 16 |
                       static_cast<uint64_t>(best_[best] - bias_);
    }
    std::memset(best_ + r.x0, 0, static_cast<size_t>(r.x1 - r.x0) * sizeof(int16_t));
    std::sort(keys_, keys_ + count);
    for (size_t i = 0; i < count; ++i) {
      where[i] = static_cast<uint32_t>(keys_[i] >> 16);
      response[i] = static_cast<float>(keys_[i] & 0xffff);
    }
    return count;
  }

 private:
  template <bool kNine>
  HWY_INLINE void ScoreRow(int y, ScoredRow* row) {
    const D8 d;
    const Window w(job_.fast.image, y);
    const FastConstants k = k_;
    size_t count;
    const uint16_t* HWY_RESTRICT list = candidates_.InRow(w, y, k, &count);
    const V8 valid = hn::VecFromMask(d, hn::FirstN(d, static_cast<size_t>(span_.end - span_.last)));
    uint8_t* HWY_RESTRICT bytes = bytes_;
    ScoreCandidates<kNine>(w, k, list, count, lists_ + 2 * room_, [&](size_t i, V8 excess, bool again) HWY_ATTR {
      uint8_t* const of_vector = bytes + static_cast<ptrdiff_t>(i) * kFastLanes;
      V8 score = hn::And(hn::IfThenElseZero(Exceeds(excess, k), excess), valid);
      if (again) score = hn::Max(score, hn::Load(d, of_vector));
      hn::Store(score, d, of_vector);
    });
    for (size_t i = 0; i < count; ++i) {
      uint8_t* const of_vector = bytes + static_cast<ptrdiff_t>(i) * kFastLanes;
      V8 score = hn::Load(d, of_vector);
      if (IsZero(score)) continue;
      if (job_.max_arc < kFastRing) {
        score = WithoutLongRuns(w, list[i], score, k, job_.max_arc);
        if (IsZero(score)) continue;
        hn::Store(score, d, of_vector);
      }
      row->active[row->active_count++] = list[i];
      for (ptrdiff_t half = 0; half < kFastLanes; half += kLanes16) {
        hn::StoreU(Scores(w, list[i] + half, Widened(of_vector + half)), D16(), row->scores + list[i] + half);
      }
    }
  }

  // The scores of a vector of centres; `corners` are their FAST scores + 1, or 0.
  HWY_INLINE V16 Scores(const Window& w, ptrdiff_t x, V16 corners) const {
    const D16 d;
    if (job_.score == Score::kMaxThreshold) return corners;
    const auto is_corner = hn::Gt(corners, hn::Zero(d));
    if (hn::AllFalse(d, is_corner)) return corners;
    return hn::IfThenElseZero(
        is_corner, job_.score == Score::kSadCircle ? SumOfCircle(w, x) : SumOfRun(w, x, job_.fast.threshold));
  }

  // Lanes of the middle row at x that are above all others around them, as bits.
  HWY_INLINE uint64_t Maxima(ptrdiff_t x) const {
    const D16 d;
    const int radius = job_.radius;
    const V16 centre = hn::LoadU(d, rows_[radius].scores + x);
    if (hn::AllFalse(d, hn::Gt(centre, hn::Zero(d)))) return 0;
    V16 most = hn::Zero(d);
    for (int v = 0; v < side_; ++v) {
      const int16_t* const scores = rows_[v].scores + x;
      for (int u = 1; u <= radius; ++u) {
        most = hn::Max(most, hn::Max(hn::LoadU(d, scores - u), hn::LoadU(d, scores + u)));
      }
      if (v != radius) most = hn::Max(most, hn::LoadU(d, scores));
    }
    uint64_t bits = 0;
    hn::StoreMaskBits(d, hn::Gt(centre, most), reinterpret_cast<uint8_t*>(&bits));
    return bits;
  }

  const ScoredJob& job_;
  const Span& span_;
  const FastConstants k_;
  const int bias_;
  const int side_;
  const size_t pitch_;
  const size_t room_;
  const ptrdiff_t origin_;  // of column 0 in a row of scores: the span's first vector is aligned
  uint64_t* const keys_;
  uint8_t* const bytes_;     // FAST scores + 1 of the candidates, vector after vector
  int16_t* const best_;      // of each column of a row of cells
  int16_t* const best_row_;  // where that is, from the cells' first row
  uint16_t* const lists_;
  Candidates candidates_;
  ScoredRow rows_[kMostRows];  // the last is the newest
};

size_t FastScored(const ScoredJob& job, uint8_t* scratch, uint32_t* where, float* response) {
  const Rect r = job.fast.region;
  if (r.empty()) return 0;
  // Neighbours of the region's corners take part in suppression.
  const int radius = job.radius;
  const ImageView& image = job.fast.image;
  const Span span(std::max(r.x0 - radius, kFastRadius), std::min(r.x1 + radius, image.width - kFastRadius));
  ScoredRows rows(job, span, scratch);
  size_t count = 0;
  if (job.cell_width > 0) {
    for (int y = r.y0; y < r.y1; ++y) {
      const int cell_y = y - y % job.cell_height;
      rows.Next(y, true);
      rows.Compete(y, cell_y);
      if (y + 1 == r.y1 || y + 1 == cell_y + job.cell_height) {
        count += rows.Settle(cell_y, where + count, response + count);
      }
    }
    return count;
  }
  for (int y = r.y0 - radius; y < r.y1 + radius; ++y) {
    rows.Next(y, y >= kFastRadius && y < image.height - kFastRadius);
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
