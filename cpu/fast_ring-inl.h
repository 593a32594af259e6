// What detectors beyond cv::ORB's ask of the rings of a vector of FAST corners: longest runs, sums of differences.
// Included once per target, hence the unusual guard.
#if defined(GLINT_CPU_FAST_RING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_FAST_RING_INL_H_
#undef GLINT_CPU_FAST_RING_INL_H_
#else
#define GLINT_CPU_FAST_RING_INL_H_
#endif

#include "cpu/fast-inl.h"
#include "cpu/fast_score-inl.h"
#include "cpu/simd-inl.h"
#include "features/arc.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using V16 = hn::Vec<D16>;
using Bytes16 = hn::Rebind<uint8_t, D16>;  // as many bytes as there are 16-bit lanes

constexpr ptrdiff_t kLanes16 = static_cast<ptrdiff_t>(HWY_LANES(int16_t));

HWY_INLINE V16 Widened(const uint8_t* bytes) { return hn::PromoteTo(D16(), hn::LoadU(Bytes16(), bytes)); }

HWY_INLINE const uint8_t* RingRow(const Window& w, int i) { return w.row[3 + FastRingY(i)] + FastRingX(i); }

// Whether some of the corners may have a run of more than max_arc pixels; dark ones are flipped.
HWY_INLINE bool MayHaveLongRuns(const Window& w, ptrdiff_t x, V8 corners, V8 flip, const FastConstants& k,
                                int max_arc) {
  if (max_arc < 12) return true;
  // A run of 13 or more leaves out one at most of every fourth pixel: the darkest but one must be in it.
  const V8 a = hn::Xor(w.Ring<0>(x), flip);
  const V8 b = hn::Xor(w.Ring<4>(x), flip);
  const V8 c = hn::Xor(w.Ring<8>(x), flip);
  const V8 d = hn::Xor(w.Ring<12>(x), flip);
  const V8 second = hn::Min(hn::Min(hn::Max(a, b), hn::Max(c, d)), hn::Max(hn::Min(a, b), hn::Min(c, d)));
  const V8 over = hn::SaturatedSub(second, hn::Xor(w.Centre(x), flip));
  return !IsZero(hn::IfThenElseZero(Exceeds(over, k), corners));
}

// `corners` without those.
HWY_INLINE V8 WithoutLongRuns(const Window& w, ptrdiff_t x, V8 corners, V8 flip, const FastConstants& k, int max_arc) {
  const V8 longer = hn::SaturatedSub(BestArc(w, x, flip, max_arc + 1), hn::Xor(w.Centre(x), flip));
  return hn::IfThenZeroElse(Exceeds(longer, k), corners);
}

// SumOfDifferences over the whole ring where there is a corner, 0 elsewhere.
HWY_INLINE void SumsOfCircle(const Window& w, ptrdiff_t x, V8 corners, int16_t* sums) {
  const D8 d;
  const D16 d16;
  const hn::RebindToUnsigned<D16> du16;
  const V8 centre = w.Centre(x);
  // Of pairs of lanes as 16 bits, and of the second of each alone. The former leave out what does not fit.
  V16 both = hn::Zero(d16);
  V16 odd = hn::Zero(d16);
#pragma GCC unroll 16
  for (int i = 0; i < kFastRing; ++i) {
    const V8 pixel = InRegister(hn::LoadU(d, RingRow(w, i) + x));
    const V8 difference = hn::Or(hn::SaturatedSub(pixel, centre), hn::SaturatedSub(centre, pixel));
    both = hn::Add(both, hn::BitCast(d16, difference));
    odd = hn::Add(odd, hn::BitCast(d16, hn::ShiftRight<8>(hn::BitCast(du16, difference))));
  }
  const V16 even = hn::Sub(both, hn::ShiftLeft<8>(odd));
  const V16 is_corner = hn::BitCast(d16, hn::VecFromMask(d, hn::Ne(corners, hn::Zero(d))));
  hn::StoreInterleaved2(hn::And(even, hn::ShiftRight<8>(hn::ShiftLeft<8>(is_corner))),
                        hn::And(odd, hn::ShiftRight<8>(is_corner)), d16, sums);
}

// SumOfDifferences over the run of a corner's lane: runs of nine or more are made of runs of exactly nine.
inline HWY_NOINLINE V16 SumOfRun(const Window& w, ptrdiff_t x, int threshold) {
  const D16 d;
  const V16 centre = Widened(w.row[3] + x);
  const V16 limit = hn::Set(d, static_cast<int16_t>(threshold));
  V16 over[16];
  V16 least_of_pairs = hn::Set(d, -256);
  for (int i = 0; i < 16; ++i) over[i] = hn::Sub(Widened(RingRow(w, i) + x), centre);
  for (int i = 0; i < 8; ++i) least_of_pairs = hn::Max(least_of_pairs, hn::Min(over[i], over[i + 8]));
  const V16 dark = hn::VecFromMask(d, hn::Lt(least_of_pairs, hn::Neg(limit)));
  V16 in[16];
  V16 two[16];
  V16 four[16];
  V16 nine[16];
  for (int i = 0; i < 16; ++i) {
    over[i] = hn::Sub(hn::Xor(over[i], dark), dark);
    in[i] = hn::VecFromMask(d, hn::Gt(over[i], limit));
  }
  for (int i = 0; i < 16; ++i) two[i] = hn::And(in[i], in[(i + 1) & 15]);
  for (int i = 0; i < 16; ++i) four[i] = hn::And(two[i], two[(i + 2) & 15]);
  for (int i = 0; i < 16; ++i) nine[i] = hn::And(hn::And(four[i], four[(i + 4) & 15]), in[(i + 8) & 15]);
  for (int i = 0; i < 16; ++i) two[i] = hn::Or(nine[i], nine[(i + 15) & 15]);
  for (int i = 0; i < 16; ++i) four[i] = hn::Or(two[i], two[(i + 14) & 15]);
  V16 sum = hn::Zero(d);
  for (int i = 0; i < 16; ++i) {
    const V16 covered = hn::Or(hn::Or(four[i], four[(i + 12) & 15]), nine[(i + 8) & 15]);
    sum = hn::Add(sum, hn::And(covered, over[i]));
  }
  return sum;
}

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
