// cv::remap with INTER_LINEAR in blocks of 8 pixels. One shuffle of 16 bytes brings the left and the right neighbours
// of 8 pixels together, for each row that the block's pixels lie in; few blocks have more than two of these.
//
// Weights have 5 bits an axis. With the sums across, U above and L below, a pixel is (32 U + (L - U) b + 512) >> 10,
// which is (U + ((L - U) b >> 5) + 16) >> 5: 16 bits do.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rectify/remap.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <cstring>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/rectify/remap.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr int kRemapLanes = static_cast<int>(HWY_LANES(int16_t));  // pixels of a vector

// The pixels of kBlocks blocks.
HWY_INLINE hn::Vec<D16> RemapBlocksAt(const ImageView& source, const RemapBlocks::Origin* origins,
                                      const uint16_t* pixels) {
  const D8 d8;
  const D16 d16;
  const hn::RebindToUnsigned<D16> du;
  const auto pixel = hn::LoadU(du, pixels);
  const auto x = hn::And(hn::ShiftRight<10>(pixel), hn::Set(du, 15));
  const auto y = hn::ShiftRight<14>(pixel);
  const auto pairs = hn::Add(hn::Or(x, hn::ShiftLeft<8>(x)), hn::Set(du, 0x100));  // the bytes x and x + 1
  const auto right = hn::And(pixel, hn::Set(du, 31));
  const auto weights =
      hn::BitCast(hn::RebindToSigned<D8>(), hn::Add(hn::Sub(hn::ShiftLeft<8>(right), right), hn::Set(du, 32)));
  const auto below = hn::BitCast(d16, hn::And(hn::ShiftLeft<5>(pixel), hn::Set(du, 0x7c00)));

  const uint8_t* from[kBlocks];
  for (size_t i = 0; i < kBlocks; ++i) from[i] = source.row(origins[i].y) + origins[i].x;
  const auto row = [&](int r) { return LoadBlocks([&](size_t i) { return from[i] + r * source.stride; }); };
  // The bytes of those pixels that lie `r` rows below their origins; others are out of a shuffle's range.
  const auto bytes_in = [&](int r) {
    const auto elsewhere = hn::Ne(y, hn::Set(du, static_cast<uint16_t>(r)));
    return hn::BitCast(d8, hn::Or(pairs, hn::VecFromMask(du, elsewhere)));
  };
  const V8 row1 = row(1);
  const V8 row2 = row(2);
  const V8 in0 = bytes_in(0);
  const V8 in1 = bytes_in(1);
  V8 upper = hn::Or(hn::TableLookupBytesOr0(row(0), in0), hn::TableLookupBytesOr0(row1, in1));
  V8 lower = hn::Or(hn::TableLookupBytesOr0(row1, in0), hn::TableLookupBytesOr0(row2, in1));
  if (HWY_UNLIKELY(!hn::AllFalse(du, hn::Eq(y, hn::Set(du, 2))))) {
    const V8 in2 = bytes_in(2);
    upper = hn::Or(upper, hn::TableLookupBytesOr0(row2, in2));
    lower = hn::Or(lower, hn::TableLookupBytesOr0(row(3), in2));
  }
  const auto up = MultiplyPairsOfBytes(upper, weights);
  const auto low = MultiplyPairsOfBytes(lower, weights);
  // |low - up| is at most 2^13, and `below` has 32nds times 1024.
  const auto down = hn::Sub(low, up);
  const auto sum = hn::Add(hn::Add(up, hn::Set(d16, 16)), HighHalf(hn::Add(down, down), below));
  return hn::ShiftRight<5>(sum);
}

// One pixel, as the reference. Neighbours outside the source are 0.
HWY_INLINE uint8_t RemapPixel(const ImageView& source, const RemapTable::Entry& at) {
  uint8_t around[4];
  const uint8_t* upper = around;
  const uint8_t* lower = around + 2;
  if (HWY_LIKELY(at.x >= 0 && at.x < source.width - 1 && at.y >= 0 && at.y < source.height - 1)) {
    upper = source.row(at.y) + at.x;
    lower = upper + source.stride;
  } else {
    for (int i = 0; i < 4; ++i) {
      const int x = at.x + i % 2, y = at.y + i / 2;
      const bool inside = x >= 0 && x < source.width && y >= 0 && y < source.height;
      around[i] = inside ? source.at(x, y) : 0;
    }
  }
  const int right = at.fraction_x, below = at.fraction_y;
  const int up = 32 * upper[0] + (upper[1] - upper[0]) * right;
  const int low = 32 * lower[0] + (lower[1] - lower[0]) * right;
  return static_cast<uint8_t>((32 * up + (low - up) * below + 512) >> 10);
}

void RemapRow(const ImageView& source, const RemapTable& table, int y, uint8_t* to) {
  const hn::Half<D8> d8;
  const RemapBlocks& blocks = table.blocks;
  const size_t first = static_cast<size_t>(y) * static_cast<size_t>(blocks.per_row);
  const RemapBlocks::Origin* origins = blocks.origins.data() + first;
  const uint16_t* pixels = blocks.pixels.data() + first * RemapBlocks::kPixels;
  const int width = table.shape.width;
  int x = 0;
  for (; x + kRemapLanes <= width; x += kRemapLanes, origins += kBlocks, pixels += kRemapLanes) {
    hn::StoreU(hn::DemoteTo(d8, RemapBlocksAt(source, origins, pixels)), d8, to + x);
  }
  if (x < width) {
    HWY_ALIGN uint8_t last[kRemapLanes];
    hn::Store(hn::DemoteTo(d8, RemapBlocksAt(source, origins, pixels)), d8, last);
    std::memcpy(to + x, last, static_cast<size_t>(width - x));
  }
}

void Remap(const ImageView& source, const RemapTable& table, int first, int count, uint8_t* to, ptrdiff_t stride) {
  const RemapBlocks& blocks = table.blocks;
  for (int y = first; y < first + count; ++y, to += stride) {
    if (blocks.per_row > 0) {
      RemapRow(source, table, y, to);
    } else {
      std::memset(to, 0, static_cast<size_t>(table.shape.width));
    }
    for (uint32_t i = blocks.first_exception[y]; i < blocks.first_exception[y + 1]; ++i) {
      const uint16_t x = blocks.exceptions[i];
      to[x] = RemapPixel(source, table.row(y)[x]);
    }
  }
}

void AddRemap(RemapRows* function) { *function = &Remap; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
HWY_EXPORT(AddRemap);

RemapRows RemapRowsFor(int64_t target) {
  RemapRows function = nullptr;
  HWY_DISPATCH_TABLE(AddRemap)[GLINT_CPU_TABLE_INDEX(target)](&function);
  return function;
}

RemapRows BestRemapRows() { return RemapRowsFor(BestSimdTarget()); }

}  // namespace glint::cpu
#endif
