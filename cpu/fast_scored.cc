// FAST corners of any score that is an integer, with a longest arc, suppression in squares of any size, and optionally
// only the best of each cell.
//
// Rows of scores complete one by one, as in fast_suppressed.cc; scores are 16 bits. Without suppression and with cells,
// nothing is listed but the best of each cell.
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
#include "cpu/fast_cells-inl.h"
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
        bytes_(scratch + pitch_ * sizeof(uint64_t)),
        rows_of_cells_(reinterpret_cast<int16_t*>(bytes_ + 2 * pitch_)),
        lists_(reinterpret_cast<uint16_t*>(rows_of_cells_ + static_cast<size_t>(kMostRows + 2) * pitch_)),
        candidates_(span, lists_, lists_ + room_),
        cells_(job.cell_width, rows_of_cells_ + origin_, rows_of_cells_ + pitch_ + origin_,
               reinterpret_cast<uint64_t*>(scratch)) {
    int16_t* const scores = rows_of_cells_ + 2 * pitch_;
    std::memset(rows_of_cells_, 0, pitch_ * sizeof(int16_t));
    std::memset(scores, 0, static_cast<size_t>(side_) * pitch_ * sizeof(int16_t));
    for (int i = 0; i < side_; ++i) {
      const size_t place = static_cast<size_t>(i);
      rows_[i] = {scores + place * pitch_ + origin_, lists_ + (4 + place) * room_, 0};
    }
  }

  // Makes row y the last, with scores if `scored`, else without.
  void Next(int y, bool scored) {
    const D16 d;
    std::rotate(rows_, rows_ + 1, rows_ + side_);
    ScoredRow& row = rows_[side_ - 1];
    int16_t* const scores = row.scores;
    const uint16_t* HWY_RESTRICT active = row.active;
    const size_t active_count = row.active_count;
    for (size_t i = 0; i < active_count; ++i) {
      hn::StoreU(hn::Zero(d), d, scores + active[i]);
      hn::StoreU(hn::Zero(d), d, scores + active[i] + kLanes16);
    }
    row.active_count = 0;
    if (!scored) return;
    switch (job_.fast.arc) {
      case 9:
        return ScoreRow<9>(y, &row);
      case 10:
        return ScoreRow<10>(y, &row);
      default:
        return ScoreRow<0>(y, &row);
    }
  }

  // Appends the corners of the middle row, y, whose score is above all others' around them. Returns their number.
  size_t Suppress(int y, uint32_t* where, float* response) const {
    return job_.radius == 1 ? SuppressWithin<1>(y, where, response) : SuppressWithin<0>(y, where, response);
  }

  // Lets the only row's scores take part in the row of cells that begins at cell_y.
  void Compete(int y, int cell_y) {
    cells_.Compete(rows_[0].scores, y - cell_y, rows_[0].active, rows_[0].active_count);
  }
  // Appends the best of each of these cells, and empties them. Returns their number.
  size_t Settle(int cell_y, uint32_t* where, float* response) {
    return cells_.Settle(job_.fast.region.x0, job_.fast.region.x1, cell_y, bias_, where, response);
  }

 private:
  template <int kArc>
  HWY_INLINE void ScoreRow(int y, ScoredRow* row) {
    const D8 d;
    const Window w(job_.fast.image, y);
    const FastConstants k = k_;
    const bool bounded = job_.max_arc < kFastRing;
    const size_t pitch = pitch_;
    size_t count;
    const uint16_t* HWY_RESTRICT list = candidates_.InRow(w, y, k, &count);
    const V8 valid = hn::VecFromMask(d, hn::FirstN(d, static_cast<size_t>(span_.end - span_.last)));
    uint8_t* HWY_RESTRICT bytes = bytes_;
    uint16_t* HWY_RESTRICT kept = lists_ + 2 * room_;
    ScoreCandidates<kArc>(w, k, list, count, kept, [&](size_t i, V8 excess, V8 flip, bool again) HWY_ATTR {
      uint8_t* const of_vector = bytes + static_cast<ptrdiff_t>(i) * kFastLanes;
      V8 score = hn::And(hn::IfThenElseZero(Exceeds(excess, k), excess), valid);
      if (again) {
        const V8 before = hn::Load(d, of_vector);
        flip = hn::IfThenElse(hn::Eq(before, hn::Zero(d)), flip, hn::Load(d, of_vector + pitch));
        score = hn::Max(score, before);
      }
      hn::Store(score, d, of_vector);
      if (bounded) hn::Store(flip, d, of_vector + pitch);
    });
    uint16_t* HWY_RESTRICT active = row->active;
    size_t active_count = 0;
    for (size_t i = 0; i < count; ++i) {
      kept[active_count] = static_cast<uint16_t>(i);
      active[active_count] = list[i];
      active_count += IsZero(hn::Load(d, bytes + i * static_cast<size_t>(kFastLanes))) ? 0 : 1;
    }
    row->active_count = active_count;
    if (bounded) DropLongRuns(w, kept, *row);
    const Score score = job_.score;
    for (size_t i = 0; i < active_count; ++i) {
      const uint8_t* const of_vector = bytes + static_cast<ptrdiff_t>(kept[i]) * kFastLanes;
      int16_t* const out = row->scores + active[i];
      if (score == Score::kSadCircle) {
        SumsOfCircle(w, active[i], hn::Load(d, of_vector), out);
        continue;
      }
      for (ptrdiff_t half = 0; half < kFastLanes; half += kLanes16) {
        V16 scores = Widened(of_vector + half);
        if (score == Score::kSadArc) scores = SumsOfRun(w, active[i] + half, scores);
        hn::StoreU(scores, D16(), out + half);
      }
    }
  }

  // Of the row's active vectors, the candidates `kept`, drops corners with a run of more than max_arc pixels.
  HWY_INLINE void DropLongRuns(const Window& w, const uint16_t* HWY_RESTRICT kept, const ScoredRow& row) {
    const D8 d;
    const FastConstants k = k_;
    const int max_arc = job_.max_arc;
    uint16_t* HWY_RESTRICT suspects = lists_ + 3 * room_;
    const auto scores_of = [&](size_t i) { return bytes_ + static_cast<ptrdiff_t>(kept[i]) * kFastLanes; };
    size_t count = 0;
    for (size_t i = 0; i < row.active_count; ++i) {
      const uint8_t* const scores = scores_of(i);
      const V8 flip = hn::Load(d, scores + pitch_);
      suspects[count] = static_cast<uint16_t>(i);
      count += MayHaveLongRuns(w, row.active[i], hn::Load(d, scores), flip, k, max_arc) ? 1 : 0;
    }
    for (size_t s = 0; s < count; ++s) {
      uint8_t* const scores = scores_of(suspects[s]);
      const V8 flip = hn::Load(d, scores + pitch_);
      hn::Store(WithoutLongRuns(w, row.active[suspects[s]], hn::Load(d, scores), flip, k, max_arc), d, scores);
    }
  }

  HWY_INLINE V16 SumsOfRun(const Window& w, ptrdiff_t x, V16 corners) const {
    const auto is_corner = hn::Gt(corners, hn::Zero(D16()));
    if (hn::AllFalse(D16(), is_corner)) return corners;
    return hn::IfThenElseZero(is_corner, SumOfRun(w, x, job_.fast.threshold));
  }

  // As Suppress(). kRadius is 0 where only the job has it.
  template <int kRadius>
  HWY_INLINE size_t SuppressWithin(int y, uint32_t* HWY_RESTRICT where, float* HWY_RESTRICT response) const {
    const int radius = kRadius > 0 ? kRadius : job_.radius;
    const ScoredRow row = rows_[radius];
    const Rect r = job_.fast.region;
    const int bias = bias_;
    size_t count = 0;
    for (size_t i = 0; i < row.active_count; ++i) {
      const ptrdiff_t x = row.active[i];
      uint64_t bits = Maxima(x, radius) | Maxima(x + kLanes16, radius) << kLanes16;
      // Lanes right of the region may be in the last vector but one as well.
      if (x < r.x0 || x + kFastLanes > r.x1 || x == span_.last) bits &= span_.NewLanes(x, r.x0, r.x1);
      const int16_t* const scores = row.scores + x;
      const uint32_t origin = PackPoint(static_cast<int>(x), y);
      count += ForBits(bits, [&](size_t place, int bit) HWY_ATTR {
        where[count + place] = origin + static_cast<uint32_t>(bit);
        response[count + place] = static_cast<float>(scores[bit] - bias);
      });
    }
    return count;
  }

  // Lanes of the middle row at x that are above all others around them, as bits.
  HWY_INLINE uint64_t Maxima(ptrdiff_t x, int radius) const {
    const D16 d;
    V16 most = hn::Zero(d);
    const auto rival = [&](const int16_t* scores) HWY_ATTR { most = hn::Max(most, hn::LoadU(d, scores)); };
#pragma GCC unroll 3
    for (int v = 0; v < 2 * radius + 1; ++v) {
      const int16_t* const scores = rows_[v].scores + x;
      for (int u = 1; u <= radius; ++u) {
        rival(scores - u);
        rival(scores + u);
      }
      if (v != radius) rival(scores);
    }
    uint64_t bits = 0;
    hn::StoreMaskBits(d, hn::Gt(hn::LoadU(d, rows_[radius].scores + x), most), reinterpret_cast<uint8_t*>(&bits));
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
  uint8_t* const bytes_;    // FAST scores + 1 of the candidates, vector after vector; after pitch_ bytes, their flips
  int16_t* const rows_of_cells_;
  uint16_t* const lists_;
  Candidates candidates_;
  RowOfCells cells_;
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
