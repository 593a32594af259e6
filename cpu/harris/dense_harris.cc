// Harris measure at every pixel: 3x3 Sobel gradients, sums of their products over a square window, in integers.
//
// Row by row. A multiply-add of neighbouring gradients gives the sum of a pair of products. The windows of two
// neighbouring pixels share all pairs but the outermost, so horizontal sums are made for even and odd columns in pairs.
// Vertical sums are prefix sums from the first row on, modulo 2^32: a window's sum is the difference of two of them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/harris/dense_harris.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <limits>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using DH = hn::Rebind<uint8_t, D16>;  // as many bytes as there are 16-bit lanes

// Offsets of a scratch row's pixel 0: room for reflections on the left.
constexpr size_t kMargin = kDenseHarrisMargin;

using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;
constexpr ptrdiff_t kLanes32 = static_cast<ptrdiff_t>(HWY_LANES(int32_t));

struct Rows {
  Rows(const DenseHarrisJob& job, int32_t* scratch)
      : block(job.block),
        pitch(DenseHarrisPitch(job.image.width)),
        smooth(reinterpret_cast<int16_t*>(scratch) + kMargin),
        difference(smooth + pitch),
        dx(difference + pitch),
        dy(dx + pitch),
        ring(scratch + 2 * pitch) {}

  // Sums up to row y, which is at least -block: for each two vectors of columns xx of the even ones, xx of the odd
  // ones, yy and xy likewise.
  int32_t* SumsTo(int y) const { return ring + static_cast<size_t>((y + 2 * block) % block) * 3 * pitch; }

  const int block;
  const size_t pitch;         // elements
  int16_t* const smooth;      // p(-1) + 2 p(0) + p(+1), down
  int16_t* const difference;  // p(+1) - p(-1), down
  int16_t* const dx;
  int16_t* const dy;
  int32_t* const ring;
};

// Elements -reach..-1 and width..width + reach - 1 of a row, from those inside.
template <typename T>
HWY_INLINE void ReflectEnds(T* row, int width, int reach) {
  T* const last = row + width - 1;
  for (int i = 1; i <= reach; ++i) {
    // Of a wide image, what Reflect101 says too.
    row[-i] = row[HWY_LIKELY(reach < width) ? i : Reflect101(-i, width)];
    last[i] = HWY_LIKELY(reach < width) ? last[-i] : row[Reflect101(width - 1 + i, width)];
  }
}

// Both passes over three rows down; 16 bits each.
HWY_INLINE void MixDown(const ImageView& image, int y, int16_t* HWY_RESTRICT smooth, int16_t* HWY_RESTRICT difference) {
  const D16 d;
  const DH bytes;
  const uint8_t* const above = image.row(Reflect101(y - 1, image.height));
  const uint8_t* const at = image.row(y);
  const uint8_t* const below = image.row(Reflect101(y + 1, image.height));
  const auto mix = [&](int x) HWY_ATTR {
    const auto a = hn::PromoteTo(d, hn::LoadU(bytes, above + x));
    const auto b = hn::PromoteTo(d, hn::LoadU(bytes, at + x));
    const auto c = hn::PromoteTo(d, hn::LoadU(bytes, below + x));
    hn::StoreU(hn::Add(hn::Add(a, c), hn::Add(b, b)), d, smooth + x);
    if (difference != nullptr) hn::StoreU(hn::Sub(c, a), d, difference + x);
  };
  // The last vector ends with the row, or reads the margin of a narrow image.
  const int last = std::max(image.width - static_cast<int>(hn::Lanes(d)), 0);
  for (int x = 0; x < last; x += static_cast<int>(hn::Lanes(d))) mix(x);
  mix(last);
}

HWY_INLINE void Gradients(const ImageView& image, int y, int reach, const Rows& rows) {
  const D16 d;
  const int width = image.width;
  MixDown(image, y, rows.smooth, rows.difference);
  ReflectEnds(rows.smooth, width, 1);
  ReflectEnds(rows.difference, width, 1);
  for (int x = 0; x < width; x += static_cast<int>(hn::Lanes(d))) {
    const auto across = hn::Sub(hn::LoadU(d, rows.smooth + x + 1), hn::LoadU(d, rows.smooth + x - 1));
    hn::Store(across, d, rows.dx + x);
    const auto centre = hn::Load(d, rows.difference + x);
    const auto sides = hn::Add(hn::LoadU(d, rows.difference + x - 1), hn::LoadU(d, rows.difference + x + 1));
    hn::Store(hn::Add(sides, hn::Add(centre, centre)), d, rows.dy + x);
  }
  ReflectEnds(rows.dx, width, reach);
  ReflectEnds(rows.dy, width, reach);
}

// Sums of products of gradients.
struct Products {
  V32 xx;
  V32 yy;
  V32 xy;

  // Of pairs of neighbours; left_* are dx and dy, or those of them that count.
  static HWY_INLINE Products OfPairs(V16 left_dx, V16 left_dy, V16 dx, V16 dy) {
    return {MultiplyPairs(left_dx, dx), MultiplyPairs(left_dy, dy), MultiplyPairs(left_dx, dy)};
  }
  HWY_INLINE Products operator+(const Products& other) const {
    return {hn::Add(xx, other.xx), hn::Add(yy, other.yy), hn::Add(xy, other.xy)};
  }
};

struct EvenAndOdd {
  Products even;
  Products odd;
};

// Over the 2 * radius + 1 pixels of a row around each of the columns x, x + 1, ... of two vectors.
HWY_INLINE EvenAndOdd SumAcross(const Rows& rows, int x, int radius) {
  const D16 d;
  const V16 first_of_pair = hn::BitCast(d, hn::Set(D32(), 0xffff));
  const auto pairs = [&](int at) HWY_ATTR {
    const V16 dx = hn::LoadU(d, rows.dx + x + at);
    const V16 dy = hn::LoadU(d, rows.dy + x + at);
    return Products::OfPairs(dx, dy, dx, dy);
  };
  // The pairs that even and odd columns share lie between -ends and ends.
  const int ends = (radius + 1) / 2 * 2;
  Products sum = pairs(2 - ends);
#pragma GCC unroll 8
  for (int at = 4 - ends; at < ends; at += 2) sum = sum + pairs(at);
  const V16 left_dx = hn::LoadU(d, rows.dx + x - ends);
  const V16 left_dy = hn::LoadU(d, rows.dy + x - ends);
  const V16 right_dx = hn::LoadU(d, rows.dx + x + ends);
  const V16 right_dy = hn::LoadU(d, rows.dy + x + ends);
  const Products left = Products::OfPairs(hn::AndNot(first_of_pair, left_dx), hn::AndNot(first_of_pair, left_dy),  //
                                          left_dx, left_dy);
  const Products right = Products::OfPairs(hn::And(first_of_pair, right_dx), hn::And(first_of_pair, right_dy),  //
                                           right_dx, right_dy);
  if (radius % 2 != 0) return {sum + left, sum + right};
  return {sum + pairs(-ends) + right, sum + left + pairs(ends)};
}

HWY_INLINE V32 SlideDown(V32 entering, const int32_t* before, int32_t* at) {
  const D32 d;
  const V32 leaving = hn::Load(d, at);
  const V32 sum = hn::Add(hn::Load(d, before), entering);
  hn::Store(sum, d, at);
  return hn::Sub(sum, leaving);
}

// Adds a row's sums to those up to the row before, and returns the window's.
HWY_INLINE EvenAndOdd SlideDown(const EvenAndOdd& entering, const int32_t* before, int32_t* at) {
  // Without a constructor of its own: on AArch64 GCC 12 gives that no target with vectors.
  return {{SlideDown(entering.even.xx, before, at),  //
           SlideDown(entering.even.yy, before + 2 * kLanes32, at + 2 * kLanes32),
           SlideDown(entering.even.xy, before + 4 * kLanes32, at + 4 * kLanes32)},
          {SlideDown(entering.odd.xx, before + kLanes32, at + kLanes32),
           SlideDown(entering.odd.yy, before + 3 * kLanes32, at + 3 * kLanes32),
           SlideDown(entering.odd.xy, before + 5 * kLanes32, at + 5 * kLanes32)}};
}

// As HarrisResponse.
HWY_INLINE VF Response(const Products& sums, VF k, VF scale) {
  const DF d;
  const VF a = hn::ConvertTo(d, sums.xx);
  const VF b = hn::ConvertTo(d, sums.yy);
  const VF c = hn::ConvertTo(d, sums.xy);
  const VF trace = hn::Add(a, b);
  const VF determinant = hn::Sub(hn::Mul(a, b), hn::Mul(c, c));
  return hn::Mul(hn::Sub(determinant, hn::Mul(hn::Mul(k, trace), trace)), scale);
}

// kRadius 0: not known at compile time.
template <int kRadius>
HWY_INLINE void Enter(const DenseHarrisJob& job, int y, int32_t* scratch, DenseRow* out) {
  const DF d;
  const Rows rows(job, scratch);
  const int width = job.image.width;
  const int radius = kRadius > 0 ? kRadius : job.block / 2;
  Gradients(job.image, Reflect101(y, job.image.height), radius, rows);
  const int32_t* const before = rows.SumsTo(y - 1);
  int32_t* const at = rows.SumsTo(y);
  if (out == nullptr) {
    for (int x = 0; x < width; x += kDenseBlock) SlideDown(SumAcross(rows, x, radius), before + 3 * x, at + 3 * x);
    return;
  }
  float* HWY_RESTRICT responses = out->responses;
  uint16_t* HWY_RESTRICT active = out->active;
  size_t active_count = 0;
  const VF k = hn::Set(d, job.k);
  const VF scale = hn::Set(d, HarrisScale4(job.block));
  const VF threshold = hn::Set(d, job.threshold);
  VF greatest = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (int x = 0; x < width; x += kDenseBlock) {
    const EvenAndOdd window = SlideDown(SumAcross(rows, x, radius), before + 3 * x, at + 3 * x);
    VF even = Response(window.even, k, scale);
    VF odd = Response(window.odd, k, scale);
    hn::StoreInterleaved2(even, odd, d, responses + x);
    if (HWY_UNLIKELY(x + kDenseBlock > width)) {
      // Beyond the row, the greatest so far once more.
      even = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(width - x + 1) / 2), even, greatest);
      odd = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(width - x) / 2), odd, greatest);
    }
    const VF most = hn::Max(even, odd);
    greatest = hn::Max(greatest, most);
    active[active_count] = static_cast<uint16_t>(x);
    active_count += hn::AllFalse(d, hn::Gt(most, threshold)) ? 0 : 1;
  }
  responses[-1] = responses[width] = -std::numeric_limits<float>::infinity();
  out->active_count = active_count;
  out->max_response = hn::GetLane(hn::MaxOfLanes(d, greatest));
}

void DenseHarris(const DenseHarrisJob& job, int y, int32_t* scratch, DenseRow* out) {
  switch (job.block) {
    case 3:
      return Enter<1>(job, y, scratch, out);
    case 7:
      return Enter<3>(job, y, scratch, out);
    default:
      return Enter<0>(job, y, scratch, out);
  }
}

void Smooth3x3(const ImageView& image, int y0, int y1, int16_t* scratch, uint8_t* out, ptrdiff_t out_stride) {
  const D16 d;
  const DH bytes;
  int16_t* const row = scratch + kMargin;
  for (int y = y0; y < y1; ++y) {
    MixDown(image, y, row, nullptr);
    ReflectEnds(row, image.width, 1);
    for (int x = 0; x < image.width; x += static_cast<int>(hn::Lanes(d))) {
      const auto centre = hn::LoadU(d, row + x);
      const auto sides = hn::Add(hn::LoadU(d, row + x - 1), hn::LoadU(d, row + x + 1));
      const auto sum = hn::Add(sides, hn::Add(centre, centre));
      hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<4>(hn::Add(sum, hn::Set(d, 8)))), bytes, out + y * out_stride + x);
    }
  }
}

void AddDenseHarris(Stages* stages) {
  stages->dense_harris = &DenseHarris;
  stages->smooth = &Smooth3x3;
}

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddDenseHarris)
}  // namespace glint::cpu
#endif
