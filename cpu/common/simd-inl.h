// What every stage file needs from Google Highway: which targets are compiled, and a few helpers on vectors. Included
// once per target, inside each stage's own re-inclusion, hence the unusual guard.
#if defined(GLINT_CPU_COMMON_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_COMMON_SIMD_INL_H_
#undef GLINT_CPU_COMMON_SIMD_INL_H_
#else
#define GLINT_CPU_COMMON_SIMD_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "cpu/common/targets.h"
// After the choice of targets.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whole vectors of bytes, and vectors of the same number of bits.
using D8 = hn::ScalableTag<uint8_t>;
using D16 = hn::ScalableTag<int16_t>;
using D32 = hn::ScalableTag<int32_t>;
using DF = hn::ScalableTag<float>;
using V8 = hn::Vec<D8>;
using VF = hn::Vec<DF>;

// Columns of a block that DenseRow::active names: two vectors of floats.
constexpr int kDenseBlock = 2 * static_cast<int>(HWY_LANES(float));

// Bit i is lane i of a mask of bytes.
template <class D>
HWY_INLINE uint64_t MaskBits(D d, hn::Mask<D> mask) {
  uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<uint8_t*>(&bits));
  return bits;
}

// Bits low..high-1, for low and high in any range.
HWY_INLINE uint64_t BitRange(ptrdiff_t low, ptrdiff_t high) {
  const uint64_t below_high = high >= 64 ? ~uint64_t{0} : (uint64_t{1} << std::max<ptrdiff_t>(high, 0)) - 1;
  return low <= 0 ? below_high : below_high & (~uint64_t{0} << low);
}

HWY_INLINE bool IsZero(V8 v) {
#if HWY_TARGET == HWY_AVX2
  return _mm256_testz_si256(v.raw, v.raw) != 0;
#elif HWY_TARGET == HWY_SSE4
  return _mm_testz_si128(v.raw, v.raw) != 0;
#else
  const D8 d;
  return hn::AllTrue(d, hn::Eq(v, hn::Zero(d)));
#endif
}

// fma(a, b, c), rounded once on every target. Those without the instruction ask the C library, lane by lane.
HWY_INLINE VF FusedMulAdd(VF a, VF b, VF c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  const DF d;
  HWY_ALIGN float x[HWY_LANES(float)];
  HWY_ALIGN float y[HWY_LANES(float)];
  HWY_ALIGN float z[HWY_LANES(float)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (size_t i = 0; i < HWY_LANES(float); ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, z);
#endif
}

// Sums of neighbouring pairs of products, in 32 bits.
HWY_INLINE hn::Vec<D32> MultiplyPairs(hn::Vec<D16> a, hn::Vec<D16> b) {
#if HWY_TARGET <= HWY_SSE4 && HWY_ARCH_X86
  // One instruction; the second accumulator stays zero on x86.
  const D32 d;
  hn::Vec<D32> unused = hn::Zero(d);
  return hn::ReorderWidenMulAccumulate(d, a, b, hn::Zero(d), unused);
#else
  const D32 d;
  const auto a32 = hn::BitCast(d, a);
  const auto b32 = hn::BitCast(d, b);
  const auto even = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a32)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b32)));
  const auto odd = hn::Mul(hn::ShiftRight<16>(a32), hn::ShiftRight<16>(b32));
  return hn::Add(even, odd);
#endif
}

// Sums of neighbouring pairs of products of bytes, less 32768. The weights of a pair add up to 256.
HWY_INLINE hn::Vec<D16> MixPairs(V8 pixels, V8 weights) {
  const D16 d;
#if HWY_TARGET == HWY_AVX2
  // The instruction takes signed pixels: less 128 each, which makes the sum less by 256 * 128.
  const V8 centred = hn::Xor(pixels, hn::Set(D8(), 0x80));
  return hn::Vec<D16>{_mm256_maddubs_epi16(weights.raw, centred.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET < HWY_AVX2
  const V8 centred = hn::Xor(pixels, hn::Set(D8(), 0x80));
  return hn::Vec<D16>{_mm512_maddubs_epi16(weights.raw, centred.raw)};
#else
  const hn::RebindToUnsigned<D16> du;
  const auto p = hn::BitCast(du, pixels);
  const auto w = hn::BitCast(du, weights);
  const auto low = hn::Set(du, 0xff);
  const auto sum =
      hn::Add(hn::Mul(hn::And(p, low), hn::And(w, low)), hn::Mul(hn::ShiftRight<8>(p), hn::ShiftRight<8>(w)));
  return hn::BitCast(d, hn::Xor(sum, hn::Set(du, 0x8000)));
#endif
}

// Sums of neighbouring pairs of products of unsigned and signed bytes; none may leave 16 bits.
template <class V>
HWY_INLINE auto MultiplyPairsOfBytes(V pixels, hn::Vec<hn::RebindToSigned<hn::DFromV<V>>> weights) {
  const hn::Repartition<int16_t, hn::DFromV<V>> d;
#if HWY_ARCH_X86 && HWY_TARGET == HWY_AVX2
  return hn::Vec<decltype(d)>{_mm256_maddubs_epi16(pixels.raw, weights.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET < HWY_AVX2 && HWY_MAX_BYTES == 64
  static_assert(hn::MaxLanes(hn::DFromV<V>()) >= 32, "the widths in use");
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) == 64) {
    return hn::Vec<decltype(d)>{_mm512_maddubs_epi16(pixels.raw, weights.raw)};
  } else {
    return hn::Vec<decltype(d)>{_mm256_maddubs_epi16(pixels.raw, weights.raw)};
  }
#else
  const auto p = hn::BitCast(d, pixels);
  const auto w = hn::BitCast(d, weights);
  const auto even = hn::Mul(hn::And(p, hn::Set(d, 0xff)), hn::ShiftRight<8>(hn::ShiftLeft<8>(w)));
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto odd = hn::Mul(hn::BitCast(d, hn::ShiftRight<8>(hn::BitCast(du, p))), hn::ShiftRight<8>(w));
  return hn::Add(even, odd);
#endif
}

// a * b >> 16.
HWY_INLINE hn::Vec<D16> HighHalf(hn::Vec<D16> a, hn::Vec<D16> b) {
#if HWY_TARGET == HWY_EMU128  // GCC before 12.3 miscompiles MulHigh there (bug 106322)
  HWY_ALIGN int16_t x[HWY_LANES(int16_t)];
  HWY_ALIGN int16_t y[HWY_LANES(int16_t)];
  hn::Store(a, D16(), x);
  hn::Store(b, D16(), y);
  for (size_t i = 0; i < HWY_LANES(int16_t); ++i) x[i] = static_cast<int16_t>((x[i] * y[i]) >> 16);
  return hn::Load(D16(), x);
#else
  return hn::MulHigh(a, b);
#endif
}

// Blocks of 16 bytes side by side, one for each 128 bits of a vector; block i is at address(i).
template <class F>
HWY_INLINE V8 LoadBlocks(const F& address) {
  const hn::CappedTag<uint8_t, 16> d;
#if HWY_MAX_BYTES == 16
  return hn::LoadU(d, address(0));
#elif HWY_MAX_BYTES == 32
  return hn::Combine(D8(), hn::LoadU(d, address(1)), hn::LoadU(d, address(0)));
#else
  const hn::Half<D8> half;
  return hn::Combine(D8(), hn::Combine(half, hn::LoadU(d, address(3)), hn::LoadU(d, address(2))),
                     hn::Combine(half, hn::LoadU(d, address(1)), hn::LoadU(d, address(0))));
#endif
}
constexpr size_t kBlocks = HWY_MAX_BYTES / 16;

// RoundHalfEven, in the low bits of integers whose other bits are always the same: rounding's magic number, itself a
// float, is what its sum with a small number looks like but for the last bits.
constexpr float kRoundMagic = 12582912.0f;
constexpr int32_t kRoundMagicBits = 0x4b400000;
HWY_INLINE hn::Vec<D32> RoundedPlusMagicBits(VF v) {
  const DF d;
  return hn::BitCast(D32(), hn::Add(v, hn::Set(d, kRoundMagic)));
}

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Defines Add(target, stages): lets the stage file's functions for that target take their places in the table.
#if HWY_ONCE && !defined(GLINT_CPU_EXPORT_STAGE)
#if HWY_IDE || ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
#define GLINT_CPU_TABLE_INDEX(target) (static_cast<void>(target), 0)
#else
#define GLINT_CPU_TABLE_INDEX(target) ::glint::cpu::TableIndex(target)
#endif
#define GLINT_CPU_EXPORT_STAGE(Add) \
  HWY_EXPORT(Add);                  \
  void Add(int64_t target, Stages* stages) { HWY_DISPATCH_TABLE(Add)[GLINT_CPU_TABLE_INDEX(target)](stages); }
namespace glint::cpu {
inline size_t TableIndex(int64_t target) {
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return chosen.GetIndex();
}
}  // namespace glint::cpu
#endif

#endif  // per-target guard
