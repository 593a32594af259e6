// The corners of oriented_fast (arXiv 2506.07164): the Harris measure at every FAST corner, suppressed among corners.
#ifndef GLINT_CPU_HARRIS_HARRIS_CORNERS_H_
#define GLINT_CPU_HARRIS_HARRIS_CORNERS_H_

#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "cpu/common/stages.h"

namespace glint::cpu {

// Corners of a few rows, and three rows of responses by column.
struct HarrisScratch {
  static constexpr int kRows = 16;  // that FAST and Harris take at a time, while their pixels are in cache

  struct Columns {
    Buffer<float> response;  // least of all floats where there is no corner
    Buffer<uint16_t> active;
    DenseRow view;  // of these
  };

  Buffer<uint8_t> fast;
  Buffer<uint32_t> where;
  Buffer<float> response;
  Columns columns[3];
  Buffer<uint32_t> listed;  // columns
  int width = 0;

  // Must be called before use; allocates only beyond the largest width so far.
  void Prepare(int image_width);
};

// The corners of job.region whose measure is greater than that of every neighbour that is a corner, in raster order.
// `where` and `response` have room for kListSlack more than MaxSuppressedCorners(region). Returns their number.
size_t HarrisCorners(const Stages& stages, const FastJob& job, HarrisScratch* scratch, uint32_t* where,
                     float* response);

}  // namespace glint::cpu

#endif  // GLINT_CPU_HARRIS_HARRIS_CORNERS_H_
