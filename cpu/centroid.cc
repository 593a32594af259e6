// Orientation by intensity centroid, as cv::ORB's ICAngles.
//
// Rows v and -v of the disc have the same width, so both moments come from sums S and differences D of the two rows:
// m10 = sum of u * S(u), m01 = sum of v * D_v(u). Each column's sums stay within 16 bits for discs up to radius 15 (31
// rows of 255; 120 * 255), and only the last step needs 32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/centroid.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/patch_copy.h"
#include "cpu/simd-inl.h"
#include "cpu/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr int kColumns = CentroidTable::kLanes;
using DColumns = hn::CappedTag<int16_t, kColumns>;  // all columns at once, or half or a quarter of them
using VColumns = hn::Vec<DColumns>;

struct Moments {
  int x;
  int y;
};

// centre: the point itself. Reads columns -16..15 of rows -half..half.
HWY_INLINE Moments MomentsOfDisc(const CentroidTable& t, const uint8_t* centre, ptrdiff_t stride) {
  const DColumns d;
  const hn::Rebind<uint8_t, DColumns> d8;
  const hn::Repartition<int32_t, DColumns> d32;
  alignas(64) static constexpr int16_t kU[kColumns] = {-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6,
                                                       -5,  -4,  -3,  -2,  -1,  0,   1,   2,  3,  4,  5,
                                                       6,   7,   8,   9,   10,  11,  12,  13, 14, 15};
  auto x0 = hn::Zero(d32);
  auto x1 = hn::Zero(d32);
  auto y0 = hn::Zero(d32);
  auto y1 = hn::Zero(d32);
  const VColumns one = hn::Set(d, 1);
  for (size_t u = 0; u < static_cast<size_t>(kColumns); u += hn::Lanes(d)) {
    const uint8_t* column = centre + u - 16;
    const auto load = [&](ptrdiff_t v) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(d8, column + v * stride)); };
    VColumns sum = hn::And(load(0), hn::Load(d, t.inside[0] + u));
    VColumns moment = hn::Zero(d);
    for (int v = 1; v <= t.half; ++v) {
      const VColumns inside = hn::Load(d, t.inside[v] + u);
      const VColumns below = hn::And(load(v), inside);
      const VColumns above = hn::And(load(-v), inside);
      sum = hn::Add(sum, hn::Add(below, above));
      moment = hn::Add(moment, hn::Mul(hn::Sub(below, above), hn::Set(d, static_cast<int16_t>(v))));
    }
    x0 = hn::ReorderWidenMulAccumulate(d32, sum, hn::Load(d, kU + u), x0, x1);
    y0 = hn::ReorderWidenMulAccumulate(d32, moment, one, y0, y1);
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
    for (int u = -disc.half_width[v]; u <= disc.half_width[v]; ++u) t.inside[v][u + CentroidTable::kLanes / 2] = -1;
  }
  return t;
}

}  // namespace glint::cpu
#endif
