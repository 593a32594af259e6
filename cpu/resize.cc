// cv::resize with INTER_LINEAR_EXACT, downwards: rows first, then columns, exactly as ResizeRow and ResizeColumn.
//
// Across: 8 output pixels come from at most 16 neighbouring input bytes for factors up to 2, so one shuffle brings the
// 8 pairs together and one multiply-add mixes them (a weight of 256 with 0 becomes 255 and 1 of the same pixel).
// Results are 16 bits less 32768, which makes them signed. An input row is mixed once and serves the one or two output
// rows that need it. Down: one multiply-add of interleaved rows in 32 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>

#include "cpu/simd-inl.h"
#include "cpu/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// mixed[x] = ResizeRow of output column x, less 32768.
void MixAcross(const ResizeTables& t, const uint8_t* row, int16_t* HWY_RESTRICT mixed) {
  if (t.vectors) {
    const D16 d;
    const D8 d8;
    const size_t groups = (static_cast<size_t>(t.to.width) + 7) / 8;
    const int32_t* from_x = t.from_x.data();
    const uint8_t* shuffle = t.shuffle.data();
    const uint8_t* weight = t.weight.data();
    for (size_t g = 0; g < groups; g += kBlocks) {
      const V8 pairs = hn::TableLookupBytes(LoadBlocks([&](size_t i) { return row + from_x[g + i]; }),
                                            hn::LoadU(d8, shuffle + g * 16));
      hn::StoreU(MixPairs(pairs, hn::LoadU(d8, weight + g * 16)), d, mixed + g * 8);
    }
    return;
  }
  for (int x = 0; x < t.to.width; ++x) {
    const uint8_t* p = row + t.at_x[x];
    const int next_weight = t.weight_x[x];
    mixed[x] = static_cast<int16_t>(ResizeRow(next_weight, p[0], p[next_weight != 0]) - 32768);
  }
}

// out[x] = ResizeColumn of two mixed rows.
void MixDown(const int16_t* HWY_RESTRICT at, const int16_t* HWY_RESTRICT next, int next_weight, int width,
             uint8_t* HWY_RESTRICT out) {
  const D16 d16;
  const D32 d32;
  const hn::Half<D8> d8;
  const auto weights = hn::BitCast(d16, hn::Set(d32, (next_weight << 16) | (256 - next_weight)));
  const auto bias = hn::Set(d32, 256 * 32768 + (1 << 15));
  for (int x = 0; x < width; x += static_cast<int>(HWY_LANES(int16_t))) {
    const auto a = hn::LoadU(d16, at + x);
    const auto b = hn::LoadU(d16, next + x);
    const auto low = hn::Add(MultiplyPairs(hn::InterleaveLower(d16, a, b), weights), bias);
    const auto high = hn::Add(MultiplyPairs(hn::InterleaveUpper(d16, a, b), weights), bias);
    // Interleaving and packing both work within blocks of 128 bits: the order comes back.
    const auto packed = hn::ReorderDemote2To(d16, hn::ShiftRight<16>(low), hn::ShiftRight<16>(high));
    hn::StoreU(hn::DemoteTo(d8, packed), d8, out + x);
  }
}

void Resize(const ResizeTables& t, const ImageView& image, int y0, int y1, uint8_t* out, ptrdiff_t out_stride,
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
    const int at = t.at_y[y];
    const int next_weight = t.weight_y[y];
    const int next = next_weight != 0 ? at + 1 : at;
    const int16_t* upper = mix(at, next);
    const int16_t* lower = mix(next, at);
    MixDown(upper, lower, next_weight, t.to.width, out + y * out_stride);
  }
}

void AddResize(Stages* stages) { stages->resize = &Resize; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddResize)

namespace {

// The tables of the group whose first output column is `first`. False if its pixels span more than 16 bytes.
bool MakeGroup(size_t group, int first, ResizeTables* t) {
  const int count = std::min(8, t->to.width - first);
  const auto last_read = [t](int x) { return t->at_x[x] + (t->weight_x[x] != 0); };
  // The 16 bytes must not pass the end of a row that is long enough to hold them.
  const int from = std::max(std::min(t->at_x[first], t->from.width - 16), 0);
  t->from_x[group] = from;
  if (last_read(first + count - 1) - from > 15) return false;
  uint8_t* shuffle = &t->shuffle[group * 16];
  uint8_t* weights = &t->weight[group * 16];
  for (int i = 0; i < 8; ++i) {
    const int x = first + std::min(i, count - 1);
    const int at = t->at_x[x] - from;
    const int weight = t->weight_x[x];
    const bool one_pixel = weight == 0 || weight == 256;
    const int pixel = weight == 256 ? at + 1 : at;
    shuffle[2 * i] = static_cast<uint8_t>(pixel);
    shuffle[2 * i + 1] = static_cast<uint8_t>(one_pixel ? pixel : at + 1);
    weights[2 * i] = static_cast<uint8_t>(one_pixel ? 255 : 256 - weight);
    weights[2 * i + 1] = static_cast<uint8_t>(one_pixel ? 1 : weight);
  }
  return true;
}

}  // namespace

void MakeResizeTables(Shape from, Shape to, ResizeTables* t) {
  t->from = from;
  t->to = to;
  const auto axis = [](int from_side, int to_side, std::vector<int32_t>* at, std::vector<uint16_t>* weight) {
    at->resize(static_cast<size_t>(to_side));
    weight->resize(static_cast<size_t>(to_side));
    for (int i = 0; i < to_side; ++i) {
      const ResizeTap tap = MakeResizeTap(i, from_side, to_side);
      (*at)[i] = tap.at;
      (*weight)[i] = static_cast<uint16_t>(tap.next_weight);
    }
  };
  axis(from.width, to.width, &t->at_x, &t->weight_x);
  axis(from.height, to.height, &t->at_y, &t->weight_y);
  // Whole vectors of groups: the last is repeated.
  const size_t groups = (static_cast<size_t>(to.width) + 7) / 8;
  const size_t padded = (groups + 3) / 4 * 4;
  t->from_x.resize(padded);
  t->shuffle.resize(padded * 16);
  t->weight.resize(padded * 16);
  t->vectors = true;
  for (size_t g = 0; g < padded; ++g) {
    const int first = static_cast<int>(std::min(g, groups - 1)) * 8;
    t->vectors = MakeGroup(g, first, t) && t->vectors;
  }
}

}  // namespace glint::cpu
#endif
