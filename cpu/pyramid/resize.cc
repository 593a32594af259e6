// cv::resize with INTER_LINEAR_EXACT, downwards: rows first, then columns, exactly as ResizeRow and ResizeColumn.
//
// Across: 8 output pixels come from at most 16 neighbouring input bytes for factors up to 2, so one shuffle brings the
// 8 pairs together and one multiply-add mixes them (a weight of 256 with 0 becomes 255 and 1 of the same pixel). Up to
// factors of 4.6, 4 output pixels do, and two shuffles bring together 4 pairs each.
// Results are 16 bits less 32768, which makes them signed. An input row is mixed once and serves the one or two output
// rows that need it. Down: one multiply-add of interleaved rows in 32 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pyramid/resize.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

template <int kLoads>
HWY_INLINE void MixGroups(const ResizeTables& t, const uint8_t* row, int16_t* HWY_RESTRICT mixed) {
  const D8 d8;
  const size_t groups = (static_cast<size_t>(t.to.width) + 7) / 8;
  const auto bytes = [&](int load, size_t g) HWY_ATTR {
    const int32_t* from_x = t.from_x[load].data() + g;
    return hn::TableLookupBytesOr0(LoadBlocks([&](size_t i) { return row + from_x[i]; }),
                                   hn::LoadU(d8, t.shuffle[load].data() + g * 16));
  };
  for (size_t g = 0; g < groups; g += kBlocks) {
    V8 pairs = bytes(0, g);
    if (kLoads == 2) pairs = hn::Or(pairs, bytes(1, g));
    hn::StoreU(MixPairs(pairs, hn::LoadU(d8, t.weight.data() + g * 16)), D16(), mixed + g * 8);
  }
}

// mixed[x] = ResizeRow of output column x, less 32768.
void MixAcross(const ResizeTables& t, const uint8_t* row, int16_t* HWY_RESTRICT mixed) {
  if (t.loads == 1) return MixGroups<1>(t, row, mixed);
  if (t.loads == 2) return MixGroups<2>(t, row, mixed);
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

constexpr uint8_t kNoByte = 0x80;  // in a shuffle: zero

// Where to read the 16 bytes for output columns from `first` on: not past the end of a row that is long enough.
int FirstByte(const ResizeTables& t, int first) { return std::max(std::min(t.at_x[first], t.from.width - 16), 0); }

// Whether the pixels for every `count` neighbouring output columns are among 16 bytes.
bool Fits(const ResizeTables& t, int count) {
  for (int first = 0; first < t.to.width; first += count) {
    const int last = std::min(first + count, t.to.width) - 1;
    if (t.at_x[last] + (t.weight_x[last] != 0) - FirstByte(t, first) > 15) return false;
  }
  return true;
}

// The tables of the group whose first output column is `first`.
void MakeGroup(size_t group, int first, ResizeTables* t) {
  const int count = std::min(8, t->to.width - first);
  const int per_load = 8 / t->loads;
  for (int i = 0; i < 8; ++i) {
    const int x = first + std::min(i, count - 1);
    const int load = i / per_load;
    const int from = FirstByte(*t, first + std::min(load * per_load, count - 1));
    const int at = t->at_x[x] - from;
    const int weight = t->weight_x[x];
    const bool one_pixel = weight == 0 || weight == 256;
    const int pixel = weight == 256 ? at + 1 : at;
    t->from_x[load][group] = from;
    for (int l = 0; l < t->loads; ++l) {
      uint8_t* const shuffle = &t->shuffle[l][group * 16];
      shuffle[2 * i] = l == load ? static_cast<uint8_t>(pixel) : kNoByte;
      shuffle[2 * i + 1] = l == load ? static_cast<uint8_t>(one_pixel ? pixel : at + 1) : kNoByte;
    }
    t->weight[group * 16 + 2 * i] = static_cast<uint8_t>(one_pixel ? 255 : 256 - weight);
    t->weight[group * 16 + 2 * i + 1] = static_cast<uint8_t>(one_pixel ? 1 : weight);
  }
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
  t->loads = Fits(*t, 8) ? 1 : Fits(*t, 4) ? 2 : 0;
  if (t->loads == 0) return;
  for (int load = 0; load < t->loads; ++load) {
    t->from_x[load].resize(padded);
    t->shuffle[load].resize(padded * 16);
  }
  t->weight.resize(padded * 16);
  for (size_t g = 0; g < padded; ++g) MakeGroup(g, static_cast<int>(std::min(g, groups - 1)) * 8, t);
}

}  // namespace glint::cpu
#endif
