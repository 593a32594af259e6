// FAST corners (Rosten, Drummond 2006) on whole vectors of bytes, with OpenCV's score and 3x3 suppression.
//
// A contiguous arc of at least 9 of 16 ring pixels holds both ends of at least one of any opposite pair, so a bright
// corner has max(r[k], r[k+8]) > centre + t for every k, and a dark one min(...) < centre - t. Four pairs in this test
// dismiss most vectors. What is left is scored a vector at a time: no lane can be a bright and a dark corner at once,
// so dark lanes are complemented and one side suffices. Its score is the best arc's darkest pixel, found from windows
// of 2, 4, 8 pixels; arcs of 9 that share a window of 8 differ in one neighbour, which makes 47 minima and maxima.
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

// The 16 ring pixels of a vector of centres, r[i] as FastRingX(i), FastRingY(i).
struct Ring {
  V8 r[16];
};

// Pointers to the pixels above, at and below a centre; index 3 is its own row.
struct RowWindow {
  const uint8_t* row[7];
  RowWindow(const ImageView& image, int y) {
    for (int i = 0; i < 7; ++i) row[i] = image.row(y - 3 + i);
  }
};

HWY_INLINE void LoadHalfRing0(const RowWindow& w, size_t x, Ring* ring) {
  const D8 d;
  ring->r[0] = hn::LoadU(d, w.row[6] + x);
  ring->r[8] = hn::LoadU(d, w.row[0] + x);
  ring->r[4] = hn::LoadU(d, w.row[3] + x + 3);
  ring->r[12] = hn::LoadU(d, w.row[3] + x - 3);
  ring->r[2] = hn::LoadU(d, w.row[5] + x + 2);
  ring->r[10] = hn::LoadU(d, w.row[1] + x - 2);
  ring->r[6] = hn::LoadU(d, w.row[1] + x + 2);
  ring->r[14] = hn::LoadU(d, w.row[5] + x - 2);
}

HWY_INLINE void LoadHalfRing1(const RowWindow& w, size_t x, Ring* ring) {
  const D8 d;
  ring->r[1] = hn::LoadU(d, w.row[6] + x + 1);
  ring->r[9] = hn::LoadU(d, w.row[0] + x - 1);
  ring->r[3] = hn::LoadU(d, w.row[4] + x + 3);
  ring->r[11] = hn::LoadU(d, w.row[2] + x - 3);
  ring->r[5] = hn::LoadU(d, w.row[2] + x + 3);
  ring->r[13] = hn::LoadU(d, w.row[4] + x - 3);
  ring->r[7] = hn::LoadU(d, w.row[0] + x + 1);
  ring->r[15] = hn::LoadU(d, w.row[6] + x - 1);
}

// Over the opposite pairs first, first + 2, first + 4, first + 6: the least of their maxima, the most of their minima.
HWY_INLINE V8 LeastPairMaximum(const Ring& g, int first) {
  const auto pair = [&g](int k) HWY_ATTR { return hn::Max(g.r[k], g.r[k + 8]); };
  return hn::Min(hn::Min(pair(first), pair(first + 2)), hn::Min(pair(first + 4), pair(first + 6)));
}
HWY_INLINE V8 MostPairMinimum(const Ring& g, int first) {
  const auto pair = [&g](int k) HWY_ATTR { return hn::Min(g.r[k], g.r[k + 8]); };
  return hn::Max(hn::Max(pair(first), pair(first + 2)), hn::Max(pair(first + 4), pair(first + 6)));
}

// Max over the 16 arcs of 9 of the arc's minimum.
HWY_INLINE V8 BestArcOf9(const Ring& g) {
  const V8* r = g.r;
  const V8 a0 = hn::Min(r[0], r[1]);
  const V8 a2 = hn::Min(r[2], r[3]);
  const V8 a4 = hn::Min(r[4], r[5]);
  const V8 a6 = hn::Min(r[6], r[7]);
  const V8 a8 = hn::Min(r[8], r[9]);
  const V8 a10 = hn::Min(r[10], r[11]);
  const V8 a12 = hn::Min(r[12], r[13]);
  const V8 a14 = hn::Min(r[14], r[15]);
  const V8 b0 = hn::Min(a0, a2);
  const V8 b2 = hn::Min(a2, a4);
  const V8 b4 = hn::Min(a4, a6);
  const V8 b6 = hn::Min(a6, a8);
  const V8 b8 = hn::Min(a8, a10);
  const V8 b10 = hn::Min(a10, a12);
  const V8 b12 = hn::Min(a12, a14);
  const V8 b14 = hn::Min(a14, a0);
  // Window of 8 from i, and the better of its two neighbours.
  const auto arcs = [r](V8 low, V8 high, int before, int after)
                        HWY_ATTR { return hn::Min(hn::Min(low, high), hn::Max(r[before], r[after])); };
  const V8 c0 = hn::Max(arcs(b0, b4, 15, 8), arcs(b2, b6, 1, 10));
  const V8 c4 = hn::Max(arcs(b4, b8, 3, 12), arcs(b6, b10, 5, 14));
  const V8 c8 = hn::Max(arcs(b8, b12, 7, 0), arcs(b10, b14, 9, 2));
  const V8 c12 = hn::Max(arcs(b12, b0, 11, 4), arcs(b14, b2, 13, 6));
  return hn::Max(hn::Max(c0, c4), hn::Max(c8, c12));
}

// The same for arcs of 10..12.
HWY_NOINLINE V8 BestArc(const Ring& g, int arc) {
  V8 pairs[16];
  V8 fours[16];
  V8 eights[16];
  for (int i = 0; i < 16; ++i) pairs[i] = hn::Min(g.r[i], g.r[(i + 1) & 15]);
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
};

// FAST score + 1 of the vector of centres at x, 0 where there is no corner. False if there is none at all.
template <bool kNine>
HWY_INLINE bool ScoreVector(const RowWindow& w, size_t x, const FastConstants& k, V8* best) {
  const D8 d;
  Ring ring;
  LoadHalfRing0(w, x, &ring);
  const V8 centre = hn::LoadU(d, w.row[3] + x);
  const V8 high = hn::SaturatedAdd(centre, k.threshold);
  const V8 low = hn::SaturatedSub(centre, k.threshold);
  const V8 least = LeastPairMaximum(ring, 0);
  const V8 most = MostPairMinimum(ring, 0);
  V8 bright = hn::SaturatedSub(least, high);
  V8 dark = hn::SaturatedSub(low, most);
  if (HWY_LIKELY(IsZero(hn::Or(bright, dark)))) return false;
  LoadHalfRing1(w, x, &ring);
  if (!IsZero(hn::Min(bright, dark))) {
    // Some lane passed as both. All eight pairs leave at most one side that can be a corner.
    bright = hn::SaturatedSub(hn::Min(least, LeastPairMaximum(ring, 1)), high);
    dark = hn::SaturatedSub(low, hn::Max(most, MostPairMinimum(ring, 1)));
  }
  const V8 flip = hn::VecFromMask(d, hn::Ne(dark, hn::Zero(d)));
  for (V8& r : ring.r) r = hn::Xor(r, flip);
  const V8 arc_best = kNine ? BestArcOf9(ring) : BestArc(ring, k.arc);
  const V8 over = hn::SaturatedSub(arc_best, hn::Xor(centre, flip));
  const auto corner = hn::Eq(hn::Max(over, k.least_best), over);
  *best = hn::IfThenElseZero(corner, over);
  return !hn::AllFalse(d, corner);
}

// Visits [x0, x1) in whole vectors: the last one is moved back to end at x1, or, in a narrower range, has fewer valid
// lanes. f(x, lanes) with the vector's first pixel and its number of valid lanes.
template <class F>
HWY_INLINE void ForVectors(int x0, int x1, const F& f) {
  const int lanes = static_cast<int>(hn::Lanes(D8()));
  if (x1 - x0 < lanes) {
    if (x1 > x0) f(x0, x1 - x0);
    return;
  }
  int x = x0;
  for (; x + lanes <= x1; x += lanes) f(x, lanes);
  if (x < x1) f(x1 - lanes, lanes);
}

// scores[x] for x in [x0, x1). False if the row has no corner; then nothing but zeros was written.
template <bool kNine>
bool ScoreRow(const ImageView& image, int y, int x0, int x1, const FastConstants& k, uint8_t* HWY_RESTRICT scores) {
  const D8 d;
  const RowWindow w(image, y);
  bool any = false;
  ForVectors(x0, x1, [&](int x, int lanes) HWY_ATTR {
    V8 best;
    if (HWY_LIKELY(!ScoreVector<kNine>(w, static_cast<size_t>(x), k, &best))) {
      hn::StoreU(hn::Zero(d), d, scores + x);
      return;
    }
    if (HWY_UNLIKELY(lanes < static_cast<int>(hn::Lanes(d)))) {
      best = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(lanes)), best);
    }
    hn::StoreU(best, d, scores + x);
    any = true;
  });
  return any;
}

// Appends the corners of row y, x in [x0, x1), whose score is above all 8 neighbours'.
HWY_INLINE size_t SuppressRow(const uint8_t* above, const uint8_t* row, const uint8_t* below, int y, int x0, int x1,
                              uint32_t* where, uint8_t* score) {
  const D8 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  size_t count = 0;
  for (int x = x0; x < x1; x += lanes) {
    const V8 centre = hn::LoadU(d, row + x);
    if (IsZero(centre)) continue;
    const V8 up = hn::Max(hn::Max(hn::LoadU(d, above + x - 1), hn::LoadU(d, above + x + 1)), hn::LoadU(d, above + x));
    const V8 down = hn::Max(hn::Max(hn::LoadU(d, below + x - 1), hn::LoadU(d, below + x + 1)), hn::LoadU(d, below + x));
    const V8 beside = hn::Max(hn::LoadU(d, row + x - 1), hn::LoadU(d, row + x + 1));
    const V8 above_all = hn::SaturatedSub(centre, hn::Max(hn::Max(up, down), beside));
    uint64_t bits = MaskBits(d, hn::Ne(above_all, hn::Zero(d)));
    if (x1 - x < lanes) bits &= (uint64_t{1} << (x1 - x)) - 1;
    for (; bits != 0; bits &= bits - 1) {
      const int at = x + static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
      where[count] = PackPoint(at, y);
      score[count] = static_cast<uint8_t>(row[at] - 1);
      ++count;
    }
  }
  return count;
}

template <bool kNine>
size_t DetectSuppressed(const FastJob& job, uint8_t* scratch, uint32_t* where, uint8_t* score) {
  const Rect r = job.region;
  const ImageView& image = job.image;
  // Neighbours of the region's corners take part in suppression.
  const int x0 = std::max(r.x0 - 1, kFastRadius);
  const int x1 = std::min(r.x1 + 1, image.width - kFastRadius);
  const int y0 = std::max(r.y0 - 1, kFastRadius);
  const int y1 = std::min(r.y1 + 1, image.height - kFastRadius);
  const size_t pitch = FastScratchPitch(image.width);
  uint8_t* rows[3] = {scratch + kFastScratchMargin, scratch + kFastScratchMargin + pitch,
                      scratch + kFastScratchMargin + 2 * pitch};
  std::memset(scratch, 0, 3 * pitch);
  bool any[3] = {false, false, false};
  const FastConstants k = {hn::Set(D8(), static_cast<uint8_t>(job.threshold)),
                           hn::Set(D8(), static_cast<uint8_t>(job.threshold + 1)), job.arc};
  size_t count = 0;
  // rows[0], rows[1], rows[2] are the scores of y - 2, y - 1 and y.
  for (int y = std::min(y0, r.y0); y <= r.y1; ++y) {
    std::rotate(rows, rows + 1, rows + 3);
    std::rotate(any, any + 1, any + 3);
    if (y >= y0 && y < y1) {
      any[2] = ScoreRow<kNine>(image, y, x0, x1, k, rows[2]);
    } else {
      std::memset(rows[2] - kFastScratchMargin, 0, pitch);
      any[2] = false;
    }
    if (y > r.y0 && any[1]) {
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
size_t DetectRaw(const FastJob& job, uint32_t* where) {
  const D8 d;
  const Rect r = job.region;
  const FastConstants k = {hn::Set(d, static_cast<uint8_t>(job.threshold)),
                           hn::Set(d, static_cast<uint8_t>(job.threshold + 1)), job.arc};
  const int all = static_cast<int>(hn::Lanes(d));
  size_t count = 0;
  for (int y = r.y0; y < r.y1; ++y) {
    const RowWindow w(job.image, y);
    int next = r.x0;  // the first pixel not yet reported: the last vector overlaps the one before it
    ForVectors(r.x0, r.x1, [&](int x, int lanes) HWY_ATTR {
      V8 best;
      if (ScoreVector<kNine>(w, static_cast<size_t>(x), k, &best)) {
        uint64_t bits = MaskBits(d, hn::Ne(best, hn::Zero(d)));
        bits = (bits >> (next - x)) << (next - x);
        if (lanes < all) bits &= (uint64_t{1} << lanes) - 1;
        for (; bits != 0; bits &= bits - 1) {
          where[count++] = PackPoint(x + static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits)), y);
        }
      }
      next = x + lanes;
    });
  }
  return count;
}

size_t FastRaw(const FastJob& job, uint32_t* where) {
  return job.arc == 9 ? DetectRaw<true>(job, where) : DetectRaw<false>(job, where);
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
