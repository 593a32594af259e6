// The corners of `harris`: the measure at every pixel, a threshold, suppression.
#ifndef GLINT_CPU_HARRIS_DENSE_CORNERS_H_
#define GLINT_CPU_HARRIS_DENSE_CORNERS_H_

#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "cpu/common/stages.h"
#include "features/options.h"

namespace glint::cpu {

struct DenseScratch {
  Buffer<int32_t> sums;
  Buffer<float> responses;  // of as many rows as suppression looks at
  Buffer<uint16_t> active;  // likewise
  Buffer<uint32_t> columns;

  // Must be called before use; allocates only beyond the largest request so far.
  void Prepare(const DetectorOptions& options, int width);
};

struct DenseJob {
  ImageView image;
  Rect region;  // of the corners to list
  int y0;       // rows [y0, y1), which include the region: DenseList::max_response is over these
  int y1;
};

struct DenseList {
  size_t count = 0;
  float max_response = 0;  // at least 0; may include rows next to [y0, y1)
};

// What response_threshold means in an image whose greatest response is `max_response`; infinite if there can be no
// corner.
float AbsoluteThreshold(const DetectorOptions& options, float max_response);

// Lists the pixels of the region whose response exceeds every other within the suppression radius, in raster order. The
// list holds all over the threshold, and some over the preliminary threshold that the maximum so far implies:
// KeepOver() removes these. `where` and `response` have room for MaxScoredCorners().
DenseList DenseCorners(const Stages& stages, const DetectorOptions& options, const DenseJob& job, DenseScratch* scratch,
                       uint32_t* where, float* response);

// Keeps the pixels over the threshold, in order. Returns their number.
size_t KeepOver(float threshold, size_t count, uint32_t* where, float* response);

}  // namespace glint::cpu

#endif  // GLINT_CPU_HARRIS_DENSE_CORNERS_H_
