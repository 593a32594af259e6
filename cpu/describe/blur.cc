// Gaussian 7x7, sigma 2, in floats as cv::ORB's blur (GaussianRow, GaussianColumn), where descriptors will look.
//
// A run is one block wide and up to kBlurRows high. Three loops over its rows, pixels to floats, row pass, column pass,
// leave their results in the first-level cache, far enough ahead of their readers: a vector that spans two just-written
// ones would have to wait for both stores. Their numbers of turns depend on nothing but the rows, so that branches are
// foreseen. Each result depends on its pixel alone: which others are computed does not change it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/describe/blur.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/describe/blur_runs.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using DF8 = hn::Rebind<uint8_t, DF>;  // as many bytes as a vector has floats

constexpr int kFloats = static_cast<int>(HWY_LANES(float));
static_assert(kBlurBlock % kFloats == 0, "blocks are whole vectors");

// Pixels of a row that are read: those in use, in whole vectors.
constexpr int kPixels = (kBlurBlock + 2 * kGaussianRadius + kFloats - 1) / kFloats * kFloats;
static_assert(kPixels <= kBlurLine, "a row's room");
// With two vectors in a block, each has its neighbourhood in a cache line of its own, so that no load spans two lines.
constexpr bool kSplit = kBlurBlock == 2 * kFloats;
constexpr int LineOf(int i) { return kSplit ? 2 * i : i; }

// line[LineOf(i) + k] = pixel x + i + k - 3, for each vector i of the block and its neighbourhood.
HWY_INLINE void LoadPixels(const uint8_t* HWY_RESTRICT from, float* HWY_RESTRICT line) {
  const auto pixels = [&](int i)
                          HWY_ATTR { return hn::ConvertTo(DF(), hn::PromoteTo(D32(), hn::LoadU(DF8(), from + i))); };
#pragma GCC unroll 6
  for (int i = 0; i < kPixels; i += kFloats) {
    const VF v = pixels(i);
    if (!kSplit) {
      hn::Store(v, DF(), line + i);
      continue;
    }
    if (i < kBlurBlock) hn::Store(v, DF(), line + LineOf(i));
    if (i >= kFloats) hn::Store(v, DF(), line + LineOf(i - kFloats) + kFloats);
  }
}

struct Weights {
  VF of[4];

  Weights() {
    for (int i = 0; i < 4; ++i) of[i] = hn::Set(DF(), GaussianWeight(i));
  }
};

HWY_INLINE void BlurRow(const Weights& weights, const float* HWY_RESTRICT line, float* HWY_RESTRICT out) {
  const DF d;
  const VF* w = weights.of;
#pragma GCC unroll 4
  for (int i = 0; i < kBlurBlock; i += kFloats) {
    const float* p = line + LineOf(i);
    VF sum = hn::Mul(w[0], hn::Load(d, p));
    sum = FusedMulAdd(w[1], hn::LoadU(d, p + 1), sum);
    sum = FusedMulAdd(w[2], hn::LoadU(d, p + 2), sum);
    sum = FusedMulAdd(w[3], hn::LoadU(d, p + 3), sum);
    sum = FusedMulAdd(w[2], hn::LoadU(d, p + 4), sum);
    sum = FusedMulAdd(w[1], hn::LoadU(d, p + 5), sum);
    sum = FusedMulAdd(w[0], hn::LoadU(d, p + 6), sum);
    hn::Store(sum, d, out + i);
  }
}

// rows: the results of BlurRow for y - 3 .. y + 3, one after another.
HWY_INLINE void BlurColumn(const Weights& weights, const float* HWY_RESTRICT rows, uint8_t* HWY_RESTRICT out) {
  const DF d;
  const DF8 d8;
  const hn::RebindToUnsigned<D32> du;
  const auto low_byte = hn::Set(D32(), 0xff);
  const VF* w = weights.of;
#pragma GCC unroll 4
  for (int i = 0; i < kBlurBlock; i += kFloats) {
    const auto row = [&](int k) HWY_ATTR { return hn::Load(d, rows + (3 + k) * kBlurBlock + i); };
    VF sum = hn::Mul(w[3], row(0));
    sum = FusedMulAdd(w[2], hn::Add(row(1), row(-1)), sum);
    sum = FusedMulAdd(w[1], hn::Add(row(2), row(-2)), sum);
    sum = FusedMulAdd(w[0], hn::Add(row(3), row(-3)), sum);
    const auto rounded = hn::BitCast(du, hn::And(RoundedPlusMagicBits(sum), low_byte));  // 0..255: weights add up to 1
    hn::StoreU(hn::U8FromU32(rounded), d8, out + i);
  }
}

void Blur(const BlurJob& job, float* scratch) {
  const Weights weights;
  const int count = job.y1 - job.y0 + 2 * kGaussianRadius;
  float* const lines = scratch;
  float* const rows = scratch + kBlurScratchRows * kBlurLine;
  for (int i = 0; i < count; ++i) {
    uint8_t buffer[kPixels];
    LoadPixels(BlurredPixels(job.image, job.x, job.y0 - kGaussianRadius + i, kPixels, buffer), lines + i * kBlurLine);
  }
  for (int i = 0; i < count; ++i) BlurRow(weights, lines + i * kBlurLine, rows + i * kBlurBlock);
  uint8_t* out = job.out + job.y0 * job.out_stride + job.x;
  for (int i = 0; i < job.y1 - job.y0; ++i, out += job.out_stride) BlurColumn(weights, rows + i * kBlurBlock, out);
}

void AddBlur(Stages* stages) { stages->blur = &Blur; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddBlur)
}  // namespace glint::cpu
#endif
