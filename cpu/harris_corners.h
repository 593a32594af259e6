// The corners of oriented_fast (arXiv 2506.07164): the Harris measure at every FAST corner, suppressed among corners.
#ifndef GLINT_CPU_HARRIS_CORNERS_H_
#define GLINT_CPU_HARRIS_CORNERS_H_

#include <cstddef>
#include <cstdint>

#include "cpu/buffer.h"
#include "cpu/stages.h"

namespace glint::cpu {

// Three rows of corners at a time.
struct HarrisScratch {
  struct Row {
    Buffer<uint32_t> where;
    Buffer<float> response;
    Buffer<float> at;  // response by column, least of all floats where there is no corner; from column -1
    size_t count = 0;
  };
  Row rows[3];
  Buffer<uint8_t> fast;
  int width = 0;

  // Must be called before use; allocates only beyond the largest width so far.
  void Prepare(int image_width);
};

// The corners of job.region whose measure is greater than that of every neighbour that is a corner, in raster order.
// `where` and `response` have room for MaxSuppressedCorners(region). Returns their number.
size_t HarrisCorners(const Stages& stages, const FastJob& job, HarrisScratch* scratch, uint32_t* where,
                     float* response);

}  // namespace glint::cpu

#endif  // GLINT_CPU_HARRIS_CORNERS_H_
