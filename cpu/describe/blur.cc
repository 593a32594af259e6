// Gaussian 7x7, sigma 2, in floats as cv::ORB's blur (GaussianRow, GaussianColumn), where descriptors will look.
//
// Keypoints crowd together: the union of their patches is much less than their sum, and never more than the level. So
// the level is blurred in strips of columns, row by row through a ring of row results that stays in the first-level
// cache, and in each row only the blocks that some patch covers. Each result depends on its pixel alone: which
// others are computed does not change it.
//
// Pixels become floats one row before they are used: a vector that spans two just-written ones would have to wait for
// both stores.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/describe/blur.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cstring>

#include "cpu/describe/blur_runs.h"
#include "cpu/simd-inl.h"
#include "cpu/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using DF8 = hn::Rebind<uint8_t, DF>;  // as many bytes as a vector has floats

constexpr int kRing = 8;          // a power of two, at least 7
constexpr int kPixelMargin = 16;  // floats left of a strip's first column

constexpr int kFloats = static_cast<int>(HWY_LANES(float));
static_assert(kBlurBlock % kFloats == 0, "blocks are whole vectors");

// f(x) for each set bit, where x is the block's first column of the strip.
template <class F>
HWY_INLINE void ForBlocks(uint32_t bits, const F& f) {
  for (uint64_t rest = bits; rest != 0; rest &= rest - 1) {
    f(static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(rest)) * kBlurBlock);
  }
}

// line[kPixelMargin + x] = pixel x of the strip for x in [begin - 3, end + 3), reflected at the image's sides.
void LoadPixels(const ImageView& image, int y, int strip_x, int begin, int end, float* HWY_RESTRICT line) {
  const DF d;
  const hn::Rebind<int32_t, DF> di;
  const DF8 d8;
  constexpr int kLanes = static_cast<int>(HWY_LANES(float));
  const int first = begin - kGaussianRadius;
  const int count = end - begin + 2 * kGaussianRadius;
  const uint8_t* row = image.row(Reflect101(y, image.height));
  const uint8_t* from = row + strip_x + first;
  uint8_t reflected[kBlurStrip + 32];
  if (HWY_UNLIKELY(strip_x + first < 0 || strip_x + first + count + kLanes > image.width)) {
    const int inside0 = std::max(-(strip_x + first), 0);
    const int inside1 = std::max(std::min(image.width - (strip_x + first), count), inside0);
    for (int i = 0; i < inside0; ++i) reflected[i] = row[Reflect101(strip_x + first + i, image.width)];
    std::memcpy(reflected + inside0, from + inside0, static_cast<size_t>(inside1 - inside0));
    for (int i = inside1; i < count; ++i) reflected[i] = row[Reflect101(strip_x + first + i, image.width)];
    std::fill(reflected + count, reflected + count + kLanes, uint8_t{0});
    from = reflected;
  }
  float* to = line + kPixelMargin + first;
  for (int i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, from + i))), d, to + i);
  }
}

struct Weights {
  VF of[4];

  Weights() {
    for (int i = 0; i < 4; ++i) of[i] = hn::Set(DF(), GaussianWeight(i));
  }
};

// The block at x of a row: line[kPixelMargin + x] is pixel x of the strip.
HWY_INLINE void BlurRow(const Weights& weights, const float* HWY_RESTRICT line, int x, float* HWY_RESTRICT out) {
  const DF d;
  const VF* w = weights.of;
#pragma GCC unroll 4
  for (int i = 0; i < kBlurBlock; i += kFloats) {
    const float* p = line + kPixelMargin + x + i - kGaussianRadius;
    VF sum = hn::Mul(w[0], hn::LoadU(d, p));
    sum = FusedMulAdd(w[1], hn::LoadU(d, p + 1), sum);
    sum = FusedMulAdd(w[2], hn::LoadU(d, p + 2), sum);
    sum = FusedMulAdd(w[3], hn::LoadU(d, p + 3), sum);
    sum = FusedMulAdd(w[2], hn::LoadU(d, p + 4), sum);
    sum = FusedMulAdd(w[1], hn::LoadU(d, p + 5), sum);
    sum = FusedMulAdd(w[0], hn::LoadU(d, p + 6), sum);
    hn::Store(sum, d, out + x + i);
  }
}

// The block at x of an output row; rows: the results of BlurRow for y - 3 .. y + 3.
HWY_INLINE void BlurColumn(const Weights& weights, const float* const* rows, int x, uint8_t* HWY_RESTRICT out) {
  const DF d;
  const DF8 d8;
  const hn::RebindToUnsigned<D32> du;
  const auto low_byte = hn::Set(D32(), 0xff);
  const VF* w = weights.of;
#pragma GCC unroll 4
  for (int i = x; i < x + kBlurBlock; i += kFloats) {
    const auto pair = [&](int k)
                          HWY_ATTR { return hn::Add(hn::Load(d, rows[3 + k] + i), hn::Load(d, rows[3 - k] + i)); };
    VF sum = hn::Mul(w[3], hn::Load(d, rows[3] + i));
    sum = FusedMulAdd(w[2], pair(1), sum);
    sum = FusedMulAdd(w[1], pair(2), sum);
    sum = FusedMulAdd(w[0], pair(3), sum);
    const auto rounded = hn::BitCast(du, hn::And(RoundedPlusMagicBits(sum), low_byte));  // 0..255: weights add up to 1
    hn::StoreU(hn::U8FromU32(rounded), d8, out + i);
  }
}

void Blur(const BlurJob& job, float* scratch) {
  const int strip_x = job.strip * kBlurStrip;
  float* ring[kRing];
  for (int i = 0; i < kRing; ++i) ring[i] = scratch + static_cast<size_t>(i) * kBlurPitch;
  float* lines[2] = {scratch + kRing * kBlurPitch, scratch + (kRing + 1) * kBlurPitch};
  const Weights weights;

  const auto load = [&](int y, uint32_t bits) {
    ForBlurRuns(bits, [&](int begin, int end) { LoadPixels(job.image, y, strip_x, begin, end, lines[y & 1]); });
  };
  uint32_t next = BlurBlocksOfRow(job, job.y0 - kGaussianRadius);
  load(job.y0 - kGaussianRadius, next);
  for (int y = job.y0 - kGaussianRadius; y < job.y1 + kGaussianRadius; ++y) {
    const uint32_t bits = next;
    next = BlurBlocksOfRow(job, y + 1);
    load(y + 1, next);
    const float* line = lines[y & 1];
    float* row = ring[y & (kRing - 1)];
    ForBlocks(bits, [&](int x) HWY_ATTR { BlurRow(weights, line, x, row); });
    const int done = y - kGaussianRadius;
    if (done < job.y0 || job.blur_mask[done] == 0) continue;
    const float* rows[7];
    for (int i = 0; i < 7; ++i) rows[i] = ring[(done - kGaussianRadius + i) & (kRing - 1)];
    uint8_t* out = job.out + done * job.out_stride + strip_x;
    ForBlocks(job.blur_mask[done], [&](int x) HWY_ATTR { BlurColumn(weights, rows, x, out); });
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
