#include "cuda/plan/describe_tables.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cuda/plan/frame.h"

namespace glint::cuda {

std::vector<uint64_t> MakeDiscMasks(const PatchDisc& disc, int* vectors, int* batches) {
  constexpr int kVector = 8;
  const int side = 2 * disc.half + 1;
  *vectors = DivideUp(side + kVector - 1, kVector);
  const int row_step = kAngleLanes / *vectors;
  *batches = DivideUp(DivideUp(side, row_step), kRowsInFlight);
  std::vector<uint64_t> masks(static_cast<size_t>(kVector * *batches * kAngleLanes));
  for (int skew = 0; skew < kVector; ++skew) {
    for (int row = 0; row < side; ++row) {
      const int half_width = disc.half_width[std::abs(row - disc.half)];
      const int of_lane = row / row_step;
      const int first = (skew * *batches + of_lane / kRowsInFlight) * kAngleLanes + row % row_step * *vectors;
      for (int column = 0; column < *vectors * kVector; ++column) {
        if (std::abs(column - skew - disc.half) > half_width) continue;
        masks[first + column / kVector] |= uint64_t{0x80} >> (of_lane % kRowsInFlight) << (8 * (column % kVector));
      }
    }
  }
  return masks;
}

int PatternReach(const RbriefPattern& pattern) {
  double longest = 0;
  for (const RbriefPair& p : pattern) {
    longest = std::max({longest, std::hypot(p.x0, p.y0), std::hypot(p.x1, p.y1)});
  }
  constexpr double kRounding = 0.501;  // half a pixel, and what the float product may be off
  return std::max(2, static_cast<int>(longest + kRounding));
}

}  // namespace glint::cuda
