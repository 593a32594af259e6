#include "cpu/harris/dense_corners.h"

#include <algorithm>
#include <limits>

namespace glint::cpu {
namespace {

// The rows of responses that suppression of one row reads.
class ResponseRows {
 public:
  ResponseRows(Shape shape, int radius, DenseScratch* scratch) : shape_(shape), radius_(radius) {
    for (int i = 0; i < Count(radius); ++i) {
      const size_t place = static_cast<size_t>(i);
      rows_[i].responses = scratch->responses.data() + place * DenseHarrisPitch(shape.width) + kDenseHarrisMargin;
      rows_[i].active = scratch->active.data() + place * DenseActiveElements(shape.width);
    }
  }
  static int Count(int radius) { return 2 * radius + 1; }

  DenseRow& operator[](int y) { return rows_[y % Count(radius_)]; }
  bool IsMaximum(int x, int y) {
    const float response = (*this)[y].responses[x];
    const int x0 = std::max(x - radius_, 0);
    const int x1 = std::min(x + radius_, shape_.width - 1);
    for (int v = std::max(y - radius_, 0); v <= std::min(y + radius_, shape_.height - 1); ++v) {
      const float* const row = (*this)[v].responses;
      for (int u = x0; u <= x1; ++u) {
        if (row[u] >= response && (u != x || v != y)) return false;
      }
    }
    return true;
  }

 private:
  const Shape shape_;
  const int radius_;
  DenseRow rows_[2 * kMaxSuppressionRadius + 1];
};

}  // namespace

void DenseScratch::Prepare(const DetectorOptions& options, int width) {
  const size_t rows = static_cast<size_t>(ResponseRows::Count(options.suppression_radius));
  sums.Grow(DenseHarrisScratchElements(width, options.harris_block));
  responses.Grow(rows * DenseHarrisPitch(width));
  active.Reserve(rows * DenseActiveElements(width));
  columns.Reserve(static_cast<size_t>(width));
}

float AbsoluteThreshold(const DetectorOptions& options, float max_response) {
  // Without a positive response every pixel would exceed a fraction of the maximum.
  if (max_response <= 0) return std::numeric_limits<float>::infinity();
  return options.threshold_unit == ThresholdUnit::kFractionOfMax ? options.response_threshold * max_response
                                                                 : options.response_threshold;
}

DenseList DenseCorners(const Stages& stages, const DetectorOptions& options, const DenseJob& job, DenseScratch* scratch,
                       uint32_t* where, float* response) {
  const int height = job.image.height;
  const int radius = options.suppression_radius;
  const Rect r = job.region;
  DenseHarrisJob harris = {job.image, options.harris_block, options.harris_k, 0};
  ResponseRows rows(job.image.shape(), radius, scratch);
  const int y0 = std::max(std::min(job.y0, r.y0 - radius), 0);
  const int y1 = std::min(std::max(job.y1, r.y1 + radius), height);
  const int reach = options.harris_block / 2;
  for (int y = y0 - reach; y < y0 + reach; ++y) stages.dense_harris(harris, y, scratch->sums.data(), nullptr);
  // Without the rows above and below, IsMaximum does all of the suppression.
  const bool compare = radius > 0 && height > 1;
  uint32_t* const columns = scratch->columns.data();
  DenseList list;
  for (int last = y0; last < std::max(y1, r.y1 + radius); ++last) {
    if (last < y1) {
      DenseRow* const row = &rows[last];
      stages.dense_harris(harris, last + reach, scratch->sums.data(), row);
      list.max_response = std::max(list.max_response, row->max_response);
      if (list.max_response > 0) harris.threshold = AbsoluteThreshold(options, list.max_response);
    }
    const int y = last - radius;
    if (y < r.y0 || y >= r.y1) continue;
    // At the image's upper and lower end, the row on the other side twice.
    const float* const above = compare ? rows[y > 0 ? y - 1 : 1].responses : nullptr;
    const float* const below = compare ? rows[y < height - 1 ? y + 1 : height - 2].responses : nullptr;
    const size_t listed = stages.dense_maxima(rows[y], above, below, r.x0, r.x1, harris.threshold, columns);
    for (size_t i = 0; i < listed; ++i) {
      const int x = static_cast<int>(columns[i]);
      if ((radius > 1 || !compare) && !rows.IsMaximum(x, y)) continue;
      where[list.count] = PackPoint(x, y);
      response[list.count] = rows[y].responses[x];
      ++list.count;
    }
  }
  return list;
}

size_t KeepOver(float threshold, size_t count, uint32_t* where, float* response) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    where[kept] = where[i];
    response[kept] = response[i];
    kept += response[i] > threshold;
  }
  return kept;
}

}  // namespace glint::cpu
