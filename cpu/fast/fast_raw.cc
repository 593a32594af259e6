// FAST corners without suppression, in raster order: cv::FAST(..., nonmaxSuppression = false).
//
// A row's corners become words of bits, one per candidate vector, and then coordinates. Both loops are kept apart and
// free of branches that depend on the image.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fast/fast_raw.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <utility>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/fast/fast-inl.h"
#include "cpu/fast/fast_score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// The places of the bits that are set in a byte, upwards.
struct BitPlaces {
  alignas(64) uint8_t of[256][8] = {};
  constexpr BitPlaces() {
    for (int byte = 0; byte < 256; ++byte) {
      int count = 0;
      for (int bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) of[byte][count++] = static_cast<uint8_t>(bit);
      }
    }
  }
};

// where[i] = origin + place of the i-th bit. May write up to kListSlack more. Returns the number of bits.
HWY_INLINE size_t ListBits(uint64_t bits, uint32_t origin, uint32_t* HWY_RESTRICT where) {
#if HWY_TARGET <= HWY_AVX3_DL && HWY_ARCH_X86
  const hn::CappedTag<uint32_t, 16> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const size_t count = static_cast<size_t>(hwy::PopCount(bits));
  const __m512i places = _mm512_maskz_compress_epi8(bits, hn::Iota(D8(), 0).raw);
  const auto from = hn::Set(d, origin);
  hn::StoreU(hn::Add(from, hn::PromoteTo(d, hn::Vec<decltype(d8)>{_mm512_castsi512_si128(places)})), d, where);
  if (HWY_LIKELY(count <= 16)) return count;
  HWY_ALIGN uint8_t listed[64];
  hn::Store(V8{places}, D8(), listed);
  for (size_t i = 16; i < count; i += 16) {
    hn::StoreU(hn::Add(from, hn::PromoteTo(d, hn::Load(d8, listed + i))), d, where + i);
  }
  return count;
#else
  static constexpr BitPlaces kPlaces;
  const hn::CappedTag<uint32_t, 8> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const auto from = hn::Set(d, origin);
  size_t count = 0;
#pragma GCC unroll 8
  for (ptrdiff_t at = 0; at < kFastLanes; at += 8) {
    const auto part = static_cast<uint8_t>(bits >> at);
    const auto base = hn::Add(from, hn::Set(d, static_cast<uint32_t>(at)));
    for (size_t i = 0; i < 8; i += hn::MaxLanes(d)) {
      hn::StoreU(hn::Add(base, hn::PromoteTo(d, hn::LoadU(d8, kPlaces.of[part] + i))), d, where + count + i);
    }
    count += static_cast<size_t>(hwy::PopCount(part));
  }
  return count;
#endif
}

#if HWY_MAX_BYTES == 64

// Arcs of 9 need no score: ring pixels above a limit are bits, of 64 centres in a word, and logic on vectors of words
// finds nine in a row in 512 centres at once.
class RingPlanes {
 public:
  HWY_INLINE bool full() const { return count_ == kWords; }
  // `limit` is what a ring pixel of a corner's arc exceeds; `lanes` of the centres count, of which the first is
  // `origin`.
  HWY_INLINE void Add(const Rings& rings, V8 limit, uint64_t lanes, uint32_t origin) {
    SetPlanes(rings, limit, std::make_index_sequence<16>());
    lanes_[count_] = lanes;
    origin_[count_] = origin;
    ++count_;
  }
  // Appends the corners to `where` and forgets them. Returns their number.
  HWY_INLINE size_t Flush(uint32_t* HWY_RESTRICT where) {
    for (size_t i = 0; i < count_; i += 8) FindCorners(i);
    size_t corners = 0;
    for (size_t i = 0; i < count_; ++i) corners += ListBits(lanes_[i], origin_[i], where + corners);
    count_ = 0;
    return corners;
  }

 private:
  // As many as let the stores of one be over before vectors of 8 are read.
  static constexpr size_t kWords = 32;

  template <size_t... kIndex>
  HWY_INLINE void SetPlanes(const Rings& rings, V8 limit, std::index_sequence<kIndex...>) {
    const __mmask64 above[16] = {_mm512_cmpgt_epu8_mask(rings.Get<kIndex>().raw, limit.raw)...};
    ((plane_[kIndex][count_] = above[kIndex]), ...);
  }

  // Clears the lanes without a corner in the 8 words from i on.
  HWY_INLINE void FindCorners(size_t i) {
    constexpr int kAndOr = 0xe0;  // a & (b | c)
    constexpr int kOrAnd = 0xf8;  // a | (b & c)
    const auto ring = [&](size_t k) HWY_ATTR { return _mm512_load_si512(&plane_[k & 15][i]); };
    __m512i fours[8];
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      const __m512i three = _mm512_ternarylogic_epi64(ring(2 * k), ring(2 * k + 1), ring(2 * k + 2), 0x80);
      fours[k] = _mm512_and_si512(three, ring(2 * k + 3));
    }
    __m512i corners = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      const __m512i five = _mm512_ternarylogic_epi64(fours[k], ring(2 * k + 15), ring(2 * k + 8), kAndOr);
      corners = _mm512_ternarylogic_epi64(corners, five, fours[(k + 2) & 7], kOrAnd);
    }
    _mm512_store_si512(&lanes_[i], _mm512_and_si512(corners, _mm512_load_si512(&lanes_[i])));
  }

  alignas(64) uint64_t plane_[16][kWords];
  alignas(64) uint64_t lanes_[kWords];
  uint32_t origin_[kWords];
  size_t count_ = 0;
};

size_t RawOfArc9(const FastJob& job, const Span& span, Candidates* candidates, uint32_t* where) {
  const FastConstants k(job);
  const uint64_t last_lanes = span.NewLanes(span.last, span.first, span.end);
  RingPlanes planes;
  size_t count = 0;
  for (int y = job.region.y0; y < job.region.y1; ++y) {
    const Window w(job.image, y);
    size_t n;
    const uint16_t* list = candidates->InRow(w, y, k, &n);
    for (size_t i = 0; i < n; ++i) {
      const ptrdiff_t x = list[i];
      const V8 centre = w.Centre(x);
      Rings rings(w, x);
      rings.flip = rings.DarkLanes(centre, k);
      const V8 limit = hn::SaturatedAdd(hn::Xor(centre, rings.flip), k.threshold);
      planes.Add(rings, limit, x == span.last ? last_lanes : ~uint64_t{0}, PackPoint(static_cast<int>(x), y));
      if (planes.full()) count += planes.Flush(where + count);
    }
  }
  return count + planes.Flush(where + count);
}

#endif

template <int kArc>
size_t RawByScore(const FastJob& job, const Span& span, Candidates* candidates, uint16_t* scratch, uint64_t* corners,
                  uint32_t* where) {
  const D8 d;
  const FastConstants k(job);
  const uint64_t last_lanes = span.NewLanes(span.last, span.first, span.end);
  size_t count = 0;
  for (int y = job.region.y0; y < job.region.y1; ++y) {
    const Window w(job.image, y);
    size_t n;
    const uint16_t* list = candidates->InRow(w, y, k, &n);
    if (n == 0) continue;
    ScoreCandidates<kArc>(w, k, list, n, scratch, [&](size_t i, V8 excess, V8, bool again) HWY_ATTR {
      const uint64_t bits = MaskBits(d, Exceeds(excess, k));
      corners[i] = again ? corners[i] | bits : bits;
    });
    if (list[n - 1] == span.last) corners[n - 1] &= last_lanes;
    for (size_t i = 0; i < n; ++i) count += ListBits(corners[i], PackPoint(list[i], y), where + count);
  }
  return count;
}

size_t FastRaw(const FastJob& job, uint8_t* scratch, uint32_t* where) {
  const Rect r = job.region;
  if (r.empty()) return 0;
  const Span span(r.x0, r.x1);
  uint64_t* corners = reinterpret_cast<uint64_t*>(scratch);
  const size_t room = FastListElements(job.image.width);
  uint16_t* lists = reinterpret_cast<uint16_t*>(corners + room);
  Candidates candidates(span, lists, lists + room);
#if HWY_MAX_BYTES == 64
  if (job.arc == 9) return RawOfArc9(job, span, &candidates, where);
#else
  if (job.arc == 9) return RawByScore<9>(job, span, &candidates, lists + 2 * room, corners, where);
#endif
  return RawByScore<0>(job, span, &candidates, lists + 2 * room, corners, where);
}

void AddFastRaw(Stages* stages) { stages->fast_raw = &FastRaw; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddFastRaw)
}  // namespace glint::cpu
#endif
