// Rows of FAST scores and their 3x3 suppression. Included once per target, hence the unusual guard.
//
// Three rows of scores are kept: a row is suppressed once the row below is scored, while all three are in cache.
#if defined(GLINT_CPU_FAST_FAST_SUPPRESSOR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_FAST_FAST_SUPPRESSOR_INL_H_
#undef GLINT_CPU_FAST_FAST_SUPPRESSOR_INL_H_
#else
#define GLINT_CPU_FAST_FAST_SUPPRESSOR_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/fast/fast-inl.h"
#include "cpu/fast/fast_score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// Scores + 1 of a row, 0 where there is no corner, and which vectors of them are not all zero.
struct ScoredRow {
  uint8_t* scores;
  uint16_t* active;
  size_t active_count;
};

// Lanes of the vector `at`, of columns x and so on, that are greater than all 8 neighbours, as bits.
struct AllNeighbours {
  HWY_INLINE uint64_t Maxima(const uint8_t* up, const uint8_t* at, const uint8_t* down, ptrdiff_t) const {
    const D8 d;
    const V8 centre = hn::LoadU(d, at);
#if HWY_MAX_BYTES == 64
    const auto greater = [&](__mmask64 mask, const uint8_t* p)
                             HWY_ATTR { return _mm512_mask_cmpgt_epu8_mask(mask, centre.raw, hn::LoadU(d, p).raw); };
    const __mmask64 upper = greater(greater(greater(~__mmask64{0}, up), up - 1), up + 1);
    const __mmask64 lower = greater(greater(greater(~__mmask64{0}, down), down - 1), down + 1);
    return greater(greater(upper, at - 1), at + 1) & lower;
#else
    const V8 upper = hn::Max(hn::Max(hn::LoadU(d, up - 1), hn::LoadU(d, up + 1)), hn::LoadU(d, up));
    const V8 lower = hn::Max(hn::Max(hn::LoadU(d, down - 1), hn::LoadU(d, down + 1)), hn::LoadU(d, down));
    const V8 beside = hn::Max(hn::LoadU(d, at - 1), hn::LoadU(d, at + 1));
    const V8 excess = hn::SaturatedSub(centre, hn::Max(hn::Max(upper, lower), beside));
    return MaskBits(d, hn::Ne(excess, hn::Zero(d)));
#endif
  }
};

// The same where columns of zeros in not_first, or not_last, have no neighbours to their left, or right.
struct NeighboursInCell {
  const uint8_t* not_first;
  const uint8_t* not_last;

  HWY_INLINE uint64_t Maxima(const uint8_t* up, const uint8_t* at, const uint8_t* down, ptrdiff_t x) const {
    const D8 d;
    const auto most = [&](ptrdiff_t i) HWY_ATTR {
      return hn::Max(hn::Max(hn::LoadU(d, up + i), hn::LoadU(d, down + i)), hn::LoadU(d, at + i));
    };
    const V8 left = hn::And(most(-1), hn::LoadU(d, not_first + x));
    const V8 right = hn::And(most(1), hn::LoadU(d, not_last + x));
    const V8 middle = hn::Max(hn::LoadU(d, up), hn::LoadU(d, down));
    const V8 excess = hn::SaturatedSub(hn::LoadU(d, at), hn::Max(middle, hn::Max(left, right)));
    return MaskBits(d, hn::Ne(excess, hn::Zero(d)));
  }
};

// Rows of scores that follow one another, and what is reused from row to row.
template <int kArc, class Neighbours = AllNeighbours>
class Suppressor {
 public:
  Suppressor(const FastJob& job, const Span& span, uint8_t* scratch, const Neighbours& neighbours = {})
      : job_(job),
        neighbours_(neighbours),
        span_(span),
        k_(job),
        first_lanes_(span.NewLanes(span.first, job.region.x0, job.region.x1)),
        last_lanes_(span.NewLanes(span.last, job.region.x0, job.region.x1)),
        scratch_list_(Lists(scratch, job.image.width)),
        room_(FastListElements(job.image.width)),
        candidates_(span, scratch_list_ + room_, scratch_list_ + 2 * room_) {
    const size_t pitch = FastScratchPitch(job.image.width);
    std::memset(scratch, 0, 3 * pitch);
    for (size_t i = 0; i < 3; ++i) {
      // The span's first vector of scores is aligned.
      uint8_t* scores = scratch + i * pitch + kFastScratchMargin - (span.first & (kFastScratchMargin - 1));
      rows_[i] = {scores, scratch_list_ + (3 + i) * room_, 0};
    }
  }

  // Makes row y the last, with scores if `scored`, else without.
  HWY_INLINE void Next(int y, bool scored) {
    const D8 d;
    std::rotate(rows_, rows_ + 1, rows_ + 3);
    ScoredRow& row = rows_[2];
    for (size_t i = 0; i < row.active_count; ++i) hn::StoreU(hn::Zero(d), d, row.scores + row.active[i]);
    row.active_count = 0;
    if (!scored) return;
    const Window w(job_.image, y);
    const FastConstants k = k_;
    size_t count;
    const uint16_t* HWY_RESTRICT list = candidates_.InRow(w, y, k, &count);
    const V8 valid = hn::VecFromMask(d, hn::FirstN(d, static_cast<size_t>(span_.end - span_.last)));
    uint8_t* HWY_RESTRICT scores = row.scores;
    ScoreCandidates<kArc>(w, k, list, count, scratch_list_, [&](size_t i, V8 excess, V8, bool again) HWY_ATTR {
      V8 score = hn::And(hn::IfThenElseZero(Exceeds(excess, k), excess), valid);
      if (again) score = hn::Max(score, hn::LoadU(d, scores + list[i]));
      hn::StoreU(score, d, scores + list[i]);
    });
    uint16_t* HWY_RESTRICT active = row.active;
    size_t active_count = 0;
    for (size_t i = 0; i < count; ++i) {
      active[active_count] = list[i];
      active_count += IsZero(hn::LoadU(d, scores + list[i])) ? 0 : 1;
    }
    row.active_count = active_count;
  }

  // Appends the corners of the last row but one, y, whose score is above all 8 neighbours'. Returns their number.
  HWY_INLINE size_t Suppress(int y, uint32_t* HWY_RESTRICT where, uint8_t* HWY_RESTRICT score) const {
    const ScoredRow above = rows_[0];
    const ScoredRow row = rows_[1];
    const ScoredRow below = rows_[2];
    size_t count = 0;
    for (size_t i = 0; i < row.active_count; ++i) {
      const ptrdiff_t x = row.active[i];
      const uint8_t* at = row.scores + x;
      uint64_t bits = neighbours_.Maxima(above.scores + x, at, below.scores + x, x);
      if (x == span_.first) bits &= first_lanes_;
      if (x == span_.last) bits &= last_lanes_;
      const uint32_t origin = PackPoint(static_cast<int>(x), y);
      count += ForBits(bits, [&](size_t place, int bit) HWY_ATTR {
        where[count + place] = origin + static_cast<uint32_t>(bit);
        score[count + place] = static_cast<uint8_t>(at[bit] - 1);
      });
    }
    return count;
  }

 private:
  static uint16_t* Lists(uint8_t* scratch, int width) {
    return reinterpret_cast<uint16_t*>(scratch + 3 * FastScratchPitch(width));
  }

  const FastJob& job_;
  const Neighbours neighbours_;
  const Span& span_;
  const FastConstants k_;
  const uint64_t first_lanes_;
  const uint64_t last_lanes_;
  uint16_t* const scratch_list_;
  const size_t room_;
  Candidates candidates_;
  ScoredRow rows_[3];  // y - 2, y - 1, y
};

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
