// Pixels and bilinear samples of a window, a vector of blocks at a time, and sums of products of 16-bit lanes. Included
// once per target.
#if defined(GLINT_CPU_TRACK_SAMPLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_TRACK_SAMPLES_INL_H_
#undef GLINT_CPU_TRACK_SAMPLES_INL_H_
#else
#define GLINT_CPU_TRACK_SAMPLES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu/common/simd-inl.h"
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

// Calls visit(row, first, next) for each vector of rows 0 to `size` - 1 of a column, from the top, with read(row,
// is_inside) of these rows and of the vector of rows after them; is_inside: rows to `size` are enough.
template <class Read, class Visit>
HWY_INLINE void ForEachTwoVectors(int size, const Read& read, const Visit& visit) {
  auto rows = read(0, std::false_type());
  int row = 0;
  for (; row + 2 * kVectorRows - 1 <= size; row += kVectorRows) {
    const auto next = read(row + kVectorRows, std::true_type());
    visit(row, rows, next);
    rows = next;
  }
  for (; row < size; row += kVectorRows) {
    const auto next = read(row + kVectorRows, std::false_type());
    visit(row, rows, next);
    rows = next;
  }
}

// A block of each row from `row` on; rows after row `size` are copies of it.
template <bool kInside>
HWY_INLINE V8 LoadWindowRows(const TrackWindow& window, int column, int row, int size) {
  const uint8_t* const pixels = window.pixels + column * kTrackBlock;
  return LoadBlocks([&](size_t i) {
    const int y = row + static_cast<int>(i);
    return pixels + (kInside ? y : std::min(y, size)) * window.stride;
  });
}

// The pixels at the corners of each pixel's cell.
struct CornerPixels {
  V16 corner[4];
};

// Reads the pixels of one window.
class PixelReader {
 public:
  // `size` rows of cells.
  HWY_INLINE PixelReader(const TrackWindow& window, int size) : window_(window), size_(size) {
    HWY_ALIGN static constexpr uint8_t kLeft[16] = {0, 128, 1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 128, 7, 128};
    HWY_ALIGN static constexpr uint8_t kRight[16] = {1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 128, 7, 128, 8, 128};
    left_ = hn::LoadDup128(D8(), kLeft);
    right_ = hn::LoadDup128(D8(), kRight);
  }

  // Calls visit(row, CornerPixels) for each vector of a column, from the top.
  template <class Visit>
  HWY_INLINE void ForEachRow(int column, const Visit& visit) const {
    ForEachTwoVectors(
        size_,
        [&](int row, auto inside)
            HWY_ATTR { return LoadWindowRows<decltype(inside)::value>(window_, column, row, size_); },
        [&](int row, V8 rows, V8 after) HWY_ATTR {
          const V8 below = hn::BitCast(D8(), NextRows(hn::BitCast(D16(), rows), hn::BitCast(D16(), after)));
          visit(row,
                CornerPixels{{Spread(rows, left_), Spread(rows, right_), Spread(below, left_), Spread(below, right_)}});
        });
  }

 private:
  static HWY_INLINE V16 Spread(V8 bytes, V8 which) { return hn::BitCast(D16(), hn::TableLookupBytesOr0(bytes, which)); }

  const TrackWindow window_;
  const int size_;
  V8 left_, right_;
};

// Sums of products of the pixels at each corner. A whole patch cannot overflow a lane.
class CornerProducts {
 public:
  HWY_INLINE CornerProducts() {
    for (V32& lanes : lanes_) lanes = hn::Zero(D32());
  }
  HWY_INLINE void Add(const CornerPixels& pixels, V16 factors) {
    for (int i = 0; i < 4; ++i) lanes_[i] = hn::Add(lanes_[i], MultiplyPairs(pixels.corner[i], factors));
  }
  HWY_INLINE void Store(int CornerSums::*member, CellSums* sums) const {
    const D32 d;
    // Blocks of the four corners' sums.
    const auto pair = [&](V32 a, V32 b) HWY_ATTR {
      return hn::BitCast(D64(), hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
    };
    const auto low = pair(lanes_[0], lanes_[1]);
    const auto high = pair(lanes_[2], lanes_[3]);
    const V32 blocks = hn::Add(hn::BitCast(d, hn::InterleaveLower(D64(), low, high)),
                               hn::BitCast(d, hn::InterleaveUpper(D64(), low, high)));
    HWY_ALIGN int32_t corners[4 * kVectorRows];
    hn::Store(blocks, d, corners);
    for (int i = 0; i < 4; ++i) {
      int sum = corners[i];
      for (int block = 1; block < kVectorRows; ++block) sum += corners[4 * block + i];
      sums->corner[i].*member = sum;
    }
  }

 private:
  using D64 = hn::Repartition<int64_t, D32>;
  V32 lanes_[4];
};

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
    ForEachTwoVectors(
        size_, [&](int row, auto inside) HWY_ATTR { return Across<decltype(inside)::value>(column, row); },
        [&](int row, V16 rows, V16 next) HWY_ATTR { visit(row, Down(rows, next)); });
  }

 private:
  // SampleAcross() of kVectorRows rows.
  template <bool kInside>
  HWY_INLINE V16 Across(int column, int row) const {
    const V8 bytes = LoadWindowRows<kInside>(window_, column, row, size_);
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
  static_assert(int64_t{kMaxAdds} * 2 * 16320 * kMaxTrackFactor < int64_t{1} << 31, "a lane cannot overflow");

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
