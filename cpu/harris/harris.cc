// Harris measure at single points: 3x3 Sobel gradients over a 7x7 window, in integers, as cv::ORB's HarrisResponses.
//
// Each 128 bits of a vector hold a row of one point's window, 8 16-bit lanes of which the last is masked; wide vectors
// work on several points at once. Each of the 9 input rows is read once: its horizontal difference and its horizontal
// smoothing are combined over three rows to the two gradients, whose products are added in 32 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/harris/harris.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/describe/patch_copy.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;

constexpr int kSide = 2 * kHarrisRadius + 1;  // of the patch that one point's measure depends on
constexpr int kReadWidth = 16;                // bytes that are read of each of its rows

// Where the patches of kBlocks points are.
struct Patches {
  const uint8_t* corner[kBlocks];  // top left
  ptrdiff_t stride[kBlocks];
};

// One input row's part in the gradients, for 8 neighbouring pixels of each point.
struct RowGradient {
  V16 difference;  // p(+1) - p(-1)
  V16 smooth;      // p(-1) + 2 p(0) + p(+1)
};

HWY_INLINE RowGradient LoadRow(const Patches& patches, int row) {
  const D8 d8;
  const D16 d;
  // Bytes i, i + 1, ... i + 7 of each block as 16 bits.
  alignas(16) static constexpr uint8_t kWiden[3][16] = {
      {0, 128, 1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 128, 7, 128},
      {1, 128, 2, 128, 3, 128, 4, 128, 5, 128, 6, 128, 7, 128, 8, 128},
      {2, 128, 3, 128, 4, 128, 5, 128, 6, 128, 7, 128, 8, 128, 9, 128}};
  const V8 bytes = LoadBlocks([&](size_t i) { return patches.corner[i] + row * patches.stride[i]; });
  const auto widen = [&](int i) HWY_ATTR {
    return hn::BitCast(d, hn::TableLookupBytesOr0(bytes, hn::LoadDup128(d8, kWiden[i])));
  };
  const V16 left = widen(0);
  const V16 centre = widen(1);
  const V16 right = widen(2);
  return {hn::Sub(right, left), hn::Add(hn::Add(left, right), hn::Add(centre, centre))};
}

// sum[i] of each block of 4 lanes, in all of them.
HWY_INLINE V32 SumOfBlocks(V32 v) {
  v = hn::Add(v, hn::Shuffle1032(v));
  return hn::Add(v, hn::Shuffle2301(v));
}

// As HarrisResponse.
HWY_INLINE VF Response(V32 xx, V32 yy, V32 xy) {
  const DF d;
  constexpr float kScale = 1.0f / (4 * kHarrisBlock * 255.0f);
  const VF a = hn::ConvertTo(d, xx);
  const VF b = hn::ConvertTo(d, yy);
  const VF c = hn::ConvertTo(d, xy);
  const VF trace = hn::Add(a, b);
  const VF determinant = hn::Sub(hn::Mul(a, b), hn::Mul(c, c));
  const VF measure = hn::Sub(determinant, hn::Mul(hn::Mul(hn::Set(d, 0.04f), trace), trace));
  return hn::Mul(measure, hn::Set(d, kScale * kScale * kScale * kScale));
}

HWY_INLINE void HarrisOfPatches(const Patches& patches, float* response) {
  const D16 d;
  const D32 d32;
  alignas(16) static constexpr int16_t kWindow[8] = {-1, -1, -1, -1, -1, -1, -1, 0};
  const V16 window = hn::LoadDup128(d, kWindow);
  RowGradient above = LoadRow(patches, 0);
  RowGradient at = LoadRow(patches, 1);
  V32 xx = hn::Zero(d32);
  V32 yy = hn::Zero(d32);
  V32 xy = hn::Zero(d32);
  for (int v = 0; v < kHarrisBlock; ++v) {
    const RowGradient below = LoadRow(patches, v + 2);
    const V16 twice = hn::Add(at.difference, at.difference);
    const V16 dx = hn::And(hn::Add(hn::Add(above.difference, below.difference), twice), window);
    const V16 dy = hn::And(hn::Sub(below.smooth, above.smooth), window);
    xx = hn::Add(xx, MultiplyPairs(dx, dx));
    yy = hn::Add(yy, MultiplyPairs(dy, dy));
    xy = hn::Add(xy, MultiplyPairs(dx, dy));
    above = at;
    at = below;
  }
  HWY_ALIGN float of_block[HWY_LANES(float)];
  hn::Store(Response(SumOfBlocks(xx), SumOfBlocks(yy), SumOfBlocks(xy)), DF(), of_block);
  for (size_t i = 0; i < kBlocks; ++i) response[i] = of_block[4 * i];
}

void Harris(const ImageView& image, const uint32_t* where, size_t count, float* response) {
  uint8_t copies[kBlocks][kSide * kReadWidth];
  const auto locate = [&](size_t i, size_t block, Patches* patches) {
    const int x = PointX(where[i]) - kHarrisRadius;
    const int y = PointY(where[i]) - kHarrisRadius;
    if (HWY_LIKELY(x >= 0 && y >= 0 && x + kReadWidth <= image.width && y + kSide <= image.height)) {
      patches->corner[block] = image.row(y) + x;
      patches->stride[block] = image.stride;
    } else {
      CopyPatch(image, x, y, kReadWidth, kSide, copies[block], kReadWidth);
      patches->corner[block] = copies[block];
      patches->stride[block] = kReadWidth;
    }
  };
  Patches patches;
  size_t i = 0;
  for (; i + kBlocks <= count; i += kBlocks) {
    for (size_t block = 0; block < kBlocks; ++block) locate(i + block, block, &patches);
    HarrisOfPatches(patches, response + i);
  }
  if (i == count) return;
  // The last points, with the very last repeated.
  float last[kBlocks];
  for (size_t block = 0; block < kBlocks; ++block) locate(std::min(i + block, count - 1), block, &patches);
  HarrisOfPatches(patches, last);
  std::copy(last, last + (count - i), response + i);
}

void AddHarris(Stages* stages) { stages->harris = &Harris; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddHarris)
}  // namespace glint::cpu
#endif
