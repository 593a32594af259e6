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

// Of the lanes that are corners: those that are dark ones. Only they have a dark pixel in every opposite pair.
inline HWY_NOINLINE V8 DarkCorners(const Window& w, ptrdiff_t x, V8 centre, const FastConstants& k) {
  const D8 d;
  V8 most = hn::Zero(d);
  for (int i = 0; i < 8; ++i) {
    most = hn::Max(most, hn::Min(hn::LoadU(d, RingRow(w, i) + x), hn::LoadU(d, RingRow(w, i + 8) + x)));
  }
  return hn::VecFromMask(d, Exceeds(hn::SaturatedSub(centre, most), k));
}

// `excess` without the corners that have a run of more than max_arc pixels.
HWY_INLINE V8 WithoutLongRuns(const Window& w, ptrdiff_t x, V8 excess, const FastConstants& k, int max_arc) {
  const V8 centre = w.Centre(x);
  const V8 flip = DarkCorners(w, x, centre, k);
  const V8 longer = hn::SaturatedSub(BestArc(w, x, flip, max_arc + 1), hn::Xor(centre, flip));
  return hn::IfThenZeroElse(Exceeds(longer, k), excess);
}

// SumOfDifferences over the whole ring.
HWY_INLINE V16 SumOfCircle(const Window& w, ptrdiff_t x) {
  const V16 centre = Widened(w.row[3] + x);
  V16 sum = hn::Zero(D16());
#pragma GCC unroll 16
  for (int i = 0; i < kFastRing; ++i) sum = hn::Add(sum, hn::Abs(hn::Sub(Widened(RingRow(w, i) + x), centre)));
  return sum;
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
