// Orientation by intensity centroid, as cv::ORB's ICAngles.
//
// Rows v and -v of the disc have the same width, so both moments come from sums S and differences D of the two rows:
// m10 = sum of u * S(u), m01 = sum of v * D_v(u). With the two rows interleaved, each is one multiply-add of bytes.
// Columns' sums stay within 16 bits for discs up to radius 15 (31 rows of 255; 120 * 255); only the last step needs 32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/describe/centroid.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/describe/patch_copy.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr int kColumns = CentroidTable::kLanes;
using DColumns8 = hn::CappedTag<uint8_t, kColumns>;  // all columns at once, or half of them
using DColumns = hn::Repartition<int16_t, DColumns8>;

struct Moments {
  int x;
  int y;
};

// Per column, the sums of its pixels and of pixels times v.
struct ColumnSums {
  hn::Vec<DColumns> sum;
  hn::Vec<DColumns> moment;

  // A row pair's pixels and their weights, interleaved.
  HWY_INLINE void Add(hn::Vec<DColumns8> pixels, const int8_t* sum_weights, const int8_t* difference_weights) {
    const hn::RebindToSigned<DColumns8> d;
    sum = hn::Add(sum, MultiplyPairsOfBytes(pixels, hn::LoadU(d, sum_weights)));
    moment = hn::Add(moment, MultiplyPairsOfBytes(pixels, hn::LoadU(d, difference_weights)));
  }
};

// centre: the point itself. Reads columns -16..15 of rows -half..half.
HWY_INLINE Moments MomentsOfDisc(const CentroidTable& t, const uint8_t* centre, ptrdiff_t stride) {
  const DColumns8 d8;
  const DColumns d;
  const hn::RebindToSigned<DColumns8> di8;
  const hn::Repartition<int32_t, DColumns> d32;
  constexpr size_t kLanes = hn::MaxLanes(DColumns8());
  const CentroidTable::Weights& weights = kLanes == 32 ? t.by_32 : t.by_16;
  alignas(64) static constexpr int8_t kU[kColumns] = {-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6,
                                                      -5,  -4,  -3,  -2,  -1,  0,   1,   2,  3,  4,  5,
                                                      6,   7,   8,   9,   10,  11,  12,  13, 14, 15};
  auto x0 = hn::Zero(d32);
  auto x1 = hn::Zero(d32);
  auto y0 = hn::Zero(d32);
  auto y1 = hn::Zero(d32);
  const auto one = hn::Set(d, 1);
  for (size_t u = 0; u < static_cast<size_t>(kColumns); u += kLanes) {
    const uint8_t* column = centre + u - kColumns / 2;
    ColumnSums lower = {hn::Zero(d), hn::Zero(d)};
    ColumnSums upper = {hn::Zero(d), hn::Zero(d)};
    for (int v = 0; v <= t.half; ++v) {
      const auto below = hn::LoadU(d8, column + v * stride);
      const auto above = hn::LoadU(d8, column - v * stride);
      const int8_t* sum = weights.sum[v][u];
      const int8_t* difference = weights.difference[v][u];
      lower.Add(hn::InterleaveLower(d8, below, above), sum, difference);
      upper.Add(hn::InterleaveUpper(d8, below, above), sum + kLanes, difference + kLanes);
    }
    const auto columns = hn::Load(di8, kU + u);
    const auto lower_u = hn::ShiftRight<8>(hn::BitCast(d, hn::InterleaveLower(di8, columns, columns)));
    const auto upper_u = hn::ShiftRight<8>(hn::BitCast(d, hn::InterleaveUpper(di8, columns, columns)));
    x0 = hn::ReorderWidenMulAccumulate(d32, lower.sum, lower_u, x0, x1);
    x0 = hn::ReorderWidenMulAccumulate(d32, upper.sum, upper_u, x0, x1);
    y0 = hn::ReorderWidenMulAccumulate(d32, lower.moment, one, y0, y1);
    y0 = hn::ReorderWidenMulAccumulate(d32, upper.moment, one, y0, y1);
  }
  return {hn::GetLane(hn::SumOfLanes(d32, hn::Add(x0, x1))), hn::GetLane(hn::SumOfLanes(d32, hn::Add(y0, y1)))};
}

Moments MomentsOfLargeDisc(const PatchDisc& disc, const uint8_t* centre, ptrdiff_t stride) {
  Moments m = {0, 0};
  for (int v = -disc.half; v <= disc.half; ++v) {
    const int half_width = disc.half_width[v < 0 ? -v : v];
    const uint8_t* row = centre + v * stride;
    int sum = 0;
    for (int u = -half_width; u <= half_width; ++u) {
      m.x += u * row[u];
      sum += row[u];
    }
    m.y += v * sum;
  }
  return m;
}

void Centroid(const ImageView& image, const CentroidTable& t, const uint32_t* where, size_t count, float* angle) {
  const bool small = t.half <= CentroidTable::kMaxHalf;
  const int before = small ? kColumns / 2 : t.half;
  const int width = small ? kColumns : 2 * t.half + 1;
  for (size_t i = 0; i < count; ++i) {
    const int x = PointX(where[i]) - before;
    const int y = PointY(where[i]) - t.half;
    const uint8_t* centre;
    ptrdiff_t stride;
    uint8_t patch[64 * 64];
    if (HWY_LIKELY(x >= 0 && y >= 0 && x + width <= image.width && y + 2 * t.half < image.height)) {
      centre = image.row(PointY(where[i])) + PointX(where[i]);
      stride = image.stride;
    } else {
      CopyPatch(image, x, y, width, 2 * t.half + 1, patch, 64);
      centre = patch + t.half * 64 + before;
      stride = 64;
    }
    const Moments m = small ? MomentsOfDisc(t, centre, stride) : MomentsOfLargeDisc(t.disc, centre, stride);
    angle[i] = FastAtan2(static_cast<float>(m.y), static_cast<float>(m.x));
  }
}

void AddCentroid(Stages* stages) { stages->centroid = &Centroid; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddCentroid)

CentroidTable MakeCentroidTable(const PatchDisc& disc) {
  CentroidTable t;
  t.half = disc.half;
  t.disc = disc;
  if (disc.half > CentroidTable::kMaxHalf) return t;
  for (int v = 0; v <= disc.half; ++v) {
    for (int u = -disc.half_width[v]; u <= disc.half_width[v]; ++u) {
      const int column = u + CentroidTable::kLanes / 2;
      constexpr int kPlace[4] = {0, 2, 1, 3};
      const auto set = [v](CentroidTable::Weights* weights, int place) {
        weights->sum[v][place][0] = 1;
        weights->sum[v][place][1] = v == 0 ? 0 : 1;
        weights->difference[v][place][0] = static_cast<int8_t>(v);
        weights->difference[v][place][1] = static_cast<int8_t>(-v);
      };
      set(&t.by_16, column);
      set(&t.by_32, kPlace[column / 8] * 8 + column % 8);
    }
  }
  return t;
}

}  // namespace glint::cpu
#endif
