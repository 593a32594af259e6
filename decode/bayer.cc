#include "decode/bayer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decode/bayer.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace glint::decode::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr uint32_t kRed = 4899, kGreen = 9617, kBlue = 1868;  // 14 fraction bits

// Three rows, and the weights of the two colours of the middle one: `own` of its red or blue samples, `other` of the
// colour in the rows beside it.
struct Rows {
  const uint8_t* above;
  const uint8_t* row;
  const uint8_t* below;
  uint32_t own;
  uint32_t other;

  // Sums around column x.
  uint32_t Diagonal(int x) const { return above[x - 1] + above[x + 1] + below[x - 1] + below[x + 1]; }
  uint32_t Across(int x) const { return row[x - 1] + row[x + 1]; }
  uint32_t Down(int x) const { return above[x] + below[x]; }
};

uint8_t RoundedAtColour(const Rows& r, int x) {
  const uint32_t sum = r.Diagonal(x) * r.other + (r.Across(x) + r.Down(x)) * kGreen + 4 * r.row[x] * r.own;
  return static_cast<uint8_t>((sum + (1 << 15)) >> 16);
}
uint8_t RoundedAtGreen(const Rows& r, int x) {
  const uint32_t sum = r.Across(x) * r.own + r.Down(x) * r.other + 2 * r.row[x] * kGreen;
  return static_cast<uint8_t>((sum + (1 << 14)) >> 15);
}

uint32_t High(uint32_t a, uint32_t b) { return (a * b) >> 16; }
uint8_t CutAtColour(const Rows& r, int x) {
  const uint32_t cross = 2 * (r.Across(x) + r.Down(x)) + (r.above[x - 1] >> 7) + (r.below[x - 1] >> 7);
  return static_cast<uint8_t>(
      (High(2 * r.Diagonal(x), 2 * r.other) + High(cross, 2 * kGreen) + High(8 * r.row[x], 2 * r.own)) >> 2);
}
uint8_t CutAtGreen(const Rows& r, int x) {
  return static_cast<uint8_t>(
      (High(4 * r.Down(x), 2 * r.other) + High(8 * r.row[x], 2 * kGreen) + High(4 * r.Across(x), 2 * r.own)) >> 2);
}

#if HWY_TARGET != HWY_SCALAR
// CutAtColour() and CutAtGreen() in turn from column `x`, which has a colour, while whole vectors end at `end` or
// before it; returns the column after the last. Reads no column beyond `end`.
int CutVectors(const Rows& r, int x, int end, uint8_t* gray) {
  using D = hn::ScalableTag<uint16_t>;
  const D d;
  const hn::Repartition<uint8_t, D> d8;
  using V = hn::Vec<D>;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const V low = hn::Set(d, 0xff), own = hn::Set(d, static_cast<uint16_t>(2 * r.own)),
          other = hn::Set(d, static_cast<uint16_t>(2 * r.other)), green = hn::Set(d, static_cast<uint16_t>(2 * kGreen));
  for (; x + 2 * lanes <= end; x += 2 * lanes, gray += 2 * lanes) {
    // From each row, the columns x - 1, x, x + 1, x + 2 of every pair of columns, one in a 16-bit lane.
    const auto pairs = [&](const uint8_t* row, int at) HWY_ATTR { return hn::BitCast(d, hn::LoadU(d8, row + at)); };
    const V above = pairs(r.above, x - 1), above2 = pairs(r.above, x + 1);
    const V middle = pairs(r.row, x - 1), middle2 = pairs(r.row, x + 1);
    const V below = pairs(r.below, x - 1), below2 = pairs(r.below, x + 1);
    const auto even = [&](V v) HWY_ATTR { return hn::And(v, low); };
    const auto odd = [&](V v) HWY_ATTR { return hn::ShiftRight<8>(v); };
    const V centre = odd(middle), next = even(middle2);

    const V down2 = hn::Add(even(above2), even(below2));
    const V diagonal = hn::Add(hn::Add(even(above), even(below)), down2);
    const V cross = hn::Add(hn::Add(odd(above), odd(below)), hn::Add(even(middle), next));
    const V slipped = hn::Add(hn::ShiftRight<7>(even(above)), hn::ShiftRight<7>(even(below)));
    const V at_colour = hn::Add(hn::Add(hn::MulHigh(hn::Add(diagonal, diagonal), other),
                                        hn::MulHigh(hn::Add(hn::Add(cross, cross), slipped), green)),
                                hn::MulHigh(hn::ShiftLeft<3>(centre), own));
    const V across = hn::Add(centre, odd(middle2));
    const V at_green =
        hn::Add(hn::Add(hn::MulHigh(hn::ShiftLeft<2>(down2), other), hn::MulHigh(hn::ShiftLeft<3>(next), green)),
                hn::MulHigh(hn::ShiftLeft<2>(across), own));
    const V both = hn::Or(hn::ShiftRight<2>(at_colour), hn::ShiftLeft<8>(hn::ShiftRight<2>(at_green)));
    hn::StoreU(hn::BitCast(d8, both), d8, gray);
  }
  return x;
}
#else
int CutVectors(const Rows&, int x, int, uint8_t*) { return x; }
#endif

void BayerRow(const uint8_t* above, const uint8_t* row, const uint8_t* below, int y, int width, int first, int count,
              uint8_t* gray) {
  const bool red = y % 2 == 0;  // and green; else green and blue
  const Rows rows = {above, row, below, red ? kRed : kBlue, red ? kBlue : kRed};
  const int parity = red ? 0 : 1;  // of the columns that have a colour
  // Columns of OpenCV's vectors: from the first inner one with a colour on.
  constexpr int kStep = 14, kNeeded = 18;
  const int inner = width - 2;
  const int cut_begin = red ? 2 : 1;
  const int cut_end = inner >= kNeeded ? cut_begin + ((inner - kNeeded) / kStep + 1) * kStep : cut_begin;

  const int end = first + count;
  for (int x = first; x < end;) {
    const int at = std::min(std::max(x, 1), width - 2);
    const bool colour = at % 2 == parity;
    const bool cut = at >= cut_begin && at < cut_end;
    if (cut && colour && at == x) {
      const int done = CutVectors(rows, x, std::min(end, cut_end), gray + (x - first));
      if (done > x) {
        x = done;
        continue;
      }
    }
    gray[x - first] = cut ? (colour ? CutAtColour(rows, at) : CutAtGreen(rows, at))
                          : (colour ? RoundedAtColour(rows, at) : RoundedAtGreen(rows, at));
    ++x;
  }
}

}  // namespace glint::decode::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::decode {

HWY_EXPORT(BayerRow);

void BayerRow(const uint8_t* above, const uint8_t* row, const uint8_t* below, int y, int width, int first, int count,
              uint8_t* gray) {
  HWY_DYNAMIC_DISPATCH(BayerRow)(above, row, below, y, width, first, count, gray);
}

}  // namespace glint::decode
#endif  // HWY_ONCE
