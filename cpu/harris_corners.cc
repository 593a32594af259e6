#include "cpu/harris_corners.h"

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

using Columns = HarrisScratch::Columns;

// Corners with their responses, row by row: those of HarrisScratch::kRows rows are found when the first is asked for.
class CornerRows {
 public:
  CornerRows(const Stages& stages, const FastJob& job, HarrisScratch* scratch)
      : stages_(stages), job_(job), end_(job.region.y1), scratch_(scratch) {
    job_.region.y1 = job.region.y0;  // none found yet
  }
  // Makes `row` row y and `before` what `row` was. Rows must be asked for one after another; those outside the region
  // have no corners.
  void Next(int y) {
    before = row;
    if (y == job_.region.y1 && y < end_) Find();
    const size_t first = at_;
    while (at_ < count_ && PointY(scratch_->where[at_]) == y) ++at_;
    row = {scratch_->where.data() + first, scratch_->response.data() + first, at_ - first};
  }
  Row before = {nullptr, nullptr, 0};
  Row row = {nullptr, nullptr, 0};

 private:
  void Find() {
    // What comes takes the place of the row before.
    std::copy_n(before.where, before.count, scratch_->last_where.data());
    std::copy_n(before.response, before.count, scratch_->last_response.data());
    before = {scratch_->last_where.data(), scratch_->last_response.data(), before.count};
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

void Set(const Row& row, Columns* columns) {
  for (size_t i = 0; i < columns->set_count; ++i) columns->response[columns->set[i] + 1u] = kNoCorner;
  for (size_t i = 0; i < row.count; ++i) {
    const size_t x = static_cast<size_t>(PointX(row.where[i]));
    columns->response[x + 1] = row.response[i];
    columns->set[i] = static_cast<uint16_t>(x);
  }
  columns->set_count = row.count;
}

bool IsMaximum(float response, const float* above, const float* row, const float* below) {
  const float upper = std::max(std::max(above[-1], above[0]), above[1]);
  const float lower = std::max(std::max(below[-1], below[0]), below[1]);
  return response > std::max(std::max(upper, lower), std::max(row[-1], row[1]));
}

}  // namespace

void HarrisScratch::Prepare(int image_width) {
  if (image_width <= width) return;
  width = image_width;
  fast.Grow(FastScratchBytes(width));
  const size_t pixels = static_cast<size_t>(width);
  where.Reserve(kRows * pixels + kListSlack);
  response.Reserve(kRows * pixels);
  last_where.Reserve(pixels);
  last_response.Reserve(pixels);
  for (Columns& row : columns) {
    std::fill_n(row.response.Reserve(pixels + 2), pixels + 2, kNoCorner);
    row.set.Reserve(pixels);
    row.set_count = 0;
  }
}

size_t HarrisCorners(const Stages& stages, const FastJob& job, HarrisScratch* scratch, uint32_t* where,
                     float* response) {
  const Rect r = job.region;
  if (r.empty()) return 0;
  // Neighbours of the region's corners take part in suppression.
  FastJob wider = job;
  wider.region.x0 = std::max(r.x0 - 1, kFastRadius);
  wider.region.x1 = std::min(r.x1 + 1, job.image.width - kFastRadius);
  wider.region.y0 = std::max(r.y0 - 1, kFastRadius);
  wider.region.y1 = std::min(r.y1 + 1, job.image.height - kFastRadius);
  CornerRows corners(stages, wider, scratch);
  Columns* rows[3] = {&scratch->columns[0], &scratch->columns[1], &scratch->columns[2]};  // y - 2, y - 1, y
  for (Columns* row : rows) Set({nullptr, nullptr, 0}, row);
  size_t count = 0;
  for (int y = std::min(wider.region.y0, r.y0); y <= r.y1; ++y) {
    std::rotate(rows, rows + 1, rows + 3);
    corners.Next(y);
    Set(corners.row, rows[2]);
    if (y <= r.y0) continue;
    for (size_t i = 0; i < corners.before.count; ++i) {
      const int x = PointX(corners.before.where[i]);
      const float value = corners.before.response[i];
      where[count] = corners.before.where[i];
      response[count] = value;
      const bool is_maximum =
          IsMaximum(value, &rows[0]->response[x + 1], &rows[1]->response[x + 1], &rows[2]->response[x + 1]);
      count += is_maximum & (x >= r.x0) & (x < r.x1) ? 1 : 0;
    }
  }
  return count;
}

}  // namespace glint::cpu
