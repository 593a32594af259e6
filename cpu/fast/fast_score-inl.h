// FAST's scores on whole vectors of bytes. Included once per target, hence the unusual guard.
//
// No lane can be a bright and a dark corner at once, so dark lanes are complemented and one side suffices. Its score is
// the best arc's darkest pixel, found from windows of 2, 4, 8 pixels; arcs of 9 that share a window of 8 differ in one
// neighbour, which makes 47 minima and maxima (arcs of 10 likewise, 55).
#if defined(GLINT_CPU_FAST_FAST_SCORE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_FAST_FAST_SCORE_INL_H_
#undef GLINT_CPU_FAST_FAST_SCORE_INL_H_
#else
#define GLINT_CPU_FAST_FAST_SCORE_INL_H_
#endif

#include "cpu/common/simd-inl.h"
#include "cpu/fast/fast-inl.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// The rings of a vector of centres, complemented where `flip` is set.
#if HWY_MAX_BYTES == 64

// All in registers, of which there are enough.
struct Rings {
  V8 r[16];
  V8 flip;

  HWY_INLINE Rings(const Window& w, ptrdiff_t x)
      : r{InRegister(w.Ring<0>(x)),  InRegister(w.Ring<1>(x)),  InRegister(w.Ring<2>(x)),  InRegister(w.Ring<3>(x)),
          InRegister(w.Ring<4>(x)),  InRegister(w.Ring<5>(x)),  InRegister(w.Ring<6>(x)),  InRegister(w.Ring<7>(x)),
          InRegister(w.Ring<8>(x)),  InRegister(w.Ring<9>(x)),  InRegister(w.Ring<10>(x)), InRegister(w.Ring<11>(x)),
          InRegister(w.Ring<12>(x)), InRegister(w.Ring<13>(x)), InRegister(w.Ring<14>(x)), InRegister(w.Ring<15>(x))} {}
  template <int kIndex>
  HWY_INLINE V8 Get() const {
    return hn::Xor(flip, r[kIndex]);
  }
  // Lanes in which every pair has a dark pixel: they cannot be bright corners, and the others cannot be dark ones.
  HWY_INLINE V8 DarkLanes(V8 centre, const FastConstants& k) const {
    const __m512i low = hn::SaturatedSub(centre, k.threshold).raw;
    __mmask64 even = _mm512_cmplt_epu8_mask(hn::Min(r[0], r[8]).raw, low);
    __mmask64 odd = _mm512_cmplt_epu8_mask(hn::Min(r[1], r[9]).raw, low);
    even = _mm512_mask_cmplt_epu8_mask(even, hn::Min(r[2], r[10]).raw, low);
    odd = _mm512_mask_cmplt_epu8_mask(odd, hn::Min(r[3], r[11]).raw, low);
    even = _mm512_mask_cmplt_epu8_mask(even, hn::Min(r[4], r[12]).raw, low);
    odd = _mm512_mask_cmplt_epu8_mask(odd, hn::Min(r[5], r[13]).raw, low);
    even = _mm512_mask_cmplt_epu8_mask(even, hn::Min(r[6], r[14]).raw, low);
    odd = _mm512_mask_cmplt_epu8_mask(odd, hn::Min(r[7], r[15]).raw, low);
    return V8{_mm512_movm_epi8(_kand_mask64(even, odd))};
  }
};

#else

struct Rings {
  const Window& w;
  const ptrdiff_t x;
  V8 flip;

  HWY_INLINE Rings(const Window& window, ptrdiff_t at) : w(window), x(at) {}
  template <int kIndex>
  HWY_INLINE V8 Get() const {
    return hn::Xor(flip, w.Ring<kIndex>(x));
  }
};

#endif

#if HWY_TARGET != HWY_EMU128

// Minimum. AVX-512 has one port for minima and maxima of bytes, and another for comparisons: some go there.
#if HWY_MAX_BYTES == 64
HWY_INLINE V8 MinByComparison(V8 a, V8 b) {
  return V8{_mm512_mask_mov_epi8(b.raw, _mm512_cmplt_epu8_mask(a.raw, b.raw), a.raw)};
}
#else
HWY_INLINE V8 MinByComparison(V8 a, V8 b) { return hn::Min(a, b); }
#endif

// Max over the 16 arcs of 9, or of 10, of the arc's minimum.
template <int kArc>
HWY_INLINE V8 BestArcOf(const Rings& r) {
  static_assert(kArc == 9 || kArc == 10, "what two arcs that share eight pixels from an even place on differ by");
  // Pairs from each even place on, and what makes each window of 8 the better of two arcs: of the pixels before and
  // after it the better, or also the first one after it. Each pixel is in one of both, and in this order only two pairs
  // are needed at a time.
  const auto rest = [](V8 before, V8 after, V8 second_after) HWY_ATTR {
    return kArc == 9 ? hn::Max(before, after) : hn::Min(after, hn::Max(before, second_after));
  };
  const V8 r0 = r.Get<0>();
  const V8 r1 = r.Get<1>();
  const V8 a0 = MinByComparison(r0, r1);
  const V8 r10 = r.Get<10>();
  const V8 r11 = r.Get<11>();
  const V8 n2 = rest(r1, r10, r11);
  const V8 a10 = MinByComparison(r10, r11);
  const V8 r4 = r.Get<4>();
  const V8 r5 = r.Get<5>();
  const V8 n12 = rest(r11, r4, r5);
  const V8 a4 = MinByComparison(r4, r5);
  const V8 r14 = r.Get<14>();
  const V8 r15 = r.Get<15>();
  const V8 n6 = rest(r5, r14, r15);
  const V8 a14 = MinByComparison(r14, r15);
  const V8 r8 = r.Get<8>();
  const V8 r9 = r.Get<9>();
  const V8 n0 = rest(r15, r8, r9);
  const V8 a8 = MinByComparison(r8, r9);
  const V8 r2 = r.Get<2>();
  const V8 r3 = r.Get<3>();
  const V8 n10 = rest(r9, r2, r3);
  const V8 a2 = MinByComparison(r2, r3);
  const V8 r12 = r.Get<12>();
  const V8 r13 = r.Get<13>();
  const V8 n4 = rest(r3, r12, r13);
  const V8 a12 = MinByComparison(r12, r13);
  const V8 r6 = r.Get<6>();
  const V8 r7 = r.Get<7>();
  const V8 n14 = rest(r13, r6, r7);
  const V8 a6 = MinByComparison(r6, r7);
  const V8 n8 = rest(r7, r0, r1);
  // Fours. Windows of 8 are pairs of fours, each with the rest the best of two arcs.
  const V8 b0 = hn::Min(a0, a2);
  const V8 b2 = hn::Min(a2, a4);
  const V8 b4 = hn::Min(a4, a6);
  const V8 b6 = hn::Min(a6, a8);
  const V8 b8 = hn::Min(a8, a10);
  const V8 b10 = hn::Min(a10, a12);
  const V8 b12 = hn::Min(a12, a14);
  const V8 b14 = hn::Min(a14, a0);
  const auto arcs = [](V8 low, V8 high, V8 others) HWY_ATTR { return hn::Min(hn::Min(low, high), others); };
  const V8 c0 = hn::Max(arcs(b0, b4, n0), arcs(b12, b0, n12));
  const V8 c4 = hn::Max(arcs(b4, b8, n4), arcs(b8, b12, n8));
  const V8 c2 = hn::Max(arcs(b2, b6, n2), arcs(b14, b2, n14));
  const V8 c6 = hn::Max(arcs(b6, b10, n6), arcs(b10, b14, n10));
  return hn::Max(hn::Max(c0, c4), hn::Max(c2, c6));
}

#endif

// The same for arcs of 9..16.
inline HWY_NOINLINE V8 BestArc(const Window& w, ptrdiff_t x, V8 flip, int arc) {
  V8 ring[16];
  V8 pairs[16];
  V8 fours[16];
  V8 eights[16];
  for (int i = 0; i < 16; ++i) ring[i] = hn::Xor(flip, hn::LoadU(D8(), w.row[3 + FastRingY(i)] + x + FastRingX(i)));
  for (int i = 0; i < 16; ++i) pairs[i] = hn::Min(ring[i], ring[(i + 1) & 15]);
  for (int i = 0; i < 16; ++i) fours[i] = hn::Min(pairs[i], pairs[(i + 2) & 15]);
  for (int i = 0; i < 16; ++i) eights[i] = hn::Min(fours[i], fours[(i + 4) & 15]);
  V8 best = hn::Zero(D8());
  for (int i = 0; i < 16; ++i) best = hn::Max(best, hn::Min(eights[i], eights[(i + arc - 8) & 15]));
  return best;
}

// By how much the best arc's darkest pixel is above the complemented centre. kArc is 0 where only k has it.
template <int kArc>
HWY_INLINE V8 Excess(const Window& w, ptrdiff_t x, V8 centre, const Rings& rings, const FastConstants& k) {
  V8 best;
#if HWY_TARGET != HWY_EMU128  // there, it would take ten times as long to compile
  if constexpr (kArc != 0) {
    best = BestArcOf<kArc>(rings);
  } else
#endif
  {
    best = BestArc(w, x, rings.flip, k.arc);
  }
  return hn::SaturatedSub(best, hn::Xor(centre, rings.flip));
}

// Calls f(i, excess, flip, again) for each i in 0..count-1: FAST score + 1 of the vector of centres at candidate i
// where it is more than the threshold; elsewhere there is no corner. Of corners, `flip` is set where they are dark.
// Some are scored again later: then the greater of both counts. `scratch` has room for count + 1.
template <int kArc, class F>
HWY_INLINE void ScoreCandidates(const Window& w, const FastConstants& k, const uint16_t* HWY_RESTRICT candidates,
                                size_t count, uint16_t* HWY_RESTRICT scratch, const F& f) {
#if HWY_MAX_BYTES == 64
  (void)scratch;
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t x = candidates[i];
    const V8 centre = w.Centre(x);
    Rings rings(w, x);
    rings.flip = rings.DarkLanes(centre, k);
    f(i, Excess<kArc>(w, x, centre, rings, k), rings.flip, false);
  }
#else
  // Two pairs tell dark from bright corners in most lanes. Vectors with others are scored again, those lanes bright.
  size_t ambiguous = 0;
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t x = candidates[i];
    const V8 centre = w.Centre(x);
    const Margins m = TestPairs(w, x, centre);
    scratch[ambiguous] = static_cast<uint16_t>(i);
    ambiguous += IsZero(hn::SaturatedSub(hn::Min(m.bright, m.dark), k.threshold)) ? 0 : 1;
    Rings rings(w, x);
    rings.flip = hn::VecFromMask(D8(), Exceeds(m.dark, k));
    f(i, Excess<kArc>(w, x, centre, rings, k), rings.flip, false);
  }
  for (size_t a = 0; a < ambiguous; ++a) {
    const size_t i = scratch[a];
    const ptrdiff_t x = candidates[i];
    const V8 centre = w.Centre(x);
    const Margins m = TestPairs(w, x, centre);
    Rings rings(w, x);
    rings.flip = hn::VecFromMask(D8(), hn::AndNot(Exceeds(m.bright, k), Exceeds(m.dark, k)));
    f(i, Excess<kArc>(w, x, centre, rings, k), rings.flip, true);
  }
#endif
}

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
