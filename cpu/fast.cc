// FAST corners (Rosten, Drummond 2006) on whole vectors of bytes, with OpenCV's score and 3x3 suppression.
//
// A contiguous arc of at least 9 of 16 ring pixels holds both ends of at least one of any opposite pair, so a bright
// corner has max(r[k], r[k+8]) > centre + t for every k, and a dark one min(...) < centre - t. Two pairs, then two
// more, dismiss most vectors. What is left is scored a vector at a time: no lane can be a bright and a dark corner at
// once, so dark lanes are complemented and one side suffices. Its score is the best arc's darkest pixel, found from
// windows of 2, 4, 8 pixels; arcs of 9 that share a window of 8 differ in one neighbour, which makes 47 minima and
// maxima.
//
// Rows of scores complete one by one; a row is suppressed as soon as the next is there, while all three are in cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fast.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cstring>

#include "cpu/simd-inl.h"
#include "cpu/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// Pointers to the pixels above, at and below a vector of centres, and its ring.
struct Window {
  const uint8_t* row[7];  // row[3] is the centres' own

  Window(const ImageView& image, int y) {
    for (int i = 0; i < 7; ++i) row[i] = image.row(y - 3 + i);
  }
  template <int kIndex>
  HWY_INLINE V8 Ring(ptrdiff_t x) const {
    return hn::LoadU(D8(), row[3 + FastRingY(kIndex)] + x + FastRingX(kIndex));
  }
};

// Over the opposite pairs kFirst and kFirst + 4: the lesser of their maxima, the greater of their minima.
template <int kFirst>
HWY_INLINE void TestPairs(const Window& w, ptrdiff_t x, V8* least_maximum, V8* most_minimum) {
  const V8 a0 = w.Ring<kFirst>(x);
  const V8 a1 = w.Ring<kFirst + 8>(x);
  const V8 b0 = w.Ring<kFirst + 4>(x);
  const V8 b1 = w.Ring<kFirst + 12>(x);
  *least_maximum = hn::Min(hn::Max(a0, a1), hn::Max(b0, b1));
  *most_minimum = hn::Max(hn::Min(a0, a1), hn::Min(b0, b1));
}

// Max over the 16 arcs of 9 of the arc's minimum, of the ring complemented where `flip` is set.
HWY_INLINE V8 BestArcOf9(const Window& w, ptrdiff_t x, V8 flip) {
  const V8 r0 = hn::Xor(flip, w.Ring<0>(x));
  const V8 r1 = hn::Xor(flip, w.Ring<1>(x));
  const V8 r2 = hn::Xor(flip, w.Ring<2>(x));
  const V8 r3 = hn::Xor(flip, w.Ring<3>(x));
  const V8 r4 = hn::Xor(flip, w.Ring<4>(x));
  const V8 r5 = hn::Xor(flip, w.Ring<5>(x));
  const V8 r6 = hn::Xor(flip, w.Ring<6>(x));
  const V8 r7 = hn::Xor(flip, w.Ring<7>(x));
  const V8 r8 = hn::Xor(flip, w.Ring<8>(x));
  const V8 r9 = hn::Xor(flip, w.Ring<9>(x));
  const V8 r10 = hn::Xor(flip, w.Ring<10>(x));
  const V8 r11 = hn::Xor(flip, w.Ring<11>(x));
  const V8 r12 = hn::Xor(flip, w.Ring<12>(x));
  const V8 r13 = hn::Xor(flip, w.Ring<13>(x));
  const V8 r14 = hn::Xor(flip, w.Ring<14>(x));
  const V8 r15 = hn::Xor(flip, w.Ring<15>(x));
  // Pairs from each even place on, then fours. Windows of 8 are pairs of fours; each with the better of its two
  // neighbours is the better of two arcs of 9.
  const V8 a0 = hn::Min(r0, r1);
  const V8 a2 = hn::Min(r2, r3);
  const V8 a4 = hn::Min(r4, r5);
  const V8 a6 = hn::Min(r6, r7);
  const V8 a8 = hn::Min(r8, r9);
  const V8 a10 = hn::Min(r10, r11);
  const V8 a12 = hn::Min(r12, r13);
  const V8 a14 = hn::Min(r14, r15);
  const V8 b0 = hn::Min(a0, a2);
  const V8 b2 = hn::Min(a2, a4);
  const V8 b4 = hn::Min(a4, a6);
  const V8 b6 = hn::Min(a6, a8);
  const V8 b8 = hn::Min(a8, a10);
  const V8 b10 = hn::Min(a10, a12);
  const V8 b12 = hn::Min(a12, a14);
  const V8 b14 = hn::Min(a14, a0);
  const auto arcs = [](V8 low, V8 high, V8 before, V8 after)
                        HWY_ATTR { return hn::Min(hn::Min(low, high), hn::Max(before, after)); };
  const V8 c0 = hn::Max(arcs(b0, b4, r15, r8), arcs(b2, b6, r1, r10));
  const V8 c4 = hn::Max(arcs(b4, b8, r3, r12), arcs(b6, b10, r5, r14));
  const V8 c8 = hn::Max(arcs(b8, b12, r7, r0), arcs(b10, b14, r9, r2));
  const V8 c12 = hn::Max(arcs(b12, b0, r11, r4), arcs(b14, b2, r13, r6));
  return hn::Max(hn::Max(c0, c4), hn::Max(c8, c12));
}

// The same for arcs of 10..12.
HWY_NOINLINE V8 BestArc(const Window& w, ptrdiff_t x, V8 flip, int arc) {
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

// What a row loop keeps in registers.
struct FastConstants {
  V8 threshold;
  V8 least_best;  // threshold + 1
  int arc;

  explicit FastConstants(const FastJob& job)
      : threshold(hn::Set(D8(), static_cast<uint8_t>(job.threshold))),
        least_best(hn::Set(D8(), static_cast<uint8_t>(job.threshold + 1))),
        arc(job.arc) {}
};

// FAST score + 1 of the vector of centres at x, 0 where there is no corner. False if no lane can be one; then *best is
// not set.
template <bool kNine>
HWY_INLINE bool ScoreVector(const Window& w, ptrdiff_t x, const FastConstants& k, V8* best) {
  const D8 d;
  const V8 centre = hn::LoadU(d, w.row[3] + x);
  V8 least;
  V8 most;
  TestPairs<0>(w, x, &least, &most);
  // By how much every pair so far has a pixel brighter, or darker, than the centre.
  V8 bright = hn::SaturatedSub(least, centre);
  V8 dark = hn::SaturatedSub(centre, most);
  if (HWY_LIKELY(IsZero(hn::SaturatedSub(hn::Max(bright, dark), k.threshold)))) return false;
  V8 least2;
  V8 most2;
  TestPairs<2>(w, x, &least2, &most2);
  bright = hn::Min(bright, hn::SaturatedSub(least2, centre));
  dark = hn::Min(dark, hn::SaturatedSub(centre, most2));
  if (IsZero(hn::SaturatedSub(hn::Max(bright, dark), k.threshold))) return false;
  if (HWY_UNLIKELY(!IsZero(hn::SaturatedSub(hn::Min(bright, dark), k.threshold)))) {
    // Some lane passed as both. All eight pairs leave at most one side that can be a corner: if each holds a dark
    // pixel, no nine in a row are bright.
    V8 most1;
    V8 most3;
    TestPairs<1>(w, x, &least2, &most1);
    TestPairs<3>(w, x, &least2, &most3);
    const V8 all_dark = hn::Min(dark, hn::SaturatedSub(centre, hn::Max(most1, most3)));
    const auto is_dark = hn::Ne(hn::SaturatedSub(all_dark, k.threshold), hn::Zero(d));
    dark = hn::IfThenElse(is_dark, hn::Set(d, 255), hn::Zero(d));
  }
  const V8 flip = hn::VecFromMask(d, hn::Ne(hn::SaturatedSub(dark, bright), hn::Zero(d)));
  const V8 arc_best = kNine ? BestArcOf9(w, x, flip) : BestArc(w, x, flip, k.arc);
  const V8 over = hn::SaturatedSub(arc_best, hn::Xor(centre, flip));
  *best = hn::IfThenElseZero(hn::Eq(hn::Max(over, k.least_best), over), over);
  return true;
}

// How [x0, x1) is visited in whole vectors: the last one is moved back to end at x1. In a range narrower than a vector,
// only the first lanes of the one there is are valid.
struct Span {
  static constexpr ptrdiff_t kLanes = static_cast<ptrdiff_t>(HWY_LANES(uint8_t));
  ptrdiff_t first;
  ptrdiff_t last;
  V8 valid;  // all ones in valid lanes

  Span(int x0, int x1) : first(x0), last(std::max(x1 - kLanes, first)) {
    const D8 d;
    valid = hn::VecFromMask(d, hn::FirstN(d, static_cast<size_t>(x1 - last)));
  }
  ptrdiff_t After(ptrdiff_t x) const { return std::min(x + kLanes, last); }
};

// scores[x] for x in the span; active[...]: where the vectors begin that hold a corner, in order. Returns their number.
template <bool kNine>
size_t ScoreRow(const ImageView& image, int y, const Span& span, const FastConstants& k, uint8_t* HWY_RESTRICT scores,
                uint16_t* HWY_RESTRICT active) {
  const D8 d;
  const Window w(image, y);
  size_t count = 0;
  for (ptrdiff_t x = span.first;; x = span.After(x)) {
    V8 best = hn::Zero(d);
    if (ScoreVector<kNine>(w, x, k, &best)) {
      best = hn::And(best, span.valid);
      active[count++] = static_cast<uint16_t>(x);
    }
    hn::StoreU(best, d, scores + x);
    if (x == span.last) return count;
  }
}

// Calls f(place, bit) for place = 0, 1, ... and the bits that are set, upwards, four at a time: with few surprises for
// branch prediction, but the last calls may be for places beyond the number of bits, which is returned.
template <class F>
HWY_INLINE size_t ForBits(uint64_t bits, const F& f) {
  constexpr size_t kRun = kListSlack / 2;
  const size_t count = static_cast<size_t>(hwy::PopCount(bits));
  size_t place = 0;
  do {
    for (size_t i = 0; i < kRun; ++i) {
      // Once all bits are used up, the highest again.
      f(place + i, static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits | uint64_t{1} << 63)));
      bits &= bits - 1;
    }
    place += kRun;
  } while (HWY_UNLIKELY(place < count));
  return count;
}

// Bits low..high-1, for low and high in any range.
HWY_INLINE uint64_t BitRange(ptrdiff_t low, ptrdiff_t high) {
  const uint64_t below_high = high >= 64 ? ~uint64_t{0} : (uint64_t{1} << std::max<ptrdiff_t>(high, 0)) - 1;
  return low <= 0 ? below_high : below_high & (~uint64_t{0} << low);
}

// Scores of a row, and which vectors of them are not all zero.
struct ScoredRow {
  uint8_t* scores;
  uint16_t* active;
  size_t active_count;
};

// Appends the corners of row y, x in [x0, x1), whose score is above all 8 neighbours'. Returns their number.
HWY_INLINE size_t SuppressRow(const ScoredRow& above, const ScoredRow& row, const ScoredRow& below, int y, int x0,
                              int x1, uint32_t* HWY_RESTRICT where, uint8_t* HWY_RESTRICT score) {
  const D8 d;
  size_t count = 0;
  ptrdiff_t next = x0;  // pixels before it are done, or not asked for
  for (size_t i = 0; i < row.active_count; ++i) {
    const ptrdiff_t x = row.active[i];
    const uint8_t* at = row.scores + x;
    const uint8_t* up = above.scores + x;
    const uint8_t* down = below.scores + x;
    const V8 upper = hn::Max(hn::Max(hn::LoadU(d, up - 1), hn::LoadU(d, up + 1)), hn::LoadU(d, up));
    const V8 lower = hn::Max(hn::Max(hn::LoadU(d, down - 1), hn::LoadU(d, down + 1)), hn::LoadU(d, down));
    const V8 beside = hn::Max(hn::LoadU(d, at - 1), hn::LoadU(d, at + 1));
    const V8 excess = hn::SaturatedSub(hn::LoadU(d, at), hn::Max(hn::Max(upper, lower), beside));
    const uint64_t bits = MaskBits(d, hn::Ne(excess, hn::Zero(d))) & BitRange(next - x, x1 - x);
    next = std::max<ptrdiff_t>(next, x + Span::kLanes);
    const uint32_t origin = PackPoint(static_cast<int>(x), y);
    count += ForBits(bits, [&](size_t place, int bit) HWY_ATTR {
      where[count + place] = origin + static_cast<uint32_t>(bit);
      score[count + place] = static_cast<uint8_t>(at[bit] - 1);
    });
  }
  return count;
}

template <bool kNine>
size_t DetectSuppressed(const FastJob& job, uint8_t* scratch, uint32_t* where, uint8_t* score) {
  const Rect r = job.region;
  const ImageView& image = job.image;
  // Neighbours of the region's corners take part in suppression.
  const int y0 = std::max(r.y0 - 1, kFastRadius);
  const int y1 = std::min(r.y1 + 1, image.height - kFastRadius);
  const Span span(std::max(r.x0 - 1, kFastRadius), std::min(r.x1 + 1, image.width - kFastRadius));
  const FastConstants k(job);

  const size_t pitch = FastScratchPitch(image.width);
  std::memset(scratch, 0, 3 * pitch);
  ScoredRow rows[3];  // y - 2, y - 1, y
  for (size_t i = 0; i < 3; ++i) {
    uint16_t* active = reinterpret_cast<uint16_t*>(scratch + 3 * pitch) + i * pitch / 16;
    rows[i] = {scratch + i * pitch + kFastScratchMargin, active, 0};
  }
  size_t count = 0;
  for (int y = std::min(y0, r.y0); y <= r.y1; ++y) {
    std::rotate(rows, rows + 1, rows + 3);
    if (y >= y0 && y < y1) {
      rows[2].active_count = ScoreRow<kNine>(image, y, span, k, rows[2].scores, rows[2].active);
    } else {
      std::memset(rows[2].scores - kFastScratchMargin, 0, pitch);
      rows[2].active_count = 0;
    }
    if (y > r.y0) {
      count += SuppressRow(rows[0], rows[1], rows[2], y - 1, r.x0, r.x1, where + count, score + count);
    }
  }
  return count;
}

size_t FastSuppressed(const FastJob& job, uint8_t* scratch, uint32_t* where, uint8_t* score) {
  return job.arc == 9 ? DetectSuppressed<true>(job, scratch, where, score)
                      : DetectSuppressed<false>(job, scratch, where, score);
}

template <bool kNine>
size_t DetectRaw(const FastJob& job, uint8_t* scratch, uint32_t* where) {
  const D8 d;
  const Rect r = job.region;
  const FastConstants k(job);
  const Span span(r.x0, r.x1);
  // A row's corners as bits, one per pixel from x0 on, so that they are listed 64 pixels at a time.
  uint8_t* row_bits = scratch;
  size_t count = 0;
  for (int y = r.y0; y < r.y1; ++y) {
    const Window w(job.image, y);
    bool any = false;
    ptrdiff_t next = span.first;  // the first pixel whose bit is not yet set
    for (ptrdiff_t x = span.first;; x = span.After(x)) {
      uint64_t bits = 0;
      V8 best;
      if (ScoreVector<kNine>(w, x, k, &best)) {
        bits = MaskBits(d, hn::Ne(best, hn::Zero(d))) >> (next - x);
        any = true;
      }
      std::memcpy(row_bits + (next - span.first) / 8, &bits, Span::kLanes / 8);
      if (x == span.last) break;
      next = x + Span::kLanes;
    }
    if (!any) continue;
    for (int x = r.x0; x < r.x1; x += 64) {
      uint64_t bits;
      std::memcpy(&bits, row_bits + (x - r.x0) / 8, sizeof(bits));
      bits &= BitRange(0, r.x1 - x);
      if (bits == 0) continue;
      uint32_t* end = where + count;
      const uint32_t origin = PackPoint(x, y);
      count += ForBits(bits, [&](size_t place, int bit) { end[place] = origin + static_cast<uint32_t>(bit); });
    }
  }
  return count;
}

size_t FastRaw(const FastJob& job, uint8_t* scratch, uint32_t* where) {
  return job.arc == 9 ? DetectRaw<true>(job, scratch, where) : DetectRaw<false>(job, scratch, where);
}

void AddFast(Stages* stages) {
  stages->fast_suppressed = &FastSuppressed;
  stages->fast_raw = &FastRaw;
}

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddFast)
}  // namespace glint::cpu
#endif
