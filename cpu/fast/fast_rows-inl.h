// Rows of FAST scores and their non-maximum suppression in squares of any radius. Included once per target, hence the
// unusual guard.
#if defined(GLINT_CPU_FAST_FAST_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_FAST_FAST_ROWS_INL_H_
#undef GLINT_CPU_FAST_FAST_ROWS_INL_H_
#else
#define GLINT_CPU_FAST_FAST_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/fast/fast-inl.h"
#include "cpu/fast/fast_ring-inl.h"
#include "cpu/fast/fast_score-inl.h"
#include "features/arc.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr int kMostRows = 2 * kMaxSuppressionRadius + 1;

// Scores of a row, 0 where there is no corner, and the vectors of them that are not all zero.
struct ScoredRow {
  int16_t* scores;
  uint16_t* active;
  size_t active_count;
};

// A sliding window of rows of scores. If kLimited, only corners are scored whose sum of differences can exceed the
// limit of their column.
template <bool kLimited>
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
        bytes_(scratch),
        lists_(reinterpret_cast<uint16_t*>(bytes_ + pitch_ * (3 + kMostRows * sizeof(int16_t)))),
        candidates_(span, lists_, lists_ + room_) {
    int16_t* const scores = reinterpret_cast<int16_t*>(bytes_ + 3 * pitch_);
    std::memset(scores, 0, static_cast<size_t>(side_) * pitch_ * sizeof(int16_t));
    for (int i = 0; i < side_; ++i) {
      const size_t place = static_cast<size_t>(i);
      rows_[i] = {scores + place * pitch_ + origin_, lists_ + (4 + place) * room_, 0};
    }
  }

  // Makes row y the last, with scores if `scored`, else without. limits[x]: column x's limit, as the mean difference of
  // a ring; vectors that begin inside the span are read whole.
  void Next(const uint8_t* limits, int y, bool scored) {
    const D16 d;
    limits_ = limits;
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

  // Appends the corners of the middle row, y, whose score exceeds all others within the radius. Returns their number.
  size_t Suppress(int y, uint32_t* where, float* response) const {
    return job_.radius == 1 ? SuppressWithin<1>(y, where, response) : SuppressWithin<0>(y, where, response);
  }

  const ScoredRow& newest() const { return rows_[side_ - 1]; }
  // Of column 0 in a row of scores: the span's first vector is aligned.
  ptrdiff_t origin() const { return origin_; }
  // scores = responses + bias.
  int bias() const { return bias_; }

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
    if constexpr (kLimited) list = AboveLimits(w, list, &count);
    const uint8_t* HWY_RESTRICT above = bytes_ + 2 * pitch;
    ScoreCandidates<kArc>(w, k, list, count, kept, [&](size_t i, V8 excess, V8 flip, bool again) HWY_ATTR {
      uint8_t* const of_vector = bytes + static_cast<ptrdiff_t>(i) * kFastLanes;
      V8 score = hn::And(hn::IfThenElseZero(Exceeds(excess, k), excess), valid);
      if constexpr (kLimited) {
        const V8 over = hn::Load(d, above + static_cast<ptrdiff_t>(i) * kFastLanes);
        score = hn::IfThenZeroElse(hn::Eq(over, hn::Zero(d)), score);
      }
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

  // The vectors of `list` that have lanes above the limits. The excesses are stored behind the flips.
  HWY_INLINE const uint16_t* AboveLimits(const Window& window, const uint16_t* HWY_RESTRICT list, size_t* count) {
    const D8 d;
    const Window w = window;
    const uint8_t* HWY_RESTRICT limits = limits_;
    uint8_t* HWY_RESTRICT above = bytes_ + 2 * pitch_;
    uint16_t* HWY_RESTRICT some = lists_ + static_cast<size_t>(4 + kMostRows) * room_;
    const size_t listed = *count;
    size_t left = 0;
    for (size_t i = 0; i < listed; ++i) {
      const ptrdiff_t x = list[i];
      const V8 over = hn::SaturatedSub(MeanDifference(w, x), hn::LoadU(d, limits + x));
      hn::Store(over, d, above + static_cast<ptrdiff_t>(left) * kFastLanes);
      some[left] = static_cast<uint16_t>(x);
      left += IsZero(over) ? 0 : 1;
    }
    *count = left;
    return some;
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

  // A bit for each lane of the middle row at x whose score exceeds all others within the radius.
  HWY_INLINE uint64_t Maxima(ptrdiff_t x, int radius) const {
    const D16 d;
    V16 most = hn::Zero(d);
    const auto take = [&](const int16_t* scores) HWY_ATTR { most = hn::Max(most, hn::LoadU(d, scores)); };
#pragma GCC unroll 3
    for (int v = 0; v < 2 * radius + 1; ++v) {
      const int16_t* const scores = rows_[v].scores + x;
      for (int u = 1; u <= radius; ++u) {
        take(scores - u);
        take(scores + u);
      }
      if (v != radius) take(scores);
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
  const ptrdiff_t origin_;
  // FAST scores + 1 of the candidates, vector after vector; after pitch_ bytes, their flips; then by how much they are
  // above the limits.
  uint8_t* const bytes_;
  uint16_t* const lists_;
  Candidates candidates_;
  const uint8_t* limits_ = nullptr;
  ScoredRow rows_[kMostRows];  // the last is the newest
};

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
