// FAST corners with OpenCV's score and 3x3 suppression: cv::FAST(..., nonmaxSuppression = true).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fast/fast_suppressed.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include <algorithm>

#include "cpu/common/simd-inl.h"
#include "cpu/common/stages.h"
#include "cpu/fast/fast_suppressor-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

template <int kArc>
size_t DetectSuppressed(const FastJob& job, uint8_t* scratch, uint32_t* where, uint8_t* score) {
  const Rect r = job.region;
  if (r.empty()) return 0;
  // Score a halo around the region as well: suppression compares with it.
  const int y0 = std::max(r.y0 - 1, kFastRadius);
  const int y1 = std::min(r.y1 + 1, job.image.height - kFastRadius);
  const Span span(std::max(r.x0 - 1, kFastRadius), std::min(r.x1 + 1, job.image.width - kFastRadius));
  Suppressor<kArc> rows(job, span, scratch);
  size_t count = 0;
  for (int y = std::min(y0, r.y0); y <= r.y1; ++y) {
    rows.Next(y, y >= y0 && y < y1);
    if (y > r.y0) count += rows.Suppress(y - 1, where + count, score + count);
  }
  return count;
}

size_t FastSuppressed(const FastJob& job, uint8_t* scratch, uint32_t* where, uint8_t* score) {
  return job.arc == 9 ? DetectSuppressed<9>(job, scratch, where, score)
                      : DetectSuppressed<0>(job, scratch, where, score);
}

void AddFastSuppressed(Stages* stages) { stages->fast_suppressed = &FastSuppressed; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
GLINT_CPU_EXPORT_STAGE(AddFastSuppressed)
}  // namespace glint::cpu
#endif
