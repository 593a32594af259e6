// Harris measure at single points: 3x3 Sobel gradients over a 7x7 window, in integers, as cv::ORB's HarrisResponses.
//
// A row of the window is a vector of 8 16-bit lanes, the last one masked. Each of the 9 input rows is read once: its
// horizontal difference and its horizontal smoothing are combined over three rows to the two gradients, whose products
// are added in 32 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/harris.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/patch_copy.h"
#include "cpu/simd-inl.h"
#include "cpu/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using D16x8 = hn::CappedTag<int16_t, 8>;
using D32x4 = hn::CappedTag<int32_t, 4>;
using V16x8 = hn::Vec<D16x8>;
using V32x4 = hn::Vec<D32x4>;

// One input row's part in the gradients of 8 neighbouring pixels.
struct RowGradient {
  V16x8 difference;  // p(+1) - p(-1)
  V16x8 smooth;      // p(-1) + 2 p(0) + p(+1)
};

// p: the pixel left of the first of the 8. Reads 10 bytes.
HWY_INLINE RowGradient LoadRow(const uint8_t* p) {
  const hn::CappedTag<uint8_t, 8> d8;
  const D16x8 d;
  const V16x8 left = hn::PromoteTo(d, hn::LoadU(d8, p));
  const V16x8 centre = hn::PromoteTo(d, hn::LoadU(d8, p + 1));
  const V16x8 right = hn::PromoteTo(d, hn::LoadU(d8, p + 2));
  return {hn::Sub(right, left), hn::Add(hn::Add(left, right), hn::Add(centre, centre))};
}

HWY_INLINE void AddSquares(V16x8 a, V16x8 b, V32x4* sum0, V32x4* sum1) {
  *sum0 = hn::ReorderWidenMulAccumulate(D32x4(), a, b, *sum0, *sum1);
}

// corner: the pixel 4 up and 4 left of the point.
HWY_INLINE float HarrisOfPatch(const uint8_t* corner, ptrdiff_t stride) {
  const D16x8 d;
  const D32x4 d32;
  alignas(16) static constexpr int16_t kWindow[8] = {-1, -1, -1, -1, -1, -1, -1, 0};
  const V16x8 window = hn::Load(d, kWindow);
  RowGradient above = LoadRow(corner);
  RowGradient at = LoadRow(corner + stride);
  V32x4 xx[2] = {hn::Zero(d32), hn::Zero(d32)};
  V32x4 yy[2] = {hn::Zero(d32), hn::Zero(d32)};
  V32x4 xy[2] = {hn::Zero(d32), hn::Zero(d32)};
  for (int v = 0; v < kHarrisBlock; ++v) {
    const RowGradient below = LoadRow(corner + (v + 2) * stride);
    const V16x8 twice = hn::Add(at.difference, at.difference);
    const V16x8 dx = hn::And(hn::Add(hn::Add(above.difference, below.difference), twice), window);
    const V16x8 dy = hn::And(hn::Sub(below.smooth, above.smooth), window);
    AddSquares(dx, dx, &xx[0], &xx[1]);
    AddSquares(dy, dy, &yy[0], &yy[1]);
    AddSquares(dx, dy, &xy[0], &xy[1]);
    above = at;
    at = below;
  }
  const auto total = [d32](const V32x4* sum)
                         HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d32, hn::Add(sum[0], sum[1]))); };
  return HarrisResponse(total(xx), total(yy), total(xy));
}

void Harris(const ImageView& image, const uint32_t* where, size_t count, float* response) {
  for (size_t i = 0; i < count; ++i) {
    const int x = PointX(where[i]) - kHarrisRadius;
    const int y = PointY(where[i]) - kHarrisRadius;
    constexpr int kSide = 2 * kHarrisRadius + 1;
    if (HWY_LIKELY(x >= 0 && y >= 0 && x + kSide + 1 <= image.width && y + kSide <= image.height)) {
      response[i] = HarrisOfPatch(image.row(y) + x, image.stride);
    } else {
      uint8_t patch[kSide * 16];
      CopyPatch(image, x, y, kSide + 1, kSide, patch, 16);
      response[i] = HarrisOfPatch(patch, 16);
    }
  }
}

void AddHarris(Stages* stages) { stages->harris = &Harris; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddHarris)
}  // namespace glint::cpu
#endif
