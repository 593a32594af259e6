// Gaussian 7x7, sigma 2, in fixed point (FixedGaussianRow, FixedGaussianColumn), where descriptors will look: runs as
// in blur.cc. Row results are 16 bits less 32768, which makes them signed; down, pairs of rows are multiplied and added
// in 32 bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/describe/fixed_blur.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/quadtree_stages.h"
#include "cpu/common/simd-inl.h"
#include "cpu/describe/blur_runs.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// A block, or half of one.
using DBlock = hn::CappedTag<int16_t, kBlurBlock>;
using DBlockU = hn::RebindToUnsigned<DBlock>;
using DBlock32 = hn::Repartition<int32_t, DBlock>;
using DBlock8 = hn::Rebind<uint8_t, DBlock>;
using VBlock = hn::Vec<DBlock>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(DBlock()));
static_assert(kBlurBlock % kLanes == 0, "blocks are whole vectors");

HWY_INLINE hn::Vec<DBlock32> WeighRows(VBlock pairs, VBlock weights) {
#if HWY_MAX_BYTES == 64
  return hn::Vec<DBlock32>{_mm256_madd_epi16(pairs.raw, weights.raw)};
#else
  return MultiplyPairs(pairs, weights);
#endif
}

// out[x] = FixedGaussianRow of pixels x..x + 6 of `from`, less 32768, for the block's columns.
HWY_INLINE void BlurRow(const uint8_t* HWY_RESTRICT from, int16_t* HWY_RESTRICT out) {
  const DBlockU d;
  const DBlock8 d8;
  const auto bias = hn::Set(d, 0x8000);
  for (int x = 0; x < kBlurBlock; x += kLanes) {
    const auto pixels = [&](int i) HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(d8, from + x + i)); };
    const auto weighed = [&](int i) HWY_ATTR {
      return hn::Mul(hn::Add(pixels(i), pixels(6 - i)), hn::Set(d, static_cast<uint16_t>(FixedGaussianWeight(i))));
    };
    const auto middle = hn::Mul(pixels(3), hn::Set(d, static_cast<uint16_t>(FixedGaussianWeight(3))));
    const auto sum = hn::Add(hn::Add(weighed(0), weighed(1)), hn::Add(weighed(2), middle));
    hn::Store(hn::BitCast(DBlock(), hn::Xor(sum, bias)), DBlock(), out + x);
  }
}

// rows: the results of BlurRow for y - 3 .. y + 3, one after another.
HWY_INLINE void BlurColumn(const int16_t* HWY_RESTRICT rows, uint8_t* HWY_RESTRICT out) {
  const DBlock d;
  const DBlock32 d32;
  const DBlock8 d8;
  const auto weights = [&](int i, int k) HWY_ATTR {
    const uint32_t second = static_cast<uint32_t>(k < 7 ? FixedGaussianWeight(k) : 0);
    return hn::BitCast(
        d, hn::Set(d32, static_cast<int32_t>(second << 16 | static_cast<uint32_t>(FixedGaussianWeight(i)))));
  };
  const VBlock w01 = weights(0, 1);
  const VBlock w23 = weights(2, 3);
  const VBlock w45 = weights(4, 5);
  const VBlock w6 = weights(6, 7);
  // What the rows are less, times the sum of the weights; and half of the last bit.
  const auto bias = hn::Set(d32, 256 * 32768 + (1 << 15));
  const auto zero = hn::Zero(d);
  for (int x = 0; x < kBlurBlock; x += kLanes) {
    const auto row = [&](int i) HWY_ATTR { return hn::Load(d, rows + i * kBlurBlock + x); };
    const VBlock r[7] = {row(0), row(1), row(2), row(3), row(4), row(5), row(6)};
    const auto low = hn::Add(
        hn::Add(WeighRows(hn::InterleaveLower(d, r[0], r[1]), w01), WeighRows(hn::InterleaveLower(d, r[2], r[3]), w23)),
        hn::Add(WeighRows(hn::InterleaveLower(d, r[4], r[5]), w45), WeighRows(hn::InterleaveLower(d, r[6], zero), w6)));
    const auto high = hn::Add(
        hn::Add(WeighRows(hn::InterleaveUpper(d, r[0], r[1]), w01), WeighRows(hn::InterleaveUpper(d, r[2], r[3]), w23)),
        hn::Add(WeighRows(hn::InterleaveUpper(d, r[4], r[5]), w45), WeighRows(hn::InterleaveUpper(d, r[6], zero), w6)));
    // Interleaving and packing both work within blocks of 128 bits: the order comes back.
    const auto packed =
        hn::ReorderDemote2To(d, hn::ShiftRight<16>(hn::Add(low, bias)), hn::ShiftRight<16>(hn::Add(high, bias)));
    hn::StoreU(hn::DemoteTo(d8, packed), d8, out + x);
  }
}

void FixedBlur(const BlurJob& job, int16_t* scratch) {
  const int height = job.y1 - job.y0;
  for (int i = 0; i < height + 2 * kGaussianRadius; ++i) {
    constexpr int kPixels = kBlurBlock + 2 * kGaussianRadius;
    uint8_t buffer[kPixels];
    BlurRow(BlurredPixels(job.image, job.x, job.y0 - kGaussianRadius + i, kPixels, buffer), scratch + i * kBlurBlock);
  }
  uint8_t* out = job.out + job.y0 * job.out_stride + job.x;
  for (int i = 0; i < height; ++i, out += job.out_stride) BlurColumn(scratch + i * kBlurBlock, out);
}

void AddFixedBlur(QuadtreeStages* stages) { stages->blur = &FixedBlur; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
HWY_EXPORT(AddFixedBlur);
void AddFixedBlur(int64_t target, QuadtreeStages* stages) {
  HWY_DISPATCH_TABLE(AddFixedBlur)[GLINT_CPU_TABLE_INDEX(target)](stages);
}
}  // namespace glint::cpu
#endif
