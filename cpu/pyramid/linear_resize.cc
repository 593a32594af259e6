// cv::resize with INTER_LINEAR, downwards: rows first, then columns, exactly as LinearRow and LinearColumn.
//
// Across, as for INTER_LINEAR_EXACT: one shuffle brings the 8 pairs of 8 output pixels together. Weights have 11 bits:
// 16 * coarse + fine. A row's result is (16 * C + F) >> 4 = C + (F >> 4) with the sums C and F of coarse and of fine
// products, so that two multiply-adds of bytes do. Down: the high halves of two products of 16 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pyramid/linear_resize.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>

#include "cpu/common/quadtree_stages.h"
#include "cpu/common/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// mixed[x] = LinearRow of output column x.
void MixAcross(const LinearTables& t, const uint8_t* row, int16_t* HWY_RESTRICT mixed) {
  if (!t.in_groups) {
    for (int x = 0; x < t.to.width; ++x) {
      const LinearTap tap = t.across[x];
      const uint8_t* p = row + tap.at;
      mixed[x] = static_cast<int16_t>(LinearRow(tap, p[0], p[tap.next_weight != 0]));
    }
    return;
  }
  const D8 d8;
  const hn::RebindToSigned<D8> dw;
  const size_t groups = (static_cast<size_t>(t.to.width) + 7) / 8;
  for (size_t g = 0; g < groups; g += kBlocks) {
    const int32_t* from_x = t.from_x.data() + g;
    const V8 pairs = hn::TableLookupBytes(LoadBlocks([&](size_t i) { return row + from_x[i]; }),
                                          hn::LoadU(d8, t.shuffle.data() + g * 16));
    const auto coarse = MultiplyPairsOfBytes(pairs, hn::LoadU(dw, t.coarse.data() + g * 16));
    const auto fine = MultiplyPairsOfBytes(pairs, hn::LoadU(dw, t.fine.data() + g * 16));
    hn::StoreU(hn::Add(coarse, hn::ShiftRight<4>(fine)), D16(), mixed + g * 8);
  }
}

// out[x] = LinearColumn of two mixed rows.
void MixDown(const int16_t* HWY_RESTRICT at, const int16_t* HWY_RESTRICT next, LinearTap tap, int width,
             uint8_t* HWY_RESTRICT out) {
  const D16 d16;
  const hn::Half<D8> d8;
  const auto weight = hn::Set(d16, static_cast<int16_t>(tap.weight));
  const auto next_weight = hn::Set(d16, static_cast<int16_t>(tap.next_weight));
  const auto two = hn::Set(d16, 2);
  for (int x = 0; x < width; x += static_cast<int>(HWY_LANES(int16_t))) {
    const auto sum = hn::Add(HighHalf(hn::LoadU(d16, at + x), weight), HighHalf(hn::LoadU(d16, next + x), next_weight));
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<2>(hn::Add(sum, two))), d8, out + x);
  }
}

void LinearResize(const LinearTables& t, const ImageView& image, int y0, int y1, uint8_t* out, ptrdiff_t out_stride,
                  int16_t* scratch) {
  int16_t* mixed[2] = {scratch, scratch + ResizeScratchPitch(t.to.width)};
  int row_of[2] = {-1, -1};
  // The buffer that holds input row y, mixed now if neither does. `other` must stay.
  const auto mix = [&](int y, int other) {
    const int slot = row_of[0] == y ? 0 : row_of[1] == y ? 1 : row_of[0] == other ? 1 : 0;
    if (row_of[slot] != y) {
      MixAcross(t, image.row(y), mixed[slot]);
      row_of[slot] = y;
    }
    return mixed[slot];
  };
  for (int y = y0; y < y1; ++y) {
    const LinearTap tap = t.down[y];
    const int next = tap.next_weight != 0 ? tap.at + 1 : tap.at;
    const int16_t* upper = mix(tap.at, next);
    const int16_t* lower = mix(next, tap.at);
    MixDown(upper, lower, tap, t.to.width, out + y * out_stride);
  }
}

void AddLinearResize(QuadtreeStages* stages) { stages->resize = &LinearResize; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
HWY_EXPORT(AddLinearResize);
void AddLinearResize(int64_t target, QuadtreeStages* stages) {
  HWY_DISPATCH_TABLE(AddLinearResize)[GLINT_CPU_TABLE_INDEX(target)](stages);
}

namespace {

// Where to read the 16 bytes for output columns from `first` on: not past the end of a row that is long enough.
int FirstByte(const LinearTables& t, int first) { return std::max(std::min(t.across[first].at, t.from.width - 16), 0); }

bool InGroups(const LinearTables& t) {
  for (int first = 0; first < t.to.width; first += 8) {
    const LinearTap last = t.across[std::min(first + 8, t.to.width) - 1];
    if (last.at + (last.next_weight != 0) - FirstByte(t, first) > 15) return false;
  }
  return true;
}

// A weight as 16 * coarse + fine; 2048, the greatest, as 16 * 127 + 16.
void SplitWeight(int weight, int8_t* coarse, int8_t* fine) {
  const int high = std::min(weight >> 4, 127);
  *coarse = static_cast<int8_t>(high);
  *fine = static_cast<int8_t>(weight - 16 * high);
}

// The tables of the group whose first output column is `first`.
void MakeGroup(size_t group, int first, LinearTables* t) {
  const int from = FirstByte(*t, first);
  t->from_x[group] = from;
  for (int i = 0; i < 8; ++i) {
    const LinearTap tap = t->across[std::min(first + i, t->to.width - 1)];
    const size_t at = group * 16 + 2 * static_cast<size_t>(i);
    t->shuffle[at] = static_cast<uint8_t>(tap.at - from);
    t->shuffle[at + 1] = static_cast<uint8_t>(tap.at - from + (tap.next_weight != 0));
    SplitWeight(tap.weight, &t->coarse[at], &t->fine[at]);
    SplitWeight(tap.next_weight, &t->coarse[at + 1], &t->fine[at + 1]);
  }
}

}  // namespace

void MakeLinearTables(Shape from, Shape to, LinearTables* t) {
  t->from = from;
  t->to = to;
  const auto axis = [](int from_side, int to_side, std::vector<LinearTap>* taps) {
    taps->resize(static_cast<size_t>(to_side));
    for (int i = 0; i < to_side; ++i) (*taps)[i] = MakeLinearTap(i, from_side, to_side);
  };
  axis(from.width, to.width, &t->across);
  axis(from.height, to.height, &t->down);
  t->in_groups = InGroups(*t);
  if (!t->in_groups) return;
  // Whole vectors of groups: the last is repeated.
  const size_t groups = (static_cast<size_t>(to.width) + 7) / 8;
  const size_t padded = (groups + 3) / 4 * 4;
  t->from_x.resize(padded);
  t->shuffle.resize(padded * 16);
  t->coarse.resize(padded * 16);
  t->fine.resize(padded * 16);
  for (size_t g = 0; g < padded; ++g) MakeGroup(g, static_cast<int>(std::min(g, groups - 1)) * 8, t);
}

}  // namespace glint::cpu
#endif
