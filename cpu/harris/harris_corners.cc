#include "cpu/harris/harris_corners.h"

#include <algorithm>
#include <limits>

#include "features/math.h"

namespace glint::cpu {
namespace {

constexpr float kNoCorner = -std::numeric_limits<float>::infinity();

// The corners of one row.
struct Row {
  const uint32_t* where;
  const float* response;
  size_t count;
};

// Corners with their responses, row by row. HarrisScratch::kRows rows are detected at a time, on demand.
class CornerRows {
 public:
  CornerRows(const Stages& stages, const FastJob& job, HarrisScratch* scratch)
      : stages_(stages), job_(job), end_(job.region.y1), scratch_(scratch) {
    job_.region.y1 = job.region.y0;  // none found yet
  }
  // Row y; valid until the next call. Rows must be asked for in order. Rows outside the region have no corners.
  Row Next(int y) {
    if (y == job_.region.y1 && y < end_) Find();
    const size_t first = at_;
    while (at_ < count_ && PointY(scratch_->where[at_]) == y) ++at_;
    return {scratch_->where.data() + first, scratch_->response.data() + first, at_ - first};
  }

 private:
  void Find() {
    job_.region.y0 = job_.region.y1;
    job_.region.y1 = std::min(job_.region.y0 + HarrisScratch::kRows, end_);
    count_ = stages_.fast_raw(job_, scratch_->fast.data(), scratch_->where.data());
    stages_.harris(job_.image, scratch_->where.data(), count_, scratch_->response.data());
    at_ = 0;
  }

  const Stages& stages_;
  FastJob job_;  // its region is that of the rows found last
  const int end_;
  HarrisScratch* const scratch_;
  size_t count_ = 0;
  size_t at_ = 0;
};

}  // namespace

void HarrisScratch::Prepare(int image_width) {
  if (image_width <= width) return;
  width = image_width;
  fast.Grow(FastScratchBytes(width));
  const size_t pixels = static_cast<size_t>(width);
  where.Reserve(kRows * pixels + kListSlack);
  response.Reserve(kRows * pixels);
  listed.Reserve(pixels);
  for (Columns& row : columns) {
    const size_t pitch = DenseHarrisPitch(width);
    std::fill_n(row.response.Reserve(pitch), pitch, kNoCorner);
    row.view = {row.response.data() + kDenseHarrisMargin, row.active.Reserve(DenseActiveElements(width)), 0, 0};
  }
}

size_t HarrisCorners(const Stages& stages, const FastJob& job, HarrisScratch* scratch, uint32_t* where,
                     float* response) {
  const Rect r = job.region;
  if (r.empty()) return 0;
  // Score a halo around the region as well: suppression compares with it.
  FastJob wider = job;
  wider.region.x0 = std::max(r.x0 - 1, kFastRadius);
  wider.region.x1 = std::min(r.x1 + 1, job.image.width - kFastRadius);
  wider.region.y0 = std::max(r.y0 - 1, kFastRadius);
  wider.region.y1 = std::min(r.y1 + 1, job.image.height - kFastRadius);
  CornerRows corners(stages, wider, scratch);
  DenseRow* rows[3] = {&scratch->columns[0].view, &scratch->columns[1].view, &scratch->columns[2].view};
  for (DenseRow* row : rows) stages.dense_scatter(nullptr, nullptr, 0, row);
  uint32_t* const listed = scratch->listed.data();
  size_t count = 0;
  for (int y = std::min(wider.region.y0, r.y0); y <= r.y1; ++y) {
    std::rotate(rows, rows + 1, rows + 3);  // y - 2, y - 1, y
    const Row found = corners.Next(y);
    stages.dense_scatter(found.where, found.response, found.count, rows[2]);
    if (y <= r.y0) continue;
    const DenseRow& row = *rows[1];
    const size_t maxima =
        stages.dense_maxima(row, rows[0]->responses, rows[2]->responses, r.x0, r.x1, kNoCorner, listed);
    for (size_t i = 0; i < maxima; ++i) {
      where[count] = PackPoint(static_cast<int>(listed[i]), y - 1);
      response[count] = row.responses[listed[i]];
      ++count;
    }
  }
  return count;
}

}  // namespace glint::cpu
