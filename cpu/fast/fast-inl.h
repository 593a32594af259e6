// FAST corners (Rosten, Drummond 2006) on whole vectors of bytes: which vectors of a row may hold one. Included once
// per target, hence the unusual guard. fast_score-inl.h scores them.
//
// An arc of at least 9 of 16 ring pixels holds an end of every opposite pair, and both ends of at least one. So a
// bright corner has max(r[k], r[k+8]) > centre + t for every k, and a dark one min(...) < centre - t. Two pairs dismiss
// most vectors of an image with little texture. The rest are listed row by row without a branch, since whether a vector
// passes is hard to predict. Where nearly all vectors pass, no list is made.
#if defined(GLINT_CPU_FAST_FAST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_FAST_FAST_INL_H_
#undef GLINT_CPU_FAST_FAST_INL_H_
#else
#define GLINT_CPU_FAST_FAST_INL_H_
#endif

#include <algorithm>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr ptrdiff_t kFastLanes = static_cast<ptrdiff_t>(HWY_LANES(uint8_t));

// v, in a register from here on: otherwise GCC reads memory again wherever v is used as an operand, and most of these
// reads cross a cache line, which makes each two.
HWY_INLINE V8 InRegister(V8 v) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC && HWY_TARGET != HWY_EMU128
  asm("" : "+v"(v.raw));
#endif
  return v;
}

// Pointers to the pixels above, at and below a vector of centres, and its ring.
struct Window {
  const uint8_t* row[7];  // row[3] is the centres' own

  Window(const ImageView& image, int y) {
    for (int i = 0; i < 7; ++i) row[i] = image.row(y - 3 + i);
  }
  HWY_INLINE V8 Centre(ptrdiff_t x) const { return InRegister(hn::LoadU(D8(), row[3] + x)); }
  template <int kIndex>
  HWY_INLINE V8 Ring(ptrdiff_t x) const {
    return hn::LoadU(D8(), row[3 + FastRingY(kIndex)] + x + FastRingX(kIndex));
  }
};

// What a row loop keeps in registers.
struct FastConstants {
  V8 threshold;
  V8 least;  // threshold + 1
  int arc;

  explicit FastConstants(const FastJob& job)
      : threshold(hn::Set(D8(), static_cast<uint8_t>(job.threshold))),
        least(hn::Set(D8(), static_cast<uint8_t>(job.threshold + 1))),
        arc(job.arc) {}
};

// Lanes where `over` is more than the threshold.
HWY_INLINE hn::Mask<D8> Exceeds(V8 over, const FastConstants& k) { return hn::Eq(hn::Max(over, k.least), over); }

// How [x0, x1) is visited in whole vectors: the last one is moved back to end at x1. In a range narrower than a vector,
// only the first lanes of the one there is are of the range.
struct Span {
  ptrdiff_t first;
  ptrdiff_t second;  // the others follow it
  ptrdiff_t last;
  ptrdiff_t end;
  size_t vectors;

  Span(int x0, int x1) : Span(x0, x1, x0 + kFastLanes) {}
  // `from` is where the second vector begins, at most a vector after x0.
  Span(int x0, int x1, ptrdiff_t from)
      : first(x0),
        second(from),
        last(std::max(x1 - kFastLanes, first)),
        end(x1),
        vectors(last == first ? 1 : static_cast<size_t>((last - second + kFastLanes - 1) / kFastLanes) + 2) {}
  ptrdiff_t At(size_t vector) const {
    if (vector == 0) return first;
    return std::min(second + static_cast<ptrdiff_t>(vector - 1) * kFastLanes, last);
  }
  // Of the vector at x: lanes that no vector before it holds, in columns [x0, x1).
  uint64_t NewLanes(ptrdiff_t x, ptrdiff_t x0, ptrdiff_t x1) const {
    const ptrdiff_t before = x == last && vectors > 1 ? second + static_cast<ptrdiff_t>(vectors - 2) * kFastLanes : x;
    return BitRange(std::max(before, x0) - x, std::min(end, x1) - x);
  }
};

// Calls f(place, bit) for place = 0, 1, ... and the bits that are set, upwards, a few at a time: with few surprises for
// branch prediction, but the last calls may be for places beyond the number of bits, which is returned.
template <class F>
HWY_INLINE size_t ForBits(uint64_t bits, const F& f) {
  constexpr size_t kRun = std::max<size_t>(kFastLanes / 16, 2);
  const size_t count = static_cast<size_t>(hwy::PopCount(bits));
  size_t place = 0;
  do {
#pragma GCC unroll 8
    for (size_t i = 0; i < kRun; ++i) {
      // Once all bits are used up, the highest again.
      f(place + i, static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits | uint64_t{1} << 63)));
      bits &= bits - 1;
    }
    place += kRun;
  } while (HWY_UNLIKELY(place < count));
  return count;
}

// By how much each of some pairs of opposite pixels has one brighter, or darker, than the centre.
struct Margins {
  V8 bright;
  V8 dark;
};

// Of the pairs 0 and 4.
HWY_INLINE Margins TestPairs(const Window& w, ptrdiff_t x, V8 centre) {
  const V8 a0 = InRegister(w.Ring<0>(x));
  const V8 a1 = InRegister(w.Ring<8>(x));
  const V8 b0 = InRegister(w.Ring<4>(x));
  const V8 b1 = InRegister(w.Ring<12>(x));
  return {hn::SaturatedSub(hn::Min(hn::Max(a0, a1), hn::Max(b0, b1)), centre),
          hn::SaturatedSub(centre, hn::Max(hn::Min(a0, a1), hn::Min(b0, b1)))};
}

#if HWY_MAX_BYTES == 64

// Lanes that the pairs 0 and 4 dismiss. Minima and comparisons have a port each: this uses both.
HWY_INLINE __mmask64 Dismissed(const Window& w, ptrdiff_t x, const FastConstants& k) {
  const V8 centre = w.Centre(x);
  const V8 high = hn::SaturatedAdd(centre, k.threshold);
  const V8 low = hn::SaturatedSub(centre, k.threshold);
  const V8 a0 = InRegister(w.Ring<0>(x));
  const V8 a1 = InRegister(w.Ring<8>(x));
  const V8 b0 = InRegister(w.Ring<4>(x));
  const V8 b1 = InRegister(w.Ring<12>(x));
  const __mmask64 a = _mm512_mask_cmple_epu8_mask(_mm512_cmple_epu8_mask(a0.raw, high.raw), a1.raw, high.raw);
  const __mmask64 b = _mm512_mask_cmple_epu8_mask(_mm512_cmple_epu8_mask(b0.raw, high.raw), b1.raw, high.raw);
  const V8 most = hn::Max(hn::Min(a0, a1), hn::Min(b0, b1));
  return _mm512_mask_cmpge_epu8_mask(_kor_mask64(a, b), most.raw, low.raw);
}
HWY_INLINE __mmask64 BothDismissed(__mmask64 a, __mmask64 b) { return _kand_mask64(a, b); }
HWY_INLINE bool IsDismissed(__mmask64 lanes) { return _kortestc_mask64_u8(lanes, lanes) != 0; }

#else

// Zero in lanes that the pairs 0 and 4 dismiss.
HWY_INLINE V8 Dismissed(const Window& w, ptrdiff_t x, const FastConstants& k) {
  const Margins m = TestPairs(w, x, w.Centre(x));
  return hn::SaturatedSub(hn::Max(m.bright, m.dark), k.threshold);
}
HWY_INLINE V8 BothDismissed(V8 a, V8 b) { return hn::Or(a, b); }
HWY_INLINE bool IsDismissed(V8 lanes) { return IsZero(lanes); }

#endif

// Which vectors of a row may hold a corner.
class Candidates {
 public:
  // `all` and `some` have room for span.vectors + 1.
  Candidates(const Span& span, uint16_t* all, uint16_t* some) : span_(span), all_(all), some_(some) {
    for (size_t i = 0; i < span.vectors; ++i) all[i] = static_cast<uint16_t>(span.At(i));
  }
  // Where they begin, in order, of which there are *count. Must be called for one row after another.
  HWY_INLINE const uint16_t* InRow(const Window& w, int y, const FastConstants& k, size_t* count) {
    if (!dismissing_ && y % kTrialRows != 0) {
      *count = span_.vectors;
      return all_;
    }
    *count = List(w, k);
    dismissing_ = *count * 6 < span_.vectors * 5;
    return some_;
  }

 private:
  static constexpr int kTrialRows = 8;

  HWY_INLINE size_t List(const Window& w, const FastConstants& constants) {
    const FastConstants k = constants;
    const Span span = span_;
    uint16_t* HWY_RESTRICT some = some_;
    size_t count = 0;
    const auto list = [&](ptrdiff_t x, bool dismissed) HWY_ATTR {
      some[count] = static_cast<uint16_t>(x);
      count += dismissed ? 0 : 1;
    };
    if (span.first < span.last) list(span.first, IsDismissed(Dismissed(w, span.first, k)));
    ptrdiff_t x = span.second;
    for (; x + kFastLanes < span.last; x += 2 * kFastLanes) {
      const auto a = Dismissed(w, x, k);
      const auto b = Dismissed(w, x + kFastLanes, k);
      if (IsDismissed(BothDismissed(a, b))) continue;
      list(x, IsDismissed(a));
      list(x + kFastLanes, IsDismissed(b));
    }
    if (x < span.last) list(x, IsDismissed(Dismissed(w, x, k)));
    list(span.last, IsDismissed(Dismissed(w, span.last, k)));
    return count;
  }

  const Span& span_;
  uint16_t* all_;
  uint16_t* some_;
  bool dismissing_ = true;
};

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
