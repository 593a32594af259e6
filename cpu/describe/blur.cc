// Gaussian 7x7, sigma 2, in floats as cv::ORB's blur (GaussianRow, GaussianColumn), where descriptors will look.
//
// A run is one block wide and up to kBlurRows high. Down each of its columns of vectors, the row pass's results for
// seven rows are in registers. Each result depends on its pixel alone: which others are computed does not change it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/describe/blur.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/describe/patch_copy.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using DF8 = hn::Rebind<uint8_t, DF>;  // as many bytes as a vector has floats

constexpr int kFloats = static_cast<int>(HWY_LANES(float));
static_assert(kBlurBlock % kFloats == 0, "blocks are whole vectors");

struct Weights {
  VF of[4];

  Weights() {
    for (int i = 0; i < 4; ++i) of[i] = hn::Set(DF(), GaussianWeight(i));
  }
};

// Row pass of the pixels from + 3 ..; reads the 8 after a vector of bytes.
HWY_INLINE VF BlurRow(const Weights& weights, const uint8_t* HWY_RESTRICT from) {
  const DF d;
  const auto pixels = [&](int i)
                          HWY_ATTR { return hn::ConvertTo(d, hn::PromoteTo(D32(), hn::LoadU(DF8(), from + i))); };
  // Lanes are shifted in blocks of four: two vectors, four pixels apart, hold what lies between.
  const VF at0 = pixels(0);
  const VF at4 = pixels(4);
  const VF at8 = pixels(8);
  const VF* w = weights.of;
  VF sum = hn::Mul(w[0], at0);
  sum = FusedMulAdd(w[1], hn::CombineShiftRightLanes<1>(d, at4, at0), sum);
  sum = FusedMulAdd(w[2], hn::CombineShiftRightLanes<2>(d, at4, at0), sum);
  sum = FusedMulAdd(w[3], hn::CombineShiftRightLanes<3>(d, at4, at0), sum);
  sum = FusedMulAdd(w[2], at4, sum);
  sum = FusedMulAdd(w[1], hn::CombineShiftRightLanes<1>(d, at8, at4), sum);
  return FusedMulAdd(w[0], hn::CombineShiftRightLanes<2>(d, at8, at4), sum);
}

// `rows` rows of a vector of pixels. from: the third pixel before them, three rows above.
HWY_INLINE void BlurVectors(const uint8_t* HWY_RESTRICT from, ptrdiff_t stride, int rows, uint8_t* HWY_RESTRICT out,
                            ptrdiff_t out_stride) {
  const DF8 d8;
  const hn::RebindToUnsigned<D32> du;
  const auto low_byte = hn::Set(D32(), 0xff);
  const Weights weights;
  const VF* w = weights.of;
  VF r[7];
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i, from += stride) r[i] = BlurRow(weights, from);
  for (; rows > 0; --rows, from += stride, out += out_stride) {
    r[6] = BlurRow(weights, from);
    VF sum = hn::Mul(w[3], r[3]);
    sum = FusedMulAdd(w[2], hn::Add(r[4], r[2]), sum);
    sum = FusedMulAdd(w[1], hn::Add(r[5], r[1]), sum);
    sum = FusedMulAdd(w[0], hn::Add(r[6], r[0]), sum);
    const auto rounded = hn::BitCast(du, hn::And(RoundedPlusMagicBits(sum), low_byte));  // 0..255: weights add up to 1
    hn::StoreU(hn::U8FromU32(rounded), d8, out);
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) r[i] = r[i + 1];
  }
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
