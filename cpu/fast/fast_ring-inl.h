// Longest arcs and sums of absolute differences on the rings of a vector of FAST corners.
// Included once per target, hence the unusual guard.
#if defined(GLINT_CPU_FAST_FAST_RING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_FAST_FAST_RING_INL_H_
#undef GLINT_CPU_FAST_FAST_RING_INL_H_
#else
#define GLINT_CPU_FAST_FAST_RING_INL_H_
#endif

#include "cpu/common/simd-inl.h"
#include "cpu/fast/fast-inl.h"
#include "cpu/fast/fast_score-inl.h"
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

#if HWY_TARGET != HWY_EMU128  // there, it would take ten times as long to compile

// BestArc of 14: what the arcs from an odd place and the next one on share are twelve pixels from the latter, and the
// pixel after these.
HWY_INLINE V8 BestArcOf14(const Window& w, ptrdiff_t x, V8 flip) {
  V8 ring[16];
  V8 fours[8];
  V8 eights[8];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) ring[i] = hn::Xor(flip, hn::LoadU(D8(), RingRow(w, i) + x));
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) fours[i] = hn::Min(ring[2 * i], ring[2 * i + 1]);
  const V8 first = fours[0];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) fours[i] = hn::Min(fours[i], i < 7 ? fours[i + 1] : first);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) eights[i] = hn::Min(fours[i], fours[(i + 2) & 7]);
  V8 best = hn::Zero(D8());
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const V8 twelve = hn::Min(eights[i], fours[(i + 4) & 7]);
    const V8 either = hn::Max(ring[(2 * i + 13) & 15], ring[(2 * i + 15) & 15]);
    best = hn::Max(best, hn::Min(hn::Min(twelve, ring[(2 * i + 12) & 15]), either));
  }
  return best;
}

#else

HWY_INLINE V8 BestArcOf14(const Window& w, ptrdiff_t x, V8 flip) { return BestArc(w, x, flip, 14); }

#endif

// `corners` without those that have a run of more than max_arc pixels.
HWY_INLINE V8 WithoutLongRuns(const Window& w, ptrdiff_t x, V8 corners, V8 flip, const FastConstants& k, int max_arc) {
  const V8 best = max_arc == 13 ? BestArcOf14(w, x, flip) : BestArc(w, x, flip, max_arc + 1);
  const V8 longer = hn::SaturatedSub(best, hn::Xor(w.Centre(x), flip));
  return hn::IfThenZeroElse(Exceeds(longer, k), corners);
}

// The mean of the ring's differences from the centre: 16 times it is at least SumOfDifferences over the whole ring, and
// at most 32 more.
HWY_INLINE V8 MeanDifference(const Window& w, ptrdiff_t x) {
  const V8 centre = w.Centre(x);
  const auto difference = [&](V8 pixel) HWY_ATTR {
    return hn::Or(hn::SaturatedSub(pixel, centre), hn::SaturatedSub(centre, pixel));
  };
  const auto mean = [](V8 a, V8 b) HWY_ATTR { return hn::AverageRound(a, b); };
  const auto two = [&](V8 a, V8 b) HWY_ATTR { return mean(difference(InRegister(a)), difference(InRegister(b))); };
  const V8 a = mean(two(w.Ring<0>(x), w.Ring<1>(x)), two(w.Ring<2>(x), w.Ring<3>(x)));
  const V8 b = mean(two(w.Ring<4>(x), w.Ring<5>(x)), two(w.Ring<6>(x), w.Ring<7>(x)));
  const V8 c = mean(two(w.Ring<8>(x), w.Ring<9>(x)), two(w.Ring<10>(x), w.Ring<11>(x)));
  const V8 d = mean(two(w.Ring<12>(x), w.Ring<13>(x)), two(w.Ring<14>(x), w.Ring<15>(x)));
  return mean(mean(a, b), mean(c, d));
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
