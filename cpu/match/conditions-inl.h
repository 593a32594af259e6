// Which trains of a vector a query may not have, for each kind of conditions. Included once per target.
#if defined(GLINT_CPU_MATCH_CONDITIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_MATCH_CONDITIONS_INL_H_
#undef GLINT_CPU_MATCH_CONDITIONS_INL_H_
#else
#define GLINT_CPU_MATCH_CONDITIONS_INL_H_
#endif

#include "cpu/common/simd-inl.h"
#include "cpu/match/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using M32 = hn::Mask<D32>;

HWY_INLINE M32 None() { return hn::MaskFromVec(hn::Zero(D32())); }

struct AnyTrain {
  explicit AnyTrain(const MatchJob&) {}
  static constexpr bool kConditional = false;
  // Of query number q, the trains at place `at` of their order and behind it.
  HWY_INLINE M32 Forbidden(size_t /*at*/, int /*q*/) const { return None(); }
};

// IsAllowed() of features/matcher.h. What is asked is the same for a whole match: its branches are foreseen.
struct AllowedByKeypoints {
  explicit AllowedByKeypoints(const MatchJob& job)
      : query(job.keypoints->query),
        train(job.keypoints->train),
        max_angle_difference(job.keypoints->max_angle_difference) {}
  static constexpr bool kConditional = true;

  HWY_INLINE M32 Forbidden(size_t at, int q) const {
    const D32 d;
    const DF df;
    M32 forbidden = None();
    if (query.x != nullptr) {
      const VF radius = hn::Set(df, query.radius[q]);
      const VF dx = hn::Abs(hn::Sub(hn::Load(df, train.x + at), hn::Set(df, query.x[q])));
      const VF dy = hn::Abs(hn::Sub(hn::Load(df, train.y + at), hn::Set(df, query.y[q])));
      // One comparison for both.
      forbidden = hn::RebindMask(d, hn::Ge(hn::Max(dx, dy), radius));
    }
    if (query.min_octave != nullptr) {
      const auto octave = hn::Load(d, train.octave + at);
      forbidden = hn::Or(forbidden, hn::Or(hn::Lt(octave, hn::Set(d, query.min_octave[q])),
                                           hn::Gt(octave, hn::Set(d, query.max_octave[q]))));
    }
    if (max_angle_difference < 180.0f) {
      const VF turn = hn::Abs(hn::Sub(hn::Load(df, train.angle + at), hn::Set(df, query.angle[q])));
      // AngleDifference(): 360 - turn is exact where it is the smaller one.
      const VF difference = hn::Min(turn, hn::Sub(hn::Set(df, 360.0f), turn));
      forbidden = hn::Or(forbidden, hn::RebindMask(d, hn::Gt(difference, hn::Set(df, max_angle_difference))));
    }
    return forbidden;
  }

  const QueryConditions query;
  const TrainKeypoints train;
  const float max_angle_difference;
};

// IsStereoPair() of features/stereo.h.
struct AllowedByRows {
  explicit AllowedByRows(const MatchJob& job) : c(*job.stereo) {}
  static constexpr bool kConditional = true;

  HWY_INLINE M32 Forbidden(size_t at, int q) const {
    const D32 d;
    const DF df;
    const auto out_of_band = hn::Or(hn::Ge(hn::Load(df, c.low + at), hn::Set(df, c.left_row[q] + 1)),
                                    hn::Le(hn::Load(df, c.high + at), hn::Set(df, c.left_row[q] - 1)));
    const VF disparity = hn::Sub(hn::Set(df, c.left_x[q]), hn::Load(df, c.x + at));
    const auto out_of_range =
        hn::Or(hn::Lt(disparity, hn::Set(df, c.min_disparity)), hn::Gt(disparity, hn::Set(df, c.max_disparity)));
    const auto octaves = hn::Abs(hn::Sub(hn::Set(d, c.left_octave[q]), hn::Load(d, c.octave + at)));
    return hn::Or(hn::RebindMask(d, hn::Or(out_of_band, out_of_range)),
                  hn::Gt(octaves, hn::Set(d, c.max_octave_difference)));
  }

  const StereoConditions c;
};

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
