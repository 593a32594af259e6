// Bilinear samples of a window, a vector of blocks at a time, and sums of products of 16-bit lanes. Included once per
// target.
#if defined(GLINT_CPU_TRACK_SAMPLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_TRACK_SAMPLES_INL_H_
#undef GLINT_CPU_TRACK_SAMPLES_INL_H_
#else
#define GLINT_CPU_TRACK_SAMPLES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/simd-inl.h"
#include "cpu/track/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;

constexpr int kVectorRows = static_cast<int>(kBlocks);  // rows of a vector
static_assert(kTrackRowStep % kVectorRows == 0, "vectors fill the columns");

// Sums of neighbouring pairs of products of pixels and weights; the weights of a pair add up to kTrackGrid.
HWY_INLINE V16 MixTrackPairs(V8 pixels, hn::Vec<hn::RebindToSigned<D8>> weights) {
#if HWY_ARCH_X86 && (HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4)
  return V16{_mm_maddubs_epi16(pixels.raw, weights.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET < HWY_AVX2
  return V16{_mm512_maddubs_epi16(pixels.raw, weights.raw)};
#else
  return MultiplyPairsOfBytes(pixels, weights);
#endif
}

// The blocks of `low` from the second on, then the first one of `high`.
HWY_INLINE V16 NextRows(V16 low, V16 high) {
#if HWY_MAX_BYTES == 16
  (void)low;
  return high;
#elif HWY_MAX_BYTES == 32
  return hn::ConcatLowerUpper(D16(), high, low);
#else
  return V16{_mm512_alignr_epi64(high.raw, low.raw, 2)};
#endif
}

HWY_INLINE V16 LoadRows(const int16_t* first, int pitch) {
  return hn::BitCast(D16(), LoadBlocks([&](size_t i) {
                       return reinterpret_cast<const uint8_t*>(first + static_cast<ptrdiff_t>(i) * pitch);
                     }));
}

HWY_INLINE void StoreRows(V16 rows, int16_t* first, int pitch) {
  HWY_ALIGN int16_t blocks[kVectorRows * kTrackBlock];
  hn::Store(rows, D16(), blocks);
  for (int i = 0; i < kVectorRows; ++i) std::copy_n(blocks + i * kTrackBlock, kTrackBlock, first + i * pitch);
}

// Reads the samples of one window.
class Sampler {
 public:
  // `size` rows.
  HWY_INLINE Sampler(const TrackWindow& window, int size)
      : window_(window),
        size_(size),
        weights_(
            hn::BitCast(hn::RebindToSigned<D8>(),
                        hn::Set(D16(), static_cast<int16_t>(window.weight_x << 8 | (kTrackGrid - window.weight_x))))),
        weight_y_(hn::Set(D16(), static_cast<int16_t>(window.weight_y << (15 - kTrackGridBits)))) {
    HWY_ALIGN static constexpr uint8_t kPairs[16] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8};
    pairs_ = hn::LoadDup128(D8(), kPairs);
  }

  // Calls visit(row, samples) for each vector of a column, from the top.
  template <class Visit>
  HWY_INLINE void ForEachRow(int column, const Visit& visit) const {
    const uint8_t* const pixels = window_.pixels + column * kTrackBlock;
    V16 rows = Across<false>(pixels, 0);
    int row = 0;
    // The last of the next rows is still in the window.
    for (; row + 2 * kVectorRows - 1 <= size_; row += kVectorRows) {
      const V16 next = Across<true>(pixels, row + kVectorRows);
      visit(row, Down(rows, next));
      rows = next;
    }
    for (; row < size_; row += kVectorRows) {
      const V16 next = Across<false>(pixels, row + kVectorRows);
      visit(row, Down(rows, next));
      rows = next;
    }
  }

 private:
  // SampleAcross() of kVectorRows rows; those after row size_ are copies of it.
  template <bool kInside>
  HWY_INLINE V16 Across(const uint8_t* pixels, int row) const {
    const V8 bytes = LoadBlocks([&](size_t i) {
      const int y = row + static_cast<int>(i);
      return pixels + (kInside ? y : std::min(y, size_)) * window_.stride;
    });
    return MixTrackPairs(hn::TableLookupBytes(bytes, pairs_), weights_);
  }
  // SampleDown().
  HWY_INLINE V16 Down(V16 rows, V16 after) const {
    return hn::Add(rows, hn::MulFixedPoint15(hn::Sub(NextRows(rows, after), rows), weight_y_));
  }

  const TrackWindow window_;
  const int size_;
  const hn::Vec<hn::RebindToSigned<D8>> weights_;
  const V16 weight_y_;
  V8 pairs_;
};

// kCount sums of products. Add() is called at most kMaxAdds times between two calls of Flush().
template <int kCount>
class PairSums {
 public:
  // 2 products of a difference of samples and a gradient or a basis, at most 16320 * 2040 each, in a lane.
  static constexpr int kMaxAdds = 32;
  static_assert(int64_t{kMaxAdds} * 2 * 16320 * 2040 < int64_t{1} << 31, "a lane cannot overflow");

  HWY_INLINE PairSums() {
    for (int i = 0; i < kCount; ++i) {
      lanes_[i] = hn::Zero(D32());
      sums_[i] = hn::Zero(D64());
    }
  }
  HWY_INLINE void Add(int i, V16 a, V16 b) { lanes_[i] = hn::Add(lanes_[i], MultiplyPairs(a, b)); }
  HWY_INLINE void Flush() {
    for (int i = 0; i < kCount; ++i) {
      const hn::Half<D32> half;
      const auto low = hn::PromoteTo(D64(), hn::LowerHalf(half, lanes_[i]));
      const auto high = hn::PromoteTo(D64(), hn::UpperHalf(half, lanes_[i]));
      sums_[i] = hn::Add(sums_[i], hn::Add(low, high));
      lanes_[i] = hn::Zero(D32());
    }
  }
  // After Flush().
  HWY_INLINE int64_t Sum(int i) const { return hn::GetLane(hn::SumOfLanes(D64(), sums_[i])); }

 private:
  using D64 = hn::ScalableTag<int64_t>;
  V32 lanes_[kCount];
  hn::Vec<D64> sums_[kCount];
};

// Calls visit(column) for `columns` columns of `rows` rows, with `sums` flushed as often as needed, and at the end.
template <int kCount, class Visit>
HWY_INLINE void ForEachColumn(int columns, int rows, PairSums<kCount>* sums, const Visit& visit) {
  const int adds = (rows + kVectorRows - 1) / kVectorRows;
  int added = 0;
  for (int column = 0; column < columns; ++column) {
    if (added + adds > PairSums<kCount>::kMaxAdds) {
      sums->Flush();
      added = 0;
    }
    visit(column);
    added += adds;
  }
  sums->Flush();
}

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
