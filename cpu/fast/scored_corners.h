// FAST corners of any detector: with a longest arc, any score and any radius of suppression. Stages::fast_scored does
// it for scores that are integers; with Harris' measure this works on lists of corners, a row at a time. The detectors
// of cv::ORB's kind have faster ways (Stages::fast_suppressed, HarrisCorners).
#ifndef GLINT_CPU_FAST_SCORED_CORNERS_H_
#define GLINT_CPU_FAST_SCORED_CORNERS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "cpu/common/stages.h"
#include "features/options.h"

namespace glint::cpu {

// As many rows of corners as suppression looks at.
struct ScoredScratch {
  struct Row {
    Buffer<uint32_t> where;
    Buffer<float> response;
    Buffer<float> at;  // response by column, least of all floats where there is no corner; from column -radius
    size_t count = 0;
  };
  std::array<Row, 2 * kMaxSuppressionRadius + 1> rows;
  Buffer<uint8_t> fast;
  int width = 0;

  // Must be called before use; allocates only beyond the largest width so far.
  void Prepare(int image_width);
};

// The most corners of a region that are left.
size_t MaxScoredCorners(const DetectorOptions& options, Rect region);

// The corners of job.region, in raster order, that are greater than every other corner within the radius; if `cell` is
// not empty, only the first of the greatest of each cell of that size, which needs radius 0 and an integer score.
// `where` and `response` have room for MaxScoredCorners(). Returns their number.
size_t ScoredCorners(const Stages& stages, const DetectorOptions& options, const FastJob& job, Shape cell,
                     ScoredScratch* scratch, uint32_t* where, float* response);

// BFROST's orientation of corners, in degrees.
void ArcMidpoints(const ImageView& image, const DetectorOptions& options, const uint32_t* where, size_t count,
                  float* angle);

}  // namespace glint::cpu

#endif  // GLINT_CPU_FAST_SCORED_CORNERS_H_
