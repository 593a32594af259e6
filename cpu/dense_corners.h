// The corners of `harris`: the measure at every pixel, a threshold, suppression.
#ifndef GLINT_CPU_DENSE_CORNERS_H_
#define GLINT_CPU_DENSE_CORNERS_H_

#include <cstddef>
#include <cstdint>

#include "cpu/buffer.h"
#include "cpu/stages.h"
#include "features/options.h"

namespace glint::cpu {

// The level's responses; row y is width elements at data + y * pitch.
struct ResponseMap {
  const float* data = nullptr;
  size_t pitch = 0;
  Shape shape;

  const float* row(int y) const { return data + static_cast<size_t>(y) * pitch; }
};

// What response_threshold means in a map whose greatest response is `most`; infinite if there can be no corner.
float AbsoluteThreshold(const DetectorOptions& options, float most);

// The pixels of `region` that are over the threshold and greater than every other one within `radius` that is, in
// raster order. `columns` has room for one more than the map is wide; `where` and `response` for MaxScoredCorners().
// Returns their number.
size_t DenseCorners(const Stages& stages, const ResponseMap& map, Rect region, float threshold, int radius,
                    uint32_t* columns, uint32_t* where, float* response);

}  // namespace glint::cpu

#endif  // GLINT_CPU_DENSE_CORNERS_H_
