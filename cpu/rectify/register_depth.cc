// A row of the sensor is projected a vector of pixels at a time, and what they cover is then drawn pixel by pixel: most
// cover two columns and two rows at most, which takes no branches.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/rectify/register_depth.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/rectify/register_depth.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr int kDepthLanes = static_cast<int>(HWY_LANES(float));

// What a row of the sensor is projected with: its samples, the rays of the corners above and below its pixels, and
// those of the centres.
struct DepthRow {
  const uint8_t* samples;
  const float *above_x, *below_x, *above_y, *below_y, *above_w, *below_w, *centre_w;
};

// A copy of a row with less pixels than a vector has, all others without a measurement.
struct ShortDepthRow {
  ShortDepthRow(const DepthRow& row, int width) {
    const auto corners = static_cast<size_t>(width + 1), pixels = static_cast<size_t>(width);
    const float* const from[] = {row.above_x, row.below_x, row.above_y, row.below_y, row.above_w, row.below_w};
    for (size_t i = 0; i < 6; ++i) std::copy_n(from[i], corners, rays[i].begin());
    std::copy_n(row.centre_w, pixels, rays[6].begin());
    std::memcpy(samples.data(), row.samples, 2 * pixels);
  }
  DepthRow row() const {
    return {samples.data(), rays[0].data(), rays[1].data(), rays[2].data(),
            rays[3].data(), rays[4].data(), rays[5].data(), rays[6].data()};
  }

  std::array<std::array<float, kDepthLanes + 1>, 7> rays = {};
  std::array<uint8_t, size_t{2}* kDepthLanes> samples = {};
};

struct DepthProjection {
  float least, most;  // of the samples that count
  std::array<float, 3> offset;
  Shape image;
};

// Of each pixel of a vector: where the first of the image's pixels lies that it covers, how many columns and rows it
// covers after that one, the elements to the last row, and its depth less 1. One that does not count has kNoDepth.
struct DepthFootprints {
  HWY_ALIGN uint32_t first[kDepthLanes];
  HWY_ALIGN uint32_t columns[kDepthLanes];
  HWY_ALIGN uint32_t rows[kDepthLanes];
  HWY_ALIGN uint32_t depth[kDepthLanes];
};
constexpr uint16_t kNoDepth = 65535;

// What an axis' pixels are covered by: the integers within kMargin of four values, from 0 to side - 1. `exists` is
// false if there are none, or if the values lie too far apart.
struct Covered {
  hn::Vec<D32> first, more;
  hn::Mask<DF> exists;
};
HWY_INLINE Covered Cover(VF a, VF b, VF c, VF d, float side) {
  const DF df;
  const VF least = hn::Min(hn::Min(a, b), hn::Min(c, d)), most = hn::Max(hn::Max(a, b), hn::Max(c, d));
  const VF margin = hn::Set(df, DepthTable::kMargin);
  const VF from = hn::Max(hn::Sub(least, margin), hn::Zero(df));
  const VF to = hn::Min(hn::Add(most, margin), hn::Set(df, side - 1));
  const VF begin = hn::Ceil(hn::Min(from, hn::Set(df, side))), end = hn::Floor(hn::Max(to, hn::Set(df, -1.0F)));
  return {hn::ConvertTo(D32(), begin), hn::ConvertTo(D32(), hn::Sub(end, begin)),
          hn::And(hn::Le(hn::Sub(most, least), hn::Set(df, DepthTable::kMostPixels)), hn::Le(begin, end))};
}

enum class Covers { kNothing, kTwoByTwo, kMore };  // at most

HWY_INLINE Covers ProjectDepth(const DepthRow& row, int at, const DepthProjection& by, DepthFootprints* to) {
  const DF df;
  const D32 d32;
  const hn::Rebind<uint16_t, DF> d16;
  HWY_ALIGN uint16_t samples[kDepthLanes];
  std::memcpy(samples, row.samples + 2 * ptrdiff_t{at}, sizeof(samples));
  const VF z = hn::ConvertTo(df, hn::PromoteTo(d32, hn::Load(d16, samples)));
  auto good = hn::And(hn::Ge(z, hn::Set(df, by.least)), hn::Le(z, hn::Set(df, by.most)));
  if (hn::AllFalse(df, good)) return Covers::kNothing;
  const auto plus = [&](const float* rays, float offset) {
    return hn::Add(hn::Mul(hn::LoadU(df, rays), z), hn::Set(df, offset));
  };
  const VF w0 = plus(row.above_w + at, by.offset[2]), w1 = plus(row.above_w + at + 1, by.offset[2]),
           w2 = plus(row.below_w + at, by.offset[2]), w3 = plus(row.below_w + at + 1, by.offset[2]);
  const VF zero = hn::Zero(df);
  good =
      hn::And(good, hn::And(hn::And(hn::Gt(w0, zero), hn::Gt(w1, zero)), hn::And(hn::Gt(w2, zero), hn::Gt(w3, zero))));
  const auto covered = [&](const float* above, const float* below, float offset, int side) {
    return Cover(hn::Div(plus(above + at, offset), w0), hn::Div(plus(above + at + 1, offset), w1),
                 hn::Div(plus(below + at, offset), w2), hn::Div(plus(below + at + 1, offset), w3),
                 static_cast<float>(side));
  };
  const Covered x = covered(row.above_x, row.below_x, by.offset[0], by.image.width);
  const Covered y = covered(row.above_y, row.below_y, by.offset[1], by.image.height);
  const VF rounded = hn::Add(plus(row.centre_w + at, by.offset[2]), hn::Set(df, 0.5F));
  good = hn::And(good, hn::And(x.exists, y.exists));
  good = hn::And(good, hn::And(hn::Ge(rounded, hn::Set(df, 1.0F)), hn::Lt(rounded, hn::Set(df, 65536.0F))));
  if (hn::AllFalse(df, good)) return Covers::kNothing;
  const auto counts = hn::RebindMask(d32, good);
  const auto store = [&](hn::Vec<D32> values, uint32_t* stored) {
    hn::Store(hn::BitCast(hn::RebindToUnsigned<D32>(), hn::IfThenElseZero(counts, values)), hn::RebindToUnsigned<D32>(),
              stored);
  };
  const auto width = hn::Set(d32, by.image.width);
  store(hn::Add(hn::Mul(y.first, width), x.first), to->first);
  store(x.more, to->columns);
  store(y.more, to->rows);
  const auto depth = hn::Sub(hn::ConvertTo(d32, hn::IfThenElse(good, rounded, hn::Set(df, 65536.0F))), hn::Set(d32, 1));
  hn::Store(hn::BitCast(hn::RebindToUnsigned<D32>(), depth), hn::RebindToUnsigned<D32>(), to->depth);
  const auto more = hn::IfThenElseZero(counts, hn::Or(x.more, y.more));
  return hn::AllTrue(d32, hn::Lt(more, hn::Set(d32, 2))) ? Covers::kTwoByTwo : Covers::kMore;
}

// Into depths less 1.
HWY_INLINE void DrawTwoByTwo(const DepthFootprints& from, size_t width, uint16_t* to) {
  for (int i = 0; i < kDepthLanes; ++i) {
    const auto depth = static_cast<uint16_t>(from.depth[i]);
    const size_t right = from.columns[i];
    uint16_t* const upper = to + from.first[i];
    uint16_t* const lower = upper + from.rows[i] * width;
    // All are read before one is written: they may be the same.
    const uint16_t a = std::min(depth, upper[0]), b = std::min(depth, upper[right]);
    const uint16_t c = std::min(depth, lower[0]), d = std::min(depth, lower[right]);
    upper[0] = a;
    upper[right] = b;
    lower[0] = c;
    lower[right] = d;
  }
}

HWY_INLINE void DrawDepth(const DepthFootprints& from, size_t width, uint16_t* to) {
  for (int i = 0; i < kDepthLanes; ++i) {
    const auto depth = static_cast<uint16_t>(from.depth[i]);
    uint16_t* row = to + from.first[i];
    for (uint32_t y = 0; y <= from.rows[i]; ++y, row += width) {
      for (uint32_t x = 0; x <= from.columns[i]; ++x) row[x] = std::min(depth, row[x]);
    }
  }
}

void RegisterRows(const DepthView& depth, const DepthTable& table, uint16_t* to) {
  const SampleRange range = MeasuredSamples(depth.sensor);
  const DepthProjection by = {static_cast<float>(range.least), static_cast<float>(range.most),
                              table.OffsetIn(depth.sensor.unit), table.shape};
  const auto width = static_cast<size_t>(table.shape.width);
  DepthFootprints footprints;
  for (int y = 0; y < depth.height; ++y) {
    const ptrdiff_t above = y * ptrdiff_t{depth.width + 1}, below = above + depth.width + 1;
    const DepthRow row = {depth.data + y * depth.stride, table.x.data() + above,
                          table.x.data() + below,        table.y.data() + above,
                          table.y.data() + below,        table.w.data() + above,
                          table.w.data() + below,        table.centre_w.data() + y * ptrdiff_t{depth.width}};
    if (depth.width < kDepthLanes) {
      const ShortDepthRow copy(row, depth.width);
      if (ProjectDepth(copy.row(), 0, by, &footprints) != Covers::kNothing) DrawDepth(footprints, width, to);
      continue;
    }
    // The last vector may begin within the one before: what is drawn twice is the same.
    for (int x = 0; x < depth.width; x += kDepthLanes) {
      const int at = std::min(x, depth.width - kDepthLanes);
      const Covers covers = ProjectDepth(row, at, by, &footprints);
      if (covers == Covers::kTwoByTwo) DrawTwoByTwo(footprints, width, to);
      if (covers == Covers::kMore) DrawDepth(footprints, width, to);
    }
  }
}

void RegisterDepth(const DepthView& depth, const DepthTable& table, uint16_t* to) {
  uint16_t* const end = to + table.shape.pixels();
  std::fill(to, end, kNoDepth);
  RegisterRows(depth, table, to);
  std::for_each(to, end, [](uint16_t& pixel) { pixel = static_cast<uint16_t>(pixel + 1); });
}

void AddRegisterDepth(RegisterDepthFunction* function) { *function = &RegisterDepth; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
HWY_EXPORT(AddRegisterDepth);

RegisterDepthFunction RegisterDepthFor(int64_t target) {
  RegisterDepthFunction function = nullptr;
  HWY_DISPATCH_TABLE(AddRegisterDepth)[GLINT_CPU_TABLE_INDEX(target)](&function);
  return function;
}

RegisterDepthFunction BestRegisterDepth() { return RegisterDepthFor(BestSimdTarget()); }

// One comparison for each axis and one load for each sample: 375 us for 640x480, and 475 without.
void RemapDepth(const DepthView& depth, const RemapTable& table, uint16_t* to) {
  const auto width = static_cast<uint32_t>(depth.width), height = static_cast<uint32_t>(depth.height);
  const ptrdiff_t stride = depth.stride;
  const uint8_t* const data = depth.data;
  for (const RemapTable::Entry& at : table.entries) {
    const auto x = static_cast<uint32_t>(at.x + (at.fraction_x >> 4));  // below 0: beyond any
    const auto y = static_cast<uint32_t>(at.y + (at.fraction_y >> 4));
    const bool inside = static_cast<int>(x < width) & static_cast<int>(y < height);
    const ptrdiff_t place = inside ? static_cast<ptrdiff_t>(y) * stride + 2 * static_cast<ptrdiff_t>(x) : 0;
    if (inside) {
      std::memcpy(to, data + place, sizeof(*to));
    } else {
      *to = 0;
    }
    ++to;
  }
}

}  // namespace glint::cpu
#endif
