// A vector of candidates at a time: most fail, at one condition or another, which branches cannot foresee.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/stereo/row_candidates.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/simd-inl.h"
#include "cpu/stereo/row_candidates.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

static_assert(kCandidatePad >= HWY_LANES(float), "a vector may be read behind the last");

size_t Collect(const RowCandidates& right, size_t first, size_t last, const StereoPoint& left,
               const StereoOptions& options, int32_t* indices) {
  const DF df;
  const D32 d32;
  const float row = static_cast<float>(static_cast<int>(left.y));
  const auto below = hn::Set(df, row + 1);
  const auto above = hn::Set(df, row - 1);
  const auto left_x = hn::Set(df, left.x);
  const auto least = hn::Set(df, options.min_disparity);
  const auto most = hn::Set(df, options.max_disparity);
  const auto octave = hn::Set(d32, left.octave);
  const auto too_far = hn::Set(d32, options.max_octave_difference + 1);
  size_t count = 0;
  for (size_t i = first; i < last; i += hn::Lanes(df)) {
    const auto in_band =
        hn::And(hn::Lt(hn::LoadU(df, right.low + i), below), hn::Gt(hn::LoadU(df, right.high + i), above));
    const auto disparity = hn::Sub(left_x, hn::LoadU(df, right.x + i));
    const auto in_range = hn::And(hn::Ge(disparity, least), hn::Le(disparity, most));
    const auto near_octave = hn::Lt(hn::Abs(hn::Sub(octave, hn::LoadU(d32, right.octave + i))), too_far);
    const auto allowed =
        hn::And(hn::RebindMask(d32, hn::And(in_band, in_range)), hn::And(near_octave, hn::FirstN(d32, last - i)));
    // CompressStore() looks up a table that GCC 12 copies first, each time.
    for (uint64_t bits = MaskBits(d32, allowed); bits != 0; bits &= bits - 1) {
      indices[count++] = right.index[i + hwy::Num0BitsBelowLS1Bit_Nonzero64(bits)];
    }
  }
  return count;
}

void AddCollect(CollectCandidates* function) { *function = &Collect; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
HWY_EXPORT(AddCollect);

CollectCandidates CollectCandidatesFor(int64_t target) {
  CollectCandidates function = nullptr;
  HWY_DISPATCH_TABLE(AddCollect)[GLINT_CPU_TABLE_INDEX(target)](&function);
  return function;
}

}  // namespace glint::cpu
#endif
