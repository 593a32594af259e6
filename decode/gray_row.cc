#include "decode/gray_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decode/gray_row.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "features/math.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace glint::decode::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::ScalableTag<uint8_t>;
using D16 = hn::RepartitionToWide<D8>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<D16>;

// GrayFromRgb is (sum + 2^14) >> 15 with sum = 9798 r + 19235 g + 3735 b, of 23 bits. With each weight split into
// 256 high + low it is (sum_high + 64 + (sum_low >> 8)) >> 7, and nothing in that exceeds 16 bits.
HWY_INLINE V16 Gray16(V16 r, V16 g, V16 b) {
  const D16 d;
  const auto times = [d](V16 v, uint16_t weight) HWY_ATTR { return hn::Mul(v, hn::Set(d, weight)); };
  const V16 high = hn::Add(times(r, 9798 >> 8), hn::Add(times(g, 19235 >> 8), times(b, 3735 >> 8)));
  const V16 low = hn::Add(times(r, 9798 & 255), hn::Add(times(g, 19235 & 255), times(b, 3735 & 255)));
  return hn::ShiftRight<7>(hn::Add(hn::Add(high, hn::Set(d, 64)), hn::ShiftRight<8>(low)));
}

HWY_INLINE V8 Gray8(V8 r, V8 g, V8 b) {
  // Even and odd pixels in 16-bit lanes; both results are below 256, and interleave again by a shift.
  const D8 d8;
  const D16 d16;
  const V16 mask = hn::Set(d16, 0xff);
  const auto even = [&](V8 v) HWY_ATTR { return hn::And(hn::BitCast(d16, v), mask); };
  const auto odd = [&](V8 v) HWY_ATTR { return hn::ShiftRight<8>(hn::BitCast(d16, v)); };
  const V16 gray_even = Gray16(even(r), even(g), even(b));
  const V16 gray_odd = Gray16(odd(r), odd(g), odd(b));
  return hn::BitCast(d8, hn::Or(gray_even, hn::ShiftLeft<8>(gray_odd)));
}

// As many pixels as whole vectors hold; returns their number.
int GrayVectors(const uint8_t* pixels, int channels, bool blue_first, int width, uint8_t* gray) {
  const D8 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    V8 first, green, last, alpha;
    if (channels == 3) {
      hn::LoadInterleaved3(d, pixels + 3 * static_cast<ptrdiff_t>(x), first, green, last);
    } else {
      hn::LoadInterleaved4(d, pixels + 4 * static_cast<ptrdiff_t>(x), first, green, last, alpha);
    }
    hn::StoreU(blue_first ? Gray8(last, green, first) : Gray8(first, green, last), d, gray + x);
  }
  return x;
}

int PairVectors(const uint8_t* pairs, int which, int width, uint8_t* bytes) {
  const D8 d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    V8 first, second;
    hn::LoadInterleaved2(d, pairs + 2 * static_cast<ptrdiff_t>(x), first, second);
    hn::StoreU(which == 0 ? first : second, d, bytes + x);
  }
  return x;
}
#else
int GrayVectors(const uint8_t*, int, bool, int, uint8_t*) { return 0; }
int PairVectors(const uint8_t*, int, int, uint8_t*) { return 0; }
#endif

void GrayRow(const uint8_t* pixels, int channels, bool blue_first, int width, uint8_t* gray) {
  for (int x = GrayVectors(pixels, channels, blue_first, width, gray); x < width; ++x) {
    const uint8_t* p = pixels + channels * static_cast<ptrdiff_t>(x);
    gray[x] = blue_first ? GrayFromRgb(p[2], p[1], p[0]) : GrayFromRgb(p[0], p[1], p[2]);
  }
}

void ByteOfPairs(const uint8_t* pairs, int which, int width, uint8_t* bytes) {
  for (int x = PairVectors(pairs, which, width, bytes); x < width; ++x) {
    bytes[x] = pairs[2 * static_cast<ptrdiff_t>(x) + which];
  }
}

}  // namespace glint::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::decode {

HWY_EXPORT(GrayRow);
HWY_EXPORT(ByteOfPairs);

void GrayRow(const uint8_t* pixels, int channels, bool blue_first, int width, uint8_t* gray) {
  HWY_DYNAMIC_DISPATCH(GrayRow)(pixels, channels, blue_first, width, gray);
}

void ByteOfPairs(const uint8_t* pairs, int which, int width, uint8_t* bytes) {
  HWY_DYNAMIC_DISPATCH(ByteOfPairs)(pairs, which, width, bytes);
}

}  // namespace glint::decode
#endif  // HWY_ONCE
