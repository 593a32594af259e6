// The corners of `harris`: the measure at every pixel, a threshold, suppression.
#ifndef GLINT_CPU_HARRIS_DENSE_CORNERS_H_
#define GLINT_CPU_HARRIS_DENSE_CORNERS_H_

#include <cstddef>
#include <cstdint>

#include "cpu/buffer.h"
#include "cpu/stages.h"
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
  int y0;       // rows [y0, y1), among them the region's: those whose greatest response is asked
  int y1;
};

struct DenseList {
  size_t count = 0;
  float most = 0;  // the greatest response of rows [y0, y1), or a greater one of a row beside; at least 0
};

// What response_threshold means in an image whose greatest response is `most`; infinite if there can be no corner.
float AbsoluteThreshold(const DetectorOptions& options, float most);

// Lists pixels of the region that are greater than every other one within the suppression radius, in raster order:
// those over the threshold, and some of those that are only over what it would be if nothing greater came, which
// KeepOver() drops. `where` and `response` have room for MaxScoredCorners().
DenseList DenseCorners(const Stages& stages, const DetectorOptions& options, const DenseJob& job, DenseScratch* scratch,
                       uint32_t* where, float* response);

// Keeps what is over the threshold, in order. Returns the number.
size_t KeepOver(float threshold, size_t count, uint32_t* where, float* response);

}  // namespace glint::cpu

#endif  // GLINT_CPU_HARRIS_DENSE_CORNERS_H_
