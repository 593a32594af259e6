// A row of a window is 16 bytes of a vector, of which the last 5 are made zero in both images; a vector has as many
// positions of the right window side by side as fit it. Rows that end before those bytes are copied first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/stereo/window_sad.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <cstring>

#include "cpu/common/simd-inl.h"
#include "cpu/stereo/window_sad.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using D = hn::CappedTag<uint8_t, 64>;
constexpr int kSide = 2 * kStereoWindow + 1;
constexpr int kStrip = kSide + 2 * kStereoSteps;  // pixels of the right row that windows cover
constexpr int kRow = 16;                          // bytes of a window's row in a vector
constexpr int kAtOnce = static_cast<int>(hn::MaxLanes(D())) / kRow;
constexpr int kGroups = (kStereoPositions + kAtOnce - 1) / kAtOnce;
constexpr int kRead = kAtOnce * (kGroups - 1) + kRow;  // bytes of the right row
static_assert(kAtOnce - 1 + kSide <= kRow, "one load has all positions of a vector");

// Where each byte of a vector comes from, in the 16 that are loaded: the window's row `step` pixels further on in each
// row of the vector; 0x80: zero.
struct RowBytes {
  constexpr explicit RowBytes(int step) {
    for (int i = 0; i < kAtOnce * kRow; ++i) {
      from[i] = static_cast<uint8_t>(i % kRow < kSide ? i % kRow + i / kRow * step : 0x80);
    }
  }
  alignas(64) uint8_t from[kAtOnce * kRow] = {};
};
constexpr RowBytes kLeftBytes(0), kRightBytes(1);

void Sads(const ImageView& left, const ImageView& right, const StereoWindows& windows, int32_t sad[kStereoPositions]) {
  const D d;
  const hn::Repartition<uint64_t, D> d64;
  constexpr int kCopied = 2 * kRow;
  static_assert(kStrip <= kCopied && kRead <= kCopied, "rows fit the copies");
  const int left_x = windows.left_x - kStereoWindow;
  const int right_x = windows.right_x - kStereoWindow - kStereoSteps;
  const bool copies = left_x + kRow > left.width || right_x + kRead > right.width;
  HWY_ALIGN uint8_t left_row[kRow] = {};
  HWY_ALIGN uint8_t right_row[kCopied] = {};
  const auto left_bytes = hn::Load(d, kLeftBytes.from);
  const auto right_bytes = hn::Load(d, kRightBytes.from);
  hn::Vec<decltype(d64)> sum[kGroups];
  for (auto& s : sum) s = hn::Zero(d64);
  for (int y = windows.y - kStereoWindow; y <= windows.y + kStereoWindow; ++y) {
    const uint8_t* from_left = left.row(y) + left_x;
    const uint8_t* from_right = right.row(y) + right_x;
    if (copies) {
      std::memcpy(left_row, from_left, kSide);
      std::memcpy(right_row, from_right, kStrip);
      from_left = left_row;
      from_right = right_row;
    }
    const auto a = hn::TableLookupBytesOr0(hn::LoadDup128(d, from_left), left_bytes);
    for (int g = 0; g < kGroups; ++g) {
      const auto b = hn::TableLookupBytesOr0(hn::LoadDup128(d, from_right + g * kAtOnce), right_bytes);
      sum[g] = hn::Add(sum[g], hn::SumsOf8(hn::Or(hn::SaturatedSub(a, b), hn::SaturatedSub(b, a))));
    }
  }
  HWY_ALIGN uint64_t halves[kGroups * kAtOnce * 2];
  for (int g = 0; g < kGroups; ++g) hn::Store(sum[g], d64, halves + g * kAtOnce * 2);
  for (int p = 0; p < kStereoPositions; ++p) sad[p] = static_cast<int32_t>(halves[2 * p] + halves[2 * p + 1]);
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
