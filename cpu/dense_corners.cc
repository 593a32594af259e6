#include "cpu/dense_corners.h"

#include <algorithm>
#include <limits>

namespace glint::cpu {
namespace {

bool IsMaximum(const ResponseMap& map, int x, int y, int radius) {
  const float response = map.row(y)[x];
  const int x0 = std::max(x - radius, 0);
  const int x1 = std::min(x + radius, map.shape.width - 1);
  for (int v = std::max(y - radius, 0); v <= std::min(y + radius, map.shape.height - 1); ++v) {
    const float* const row = map.row(v);
    for (int u = x0; u <= x1; ++u) {
      if (row[u] >= response && (u != x || v != y)) return false;
    }
  }
  return true;
}

}  // namespace

float AbsoluteThreshold(const DetectorOptions& options, float most) {
  // Where nothing is positive, a multiple of the greatest would let everything in.
  if (most <= 0) return std::numeric_limits<float>::infinity();
  return options.threshold_unit == ThresholdUnit::kFractionOfMax ? options.response_threshold * most
                                                                 : options.response_threshold;
}

size_t DenseCorners(const Stages& stages, const ResponseMap& map, Rect region, float threshold, int radius,
                    uint32_t* columns, uint32_t* where, float* response) {
  size_t count = 0;
  for (int y = region.y0; y < region.y1; ++y) {
    const float* const row = map.row(y);
    // At the map's upper and lower end, the row on the other side twice.
    const int last = map.shape.height - 1;
    const bool compare = radius > 0 && last > 0;
    const float* const above = compare ? map.row(y > 0 ? y - 1 : 1) + region.x0 : nullptr;
    const float* const below = compare ? map.row(y < last ? y + 1 : last - 1) + region.x0 : nullptr;
    const size_t listed = stages.list_over(row + region.x0, above, below, region.x1 - region.x0, threshold, columns);
    for (size_t i = 0; i < listed; ++i) {
      const int x = region.x0 + static_cast<int>(columns[i]);
      if (!IsMaximum(map, x, y, radius)) continue;
      where[count] = PackPoint(x, y);
      response[count] = row[x];
      ++count;
    }
  }
  return count;
}

}  // namespace glint::cpu
