// A row of a window is one vector of 16 bytes, of which 5 are made zero in both images: the last, or the first where
// the last are behind the row's end.
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
constexpr int kVector = 16;
constexpr int kRest = kVector - kSide;  // of a vector, beside the window

void Sads(const ImageView& left, const ImageView& right, const StereoWindows& windows, int32_t sad[kStereoPositions]) {
  const hn::CappedTag<uint8_t, kVector> d;
  const hn::Repartition<uint64_t, decltype(d)> d64;
  static_assert(kSide <= kVector && kStrip + kRest <= 2 * kVector, "rows fit the copies");
  const int left_x = windows.left_x - kStereoWindow;
  const int right_x = windows.right_x - kStereoWindow - kStereoSteps;
  const bool fits_behind = left_x + kVector <= left.width && right_x + kStrip + kRest <= right.width;
  const bool fits_before = left_x >= kRest && right_x >= kRest;
  const bool copies = !fits_behind && !fits_before;  // the eyes differ, or the image is narrow
  const int skipped = fits_behind || copies ? 0 : kRest;
  HWY_ALIGN uint8_t left_row[kVector] = {};
  HWY_ALIGN uint8_t right_row[2 * kVector] = {};
  const auto inside =
      hn::AndNot(hn::FirstN(d, static_cast<size_t>(skipped)), hn::FirstN(d, static_cast<size_t>(skipped + kSide)));
  hn::Vec<decltype(d64)> sum[kStereoPositions];
  for (auto& s : sum) s = hn::Zero(d64);
  for (int y = windows.y - kStereoWindow; y <= windows.y + kStereoWindow; ++y) {
    const uint8_t* from_left = left.row(y) + left_x - skipped;
    const uint8_t* from_right = right.row(y) + right_x - skipped;
    if (copies) {
      std::memcpy(left_row, from_left, kSide);
      std::memcpy(right_row, from_right, kStrip);
      from_left = left_row;
      from_right = right_row;
    }
    const auto a = hn::IfThenElseZero(inside, hn::LoadU(d, from_left));
    for (int p = 0; p < kStereoPositions; ++p) {
      const auto b = hn::IfThenElseZero(inside, hn::LoadU(d, from_right + p));
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
