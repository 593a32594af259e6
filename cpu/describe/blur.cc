// Gaussian 7x7, sigma 2, in floats as cv::ORB's blur (GaussianRow, GaussianColumn), where descriptors will look.
//
// A run is one block wide and up to kBlurRows high. Down each of its columns of vectors, the row pass's last results
// are in registers. Each result depends on its pixel alone: which others are computed does not change it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/describe/blur.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <type_traits>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/describe/patch_copy.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using DF8 = hn::Rebind<uint8_t, DF>;  // as many bytes as a vector has floats

constexpr int kFloats = static_cast<int>(HWY_LANES(float));
static_assert(kBlurBlock % kFloats == 0, "blocks are whole vectors");

// A result is a chain of sums, each of which waits for the one before: some rows take turns.
constexpr int kRowsAtOnce = 4;

template <int kRows, class F>
HWY_INLINE void ForRows(const F& f) {
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) f(i);
}

// The row pass of kRows rows of a vector of pixels. from: the third pixel before them.
template <int kRows>
HWY_INLINE void PassRows(const VF* w, const uint8_t* HWY_RESTRICT from, ptrdiff_t stride, VF* HWY_RESTRICT sum) {
  const DF d;
  VF at0[kRows];
  VF at4[kRows];
  VF at8[kRows];
  const auto pixels = [&](int i, int x) HWY_ATTR {
    return hn::ConvertTo(d, hn::PromoteTo(D32(), hn::LoadU(DF8(), from + i * stride + x)));
  };
  ForRows<kRows>([&](int i) HWY_ATTR { at0[i] = pixels(i, 0); });
  ForRows<kRows>([&](int i) HWY_ATTR { at4[i] = pixels(i, 4); });
  ForRows<kRows>([&](int i) HWY_ATTR { at8[i] = pixels(i, 8); });
  // Lanes are shifted in blocks of four: two vectors, four pixels apart, have what lies between.
  const auto add = [&](VF weight, const auto& shifted) HWY_ATTR {
    ForRows<kRows>([&](int i) HWY_ATTR { sum[i] = FusedMulAdd(weight, shifted(i), sum[i]); });
  };
  ForRows<kRows>([&](int i) HWY_ATTR { sum[i] = hn::Mul(w[0], at0[i]); });
  add(w[1], [&](int i) HWY_ATTR { return hn::CombineShiftRightLanes<1>(d, at4[i], at0[i]); });
  add(w[2], [&](int i) HWY_ATTR { return hn::CombineShiftRightLanes<2>(d, at4[i], at0[i]); });
  add(w[3], [&](int i) HWY_ATTR { return hn::CombineShiftRightLanes<3>(d, at4[i], at0[i]); });
  add(w[2], [&](int i) HWY_ATTR { return at4[i]; });
  add(w[1], [&](int i) HWY_ATTR { return hn::CombineShiftRightLanes<1>(d, at8[i], at4[i]); });
  add(w[0], [&](int i) HWY_ATTR { return hn::CombineShiftRightLanes<2>(d, at8[i], at4[i]); });
}

// The column pass of kRows rows. r: the row pass's results from three rows above on.
template <int kRows>
HWY_INLINE void PassColumns(const VF* w, const VF* r, uint8_t* HWY_RESTRICT out, ptrdiff_t stride) {
  const hn::RebindToUnsigned<D32> du;
  const auto low_byte = hn::Set(D32(), 0xff);
  VF sum[kRows];
  ForRows<kRows>([&](int i) HWY_ATTR { sum[i] = hn::Mul(w[3], r[i + 3]); });
  ForRows<kRows>([&](int i) HWY_ATTR { sum[i] = FusedMulAdd(w[2], hn::Add(r[i + 4], r[i + 2]), sum[i]); });
  ForRows<kRows>([&](int i) HWY_ATTR { sum[i] = FusedMulAdd(w[1], hn::Add(r[i + 5], r[i + 1]), sum[i]); });
  ForRows<kRows>([&](int i) HWY_ATTR { sum[i] = FusedMulAdd(w[0], hn::Add(r[i + 6], r[i]), sum[i]); });
  ForRows<kRows>([&](int i) HWY_ATTR {
    // 0..255: the weights add up to 1.
    const auto rounded = hn::BitCast(du, hn::And(RoundedPlusMagicBits(sum[i]), low_byte));
    hn::StoreU(hn::U8FromU32(rounded), DF8(), out + i * stride);
  });
}

// A column of vectors; `from` is three rows above and three pixels before the first.
HWY_INLINE void BlurVectors(const uint8_t* HWY_RESTRICT from, ptrdiff_t stride, int rows, uint8_t* HWY_RESTRICT out,
                            ptrdiff_t out_stride) {
  constexpr int kAround = 2 * kGaussianRadius;
  VF w[4];
  for (int i = 0; i < 4; ++i) w[i] = hn::Set(DF(), GaussianWeight(i));
  VF r[kAround + kRowsAtOnce];
  PassRows<kAround>(w, from, stride, r);
  from += kAround * stride;
  const auto step = [&](auto count) HWY_ATTR {
    constexpr int kRows = count;
    PassRows<kRows>(w, from, stride, r + kAround);
    PassColumns<kRows>(w, r, out, out_stride);
#pragma GCC unroll 6
    for (int i = 0; i < kAround; ++i) r[i] = r[i + kRows];
    from += kRows * stride;
    out += kRows * out_stride;
  };
  for (; rows >= kRowsAtOnce; rows -= kRowsAtOnce) step(std::integral_constant<int, kRowsAtOnce>());
  for (; rows > 0; --rows) step(std::integral_constant<int, 1>());
}

void Blur(const BlurJob& job) {
  const int count = job.y1 - job.y0;
  const int first = job.x - kGaussianRadius;
  const bool inside = first >= 0 && first + kBlurPixels <= job.image.width && job.y0 >= kGaussianRadius &&
                      job.y1 + kGaussianRadius <= job.image.height;
  uint8_t copy[(kBlurRows + 2 * kGaussianRadius) * kBlurPixels];
  const uint8_t* pixels = copy;
  ptrdiff_t stride = kBlurPixels;
  if (HWY_LIKELY(inside)) {
    pixels = job.image.row(job.y0 - kGaussianRadius) + first;
    stride = job.image.stride;
  } else {
    CopyPatch(job.image, first, job.y0 - kGaussianRadius, kBlurPixels, count + 2 * kGaussianRadius, copy, stride);
  }
  uint8_t* out = job.out + job.y0 * job.out_stride + job.x;
  for (int i = 0; i < kBlurBlock; i += kFloats) {
    BlurVectors(pixels + i, stride, count, out + i, job.out_stride);
  }
}

void AddBlur(Stages* stages) { stages->blur = &Blur; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddBlur)
}  // namespace glint::cpu
#endif
