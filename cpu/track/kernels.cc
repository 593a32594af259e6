// Sums over patches. Samples of the image are used as they are made and never stored.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/track/kernels.cc"
#include <algorithm>

#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/simd-inl.h"
#include "cpu/track/kernels.h"
#include "cpu/track/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// A vector of the array, which starts at block (column, row).
HWY_INLINE V16 LoadPatch(const int16_t* array, int size, int column, int row) {
  return hn::LoadU(D16(), array + TrackBlockAt(size, column, row));
}

void ReadWindow(const TrackWindow& window, int size, TrackPatch* patch) {
  const Sampler sampler(window, size + 2);
  for (int column = 0; column < TrackColumns(size + 2); ++column) {
    int16_t* const to = patch->window + column * kTrackBlock;
    sampler.ForEachRow(column, [&](int row, V16 samples)
                                   HWY_ATTR { StoreRows(samples, to + row * TrackPatch::kPitch, TrackPatch::kPitch); });
  }
}

template <IntensityModel kModel>
TemplateSums MakeTemplate(const TrackWindow& window, int size, const TrackMask& mask, TrackPatch* patch) {
  constexpr bool kOffset = EstimatesOffset(kModel);
  constexpr bool kGain = EstimatesGain(kModel);
  enum { kXX, kXY, kYY, kXT, kYT, kX, kY, kT, kXB = kOffset ? 8 : 5, kYB, kBB, kBT, kB };
  constexpr int kCount = 5 + (kOffset ? 3 : 0) + (kGain ? 4 : 0) + (kOffset && kGain ? 1 : 0);
  ReadWindow(window, size, patch);
  const D16 d;
  const V16 one = hn::Set(d, 1);
  const V16 scharr_middle = hn::Set(d, kScharrMiddle);
  const V16 scharr_beside = hn::Set(d, kScharrBeside);
  PairSums<kCount> sums;
  constexpr int kPitch = TrackPatch::kPitch;
  ForEachColumn(TrackColumns(size), PaddedTrackRows(size), &sums, [&](int column) HWY_ATTR {
    for (int row = 0; row < PaddedTrackRows(size); row += kVectorRows) {
      const int16_t* const middle = patch->window + (row + 1) * kPitch + column * kTrackBlock + 1;
      const int at = TrackBlockAt(size, column, row);
      const V16 counts = hn::Neg(hn::LoadU(d, mask.counts + at));
      const V16 sample = LoadRows(middle, kPitch);
      V16 lines[3][3];  // the samples around those of the vector; [1][1] is `sample`
      for (int i = 0; i < 9; ++i) {
        if (i != 4) lines[i / 3][i % 3] = LoadRows(middle + (i / 3 - 1) * kPitch + i % 3 - 1, kPitch);
      }
      const auto gradient = [&](V16 inner, V16 before, V16 after) HWY_ATTR {
        const V16 beside = hn::MulFixedPoint15(hn::Add(before, after), scharr_beside);
        return hn::And(hn::Add(hn::MulFixedPoint15(inner, scharr_middle), beside), counts);
      };
      const V16 x = gradient(hn::Sub(lines[1][2], lines[1][0]), hn::Sub(lines[0][2], lines[0][0]),
                             hn::Sub(lines[2][2], lines[2][0]));
      const V16 y = gradient(hn::Sub(lines[2][1], lines[0][1]), hn::Sub(lines[2][0], lines[0][0]),
                             hn::Sub(lines[2][2], lines[0][2]));
      hn::StoreU(sample, d, patch->sample + at);
      hn::StoreU(x, d, patch->gradient_x + at);
      hn::StoreU(y, d, patch->gradient_y + at);
      sums.Add(kXX, x, x);
      sums.Add(kXY, x, y);
      sums.Add(kYY, y, y);
      sums.Add(kXT, x, sample);
      sums.Add(kYT, y, sample);
      if constexpr (kOffset) {
        sums.Add(kX, x, one);
        sums.Add(kY, y, one);
        sums.Add(kT, hn::And(sample, counts), one);
      }
      if constexpr (kGain) {
        const V16 basis = hn::And(hn::ShiftRight<3>(hn::Add(sample, hn::Set(d, 4))), counts);
        hn::StoreU(basis, d, patch->basis + at);
        sums.Add(kXB, x, basis);
        sums.Add(kYB, y, basis);
        sums.Add(kBB, basis, basis);
        sums.Add(kBT, basis, sample);
        if constexpr (kOffset) sums.Add(kB, basis, one);
      }
    }
  });
  TemplateSums result = {};
  result.n = mask.n;
  result.xx = sums.Sum(kXX);
  result.xy = sums.Sum(kXY);
  result.yy = sums.Sum(kYY);
  result.xt = sums.Sum(kXT);
  result.yt = sums.Sum(kYT);
  if constexpr (kOffset) {
    result.x = sums.Sum(kX);
    result.y = sums.Sum(kY);
    result.t = sums.Sum(kT);
  }
  if constexpr (kGain) {
    result.xb = sums.Sum(kXB);
    result.yb = sums.Sum(kYB);
    result.bb = sums.Sum(kBB);
    result.bt = sums.Sum(kBT);
    if constexpr (kOffset) result.b = sums.Sum(kB);
  }
  return result;
}

template <IntensityModel kModel>
CellSums Cell(const TrackWindow& window, int size, const TrackMask& mask, const TrackPatch& patch) {
  constexpr bool kOffset = EstimatesOffset(kModel);
  constexpr bool kGain = EstimatesGain(kModel);
  CornerProducts x, y, one, b;
  const PixelReader reader(window, size);
  for (int column = 0; column < TrackColumns(size); ++column) {
    reader.ForEachRow(column, [&](int row, const CornerPixels& pixels) HWY_ATTR {
      x.Add(pixels, LoadPatch(patch.gradient_x, size, column, row));
      y.Add(pixels, LoadPatch(patch.gradient_y, size, column, row));
      if constexpr (kOffset) one.Add(pixels, LoadPatch(mask.counts, size, column, row));
      if constexpr (kGain) b.Add(pixels, LoadPatch(patch.basis, size, column, row));
    });
  }
  CellSums sums = {};
  x.Store(&CornerSums::x, &sums);
  y.Store(&CornerSums::y, &sums);
  if constexpr (kOffset) one.Store(&CornerSums::one, &sums);
  if constexpr (kGain) b.Store(&CornerSums::b, &sums);
  return sums;
}

ResidualSums Residual(const TrackWindow& window, int size, const TrackMask& mask, const TrackPatch& patch) {
  const D16 d;
  const V16 two = hn::Set(d, 2);
  const Sampler sampler(window, size);
  PairSums<3> sums;
  ForEachColumn(TrackColumns(size), size, &sums, [&](int column) HWY_ATTR {
    sampler.ForEachRow(column, [&](int row, V16 samples) HWY_ATTR {
      const V16 counts = LoadPatch(mask.counts, size, column, row);
      const V16 difference = hn::Sub(samples, LoadPatch(patch.sample, size, column, row));
      const V16 residual = hn::And(hn::ShiftRight<2>(hn::Add(difference, two)), hn::Neg(counts));
      sums.Add(0, residual, residual);
      sums.Add(1, residual, counts);
      sums.Add(2, residual, LoadPatch(patch.basis, size, column, row));
    });
  });
  return {sums.Sum(0), sums.Sum(1), sums.Sum(2)};
}

void HalveRow(const uint8_t* const* rows, int width, int16_t* scratch, uint8_t* out) {
  const D16 d;
  const D32 d32;
  const hn::Rebind<uint8_t, D16> bytes;
  const hn::Rebind<uint8_t, D32> quarter;
  // Sums down each column; the first and the last one are repeated outside.
  constexpr int kBefore = 16;
  int16_t* const sums = scratch + kBefore;
  const auto sum_at = [&](int x) {
    int sum = 0;
    for (int i = 0; i < kPyramidTaps; ++i) sum += PyramidWeight(i) * rows[i][x];
    return static_cast<int16_t>(sum);
  };
  const int lanes = static_cast<int>(hn::Lanes(d));
  int x = 0;
  for (; x + lanes <= width; x += lanes) {
    const auto at = [&](int i) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(bytes, rows[i] + x)); };
    const V16 inner = hn::Mul(hn::Add(at(2), at(3)), hn::Set(d, 10));
    const V16 middle = hn::Mul(hn::Add(at(1), at(4)), hn::Set(d, 5));
    hn::StoreU(hn::Add(hn::Add(at(0), at(5)), hn::Add(inner, middle)), d, sums + x);
  }
  for (; x < width; ++x) sums[x] = sum_at(x);
  std::fill_n(sums - kPyramidReach, kPyramidReach, sums[0]);
  std::fill_n(sums + width, kPyramidTaps, sums[width - 1]);

  // Pairs of weights for pairs of sums.
  const auto pair = [&](int first) HWY_ATTR {
    return hn::BitCast(d, hn::Set(d32, PyramidWeight(first) | PyramidWeight(first + 1) << 16));
  };
  const V16 weights[3] = {pair(0), pair(2), pair(4)};
  const int half_lanes = lanes / 2;
  for (x = 0; x + half_lanes <= width / 2; x += half_lanes) {
    V32 sum = hn::Set(d32, 512);
    for (int i = 0; i < 3; ++i) {
      sum = hn::Add(sum, MultiplyPairs(hn::LoadU(d, sums + 2 * x + 2 * i - kPyramidReach), weights[i]));
    }
    hn::StoreU(hn::DemoteTo(quarter, hn::ShiftRight<10>(sum)), quarter, out + x);
  }
  for (; x < width / 2; ++x) {
    int sum = 0;
    for (int i = 0; i < kPyramidTaps; ++i) sum += PyramidWeight(i) * sums[2 * x + i - kPyramidReach];
    out[x] = static_cast<uint8_t>(PyramidPixel(sum));
  }
}

void AddTrackKernels(TrackKernels* kernels) {
  *kernels = {{&MakeTemplate<IntensityModel::kSame>, &MakeTemplate<IntensityModel::kOffset>,
               &MakeTemplate<IntensityModel::kGain>, &MakeTemplate<IntensityModel::kGainAndOffset>},
              {&Cell<IntensityModel::kSame>, &Cell<IntensityModel::kOffset>, &Cell<IntensityModel::kGain>,
               &Cell<IntensityModel::kGainAndOffset>},
              &Residual,
              &HalveRow};
}

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
HWY_EXPORT(AddTrackKernels);

void FillTrackMask(int size, int x0, int y0, int x1, int y1, TrackMask* mask) {
  mask->n = 0;
  for (int column = 0; column < TrackColumns(size); ++column) {
    for (int y = 0; y < PaddedTrackRows(size); ++y) {
      for (int i = 0; i < kTrackBlock; ++i) {
        const int x = column * kTrackBlock + i;
        const bool counts = x >= x0 && x < x1 && y >= y0 && y < y1;
        mask->counts[TrackBlockAt(size, column, y) + i] = counts ? 1 : 0;
        mask->n += counts;
      }
    }
  }
}

TrackKernels TrackKernelsFor(int64_t target) {
  TrackKernels kernels = {};
  HWY_DISPATCH_TABLE(AddTrackKernels)[GLINT_CPU_TABLE_INDEX(target)](&kernels);
  return kernels;
}

}  // namespace glint::cpu
#endif
