// Steered BRIEF, as cv::ORB's computeOrbDescriptors with WTA_K 2.
//
// The 512 points are rotated by vectors. AVX-512 also gathers and compares 16 pixels at a time, which gives 16 bits of
// the descriptor; other targets store the offsets, then load and compare the pixels one by one (AVX2's gathers are no
// faster than loads on some processors, and much slower on others).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/describe/describe.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cmath>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

// Rotates points of the pattern: the byte offsets from the centre of the points at x[0..], y[0..], plus
// kRoundMagicBits.
class PatternRotation {
 public:
  PatternRotation(float angle, ptrdiff_t stride) {
    const SinCos rotation = SteeringSinCos(angle);
    sin_ = hn::Set(DF(), rotation.sin);
    cos_ = hn::Set(DF(), rotation.cos);
    pitch_ = hn::Set(DF(), static_cast<float>(stride));
  }
  HWY_INLINE hn::Vec<D32> operator()(const float* x, const float* y) const {
    const DF d;
    const VF magic = hn::Set(d, kRoundMagic);
    const VF px = hn::Load(d, x);
    const VF py = hn::Load(d, y);
    // As SteeredX and SteeredY: no fused multiply-add. Then whole numbers, too small for floats to round.
    const VF u = hn::Add(hn::Sub(hn::Mul(px, cos_), hn::Mul(py, sin_)), magic);
    const VF v = hn::Sub(hn::Add(hn::Add(hn::Mul(px, sin_), hn::Mul(py, cos_)), magic), magic);
    return hn::BitCast(D32(), hn::MulAdd(v, pitch_, u));
  }

 private:
  static_assert(2 * kMaxImageSide * kMaxPatchSize < 1 << 22, "offsets are exact in a float, next to the magic number");

  VF sin_;
  VF cos_;
  VF pitch_;
};

#if HWY_MAX_BYTES == 64

void Describe(const PatternTable& pattern, const uint8_t* centre, ptrdiff_t stride, float angle, uint8_t* descriptor) {
  const D32 d;
  const PatternRotation rotate(angle, stride);
  const auto low_byte = hn::Set(d, 0xff);
  const auto magic = hn::Set(d, kRoundMagicBits);
  const auto pixels = [&](int end, size_t i) HWY_ATTR {
    // Whole words are fetched; a blurred level's rows have bytes to spare.
    const auto offset = hn::Sub(rotate(pattern.x[end] + i, pattern.y[end] + i), magic);
    return hn::And(hn::GatherOffset(d, reinterpret_cast<const int32_t*>(centre), offset), low_byte);
  };
  for (size_t i = 0; i < kRbriefBits; i += HWY_LANES(float)) {
    hn::StoreMaskBits(d, hn::Lt(pixels(0, i), pixels(1, i)), descriptor + i / 8);
  }
}

#else

void Describe(const PatternTable& pattern, const uint8_t* centre, ptrdiff_t stride, float angle, uint8_t* descriptor) {
  const PatternRotation rotate(angle, stride);
  HWY_ALIGN int32_t offset[2][kRbriefBits];
  for (int end = 0; end < 2; ++end) {
    for (size_t i = 0; i < kRbriefBits; i += HWY_LANES(float)) {
      hn::Store(rotate(pattern.x[end] + i, pattern.y[end] + i), D32(), offset[end] + i);
    }
  }
  const auto pixel = [&](int end, size_t i) {
    return centre[static_cast<ptrdiff_t>(offset[end][i]) - kRoundMagicBits];
  };
  for (size_t i = 0; i < kRbriefBits; i += 8) {
    // The last bit first: each comparison's carry goes into the sum.
    uint32_t bits = 0;
#pragma GCC unroll 8
    for (size_t k = 8; k-- > 0;) bits += bits + static_cast<uint32_t>(pixel(0, i + k) < pixel(1, i + k));
    descriptor[i / 8] = static_cast<uint8_t>(bits);
  }
}

#endif

void AddDescribe(Stages* stages) { stages->describe = &Describe; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddDescribe)

PatternTable MakePatternTable(const RbriefPattern& pattern) {
  PatternTable t;
  double farthest = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    farthest = std::max({farthest, std::hypot(pattern[i].x0, pattern[i].y0), std::hypot(pattern[i].x1, pattern[i].y1)});
    t.x[0][i] = pattern[i].x0;
    t.y[0][i] = pattern[i].y0;
    t.x[1][i] = pattern[i].x1;
    t.y[1][i] = pattern[i].y1;
  }
  t.reach = static_cast<int>(farthest + 0.501);  // to the nearest; sine and cosine are floats
  return t;
}

}  // namespace glint::cpu
#endif
