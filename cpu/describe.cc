// Steered BRIEF, as cv::ORB's computeOrbDescriptors with WTA_K 2.
//
// Turning the 512 points is vector work; fetching them is not (gathers are no faster than loads on most processors, and
// much slower on some). So offsets go through memory, two at a time, and each pair of pixels is compared where it is
// fetched: the comparison's carry is shifted into the descriptor.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/describe.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/simd-inl.h"
#include "cpu/stages.h"
#include "features/math.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

void Describe(const PatternTable& pattern, const uint8_t* centre, ptrdiff_t stride, float angle, uint8_t* descriptor) {
  const DF d;
  const D32 di;
  const SinCos rotation = SteeringSinCos(angle);
  const VF sin = hn::Set(d, rotation.sin);
  const VF cos = hn::Set(d, rotation.cos);
  const auto pitch = hn::Set(di, static_cast<int32_t>(stride));
  HWY_ALIGN int32_t offset[2 * kRbriefBits];
  for (size_t i = 0; i < 2 * kRbriefBits; i += HWY_LANES(float)) {
    const VF x = hn::Load(d, pattern.x + i);
    const VF y = hn::Load(d, pattern.y + i);
    // As SteeredX and SteeredY: no fused multiply-add.
    const auto u = hn::NearestInt(hn::Sub(hn::Mul(x, cos), hn::Mul(y, sin)));
    const auto v = hn::NearestInt(hn::Add(hn::Mul(x, sin), hn::Mul(y, cos)));
    hn::Store(hn::Add(hn::Mul(v, pitch), u), di, offset + i);
  }
  for (size_t byte = 0; byte < kRbriefBytes; ++byte) {
    uint32_t bits = 0;
    for (size_t i = 8; i-- > 0;) {
      int64_t pair;  // the first point's offset in the lower half
      std::memcpy(&pair, offset + 2 * (8 * byte + i), sizeof(pair));
      const uint8_t first = centre[static_cast<int32_t>(pair)];
      const uint8_t second = centre[pair >> 32];
      bits = bits + bits + (first < second);
    }
    descriptor[byte] = static_cast<uint8_t>(bits);
  }
}

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
    t.x[2 * i] = pattern[i].x0;
    t.y[2 * i] = pattern[i].y0;
    t.x[2 * i + 1] = pattern[i].x1;
    t.y[2 * i + 1] = pattern[i].y1;
  }
  t.reach = static_cast<int>(farthest + 0.501);  // to the nearest; sine and cosine are floats
  return t;
}

}  // namespace glint::cpu
#endif
