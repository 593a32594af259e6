// A row of a window is one vector of 16 bytes, of which the last 5 are made zero in both images.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/stereo/window_sad.cc"
#include "cpu/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <cstring>

#include "cpu/simd-inl.h"
#include "cpu/stereo/window_sad.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr int kSide = 2 * kStereoWindow + 1;
constexpr int kStrip = kSide + 2 * kStereoSteps;  // pixels of the right row that windows cover

void Sads(const ImageView& left, const ImageView& right, const StereoWindows& windows, int32_t sad[kStereoPositions]) {
  const hn::CappedTag<uint8_t, 16> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  static_assert(kSide <= 16 && kStrip + 16 - kSide <= 32, "rows fit the copies");
  HWY_ALIGN uint8_t left_row[16] = {};
  HWY_ALIGN uint8_t right_row[32] = {};
  const auto inside = hn::FirstN(d, kSide);
  hn::Vec<decltype(d64)> sum[kStereoPositions];
  for (auto& s : sum) s = hn::Zero(d64);
  for (int y = windows.y - kStereoWindow; y <= windows.y + kStereoWindow; ++y) {
    std::memcpy(left_row, left.row(y) + windows.left_x - kStereoWindow, kSide);
    std::memcpy(right_row, right.row(y) + windows.right_x - kStereoWindow - kStereoSteps, kStrip);
    const auto a = hn::Load(d, left_row);
    for (int p = 0; p < kStereoPositions; ++p) {
      const auto b = hn::IfThenElseZero(inside, hn::LoadU(d, right_row + p));
      sum[p] = hn::Add(sum[p], hn::SumsOf8(hn::Or(hn::SaturatedSub(a, b), hn::SaturatedSub(b, a))));
    }
  }
  for (int p = 0; p < kStereoPositions; ++p) {
    HWY_ALIGN uint64_t halves[2];
    hn::Store(sum[p], d64, halves);
    sad[p] = static_cast<int32_t>(halves[0] + halves[1]);
  }
}

void AddWindowSads(WindowSads* function) { *function = &Sads; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
HWY_EXPORT(AddWindowSads);

WindowSads WindowSadsFor(int64_t target) {
  WindowSads function = nullptr;
  HWY_DISPATCH_TABLE(AddWindowSads)[GLINT_CPU_TABLE_INDEX(target)](&function);
  return function;
}

}  // namespace glint::cpu
#endif
