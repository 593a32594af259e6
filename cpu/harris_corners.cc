#include "cpu/harris_corners.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "features/math.h"

namespace glint::cpu {
namespace {

using Row = HarrisScratch::Row;
constexpr float kNoCorner = -std::numeric_limits<float>::infinity();

void Forget(Row* row) {
  for (size_t i = 0; i < row->count; ++i) row->at[PointX(row->where[i]) + 1] = kNoCorner;
  row->count = 0;
}

void Fill(const Stages& stages, const FastJob& job, uint8_t* bits, Row* row) {
  row->count = stages.fast_raw(job, bits, row->where.data());
  stages.harris(job.image, row->where.data(), row->count, row->response.data());
  for (size_t i = 0; i < row->count; ++i) row->at[PointX(row->where[i]) + 1] = row->response[i];
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
  const size_t columns = static_cast<size_t>(width);
  for (Row& row : rows) {
    row.where.Reserve(columns + kListSlack);
    row.response.Reserve(columns);
    std::fill_n(row.at.Reserve(columns + 2), columns + 2, kNoCorner);
    row.count = 0;
  }
}

size_t HarrisCorners(const Stages& stages, const FastJob& job, HarrisScratch* scratch, uint32_t* where,
                     float* response) {
  const Rect r = job.region;
  // Neighbours of the region's corners take part in suppression.
  FastJob row_job = job;
  row_job.region.x0 = std::max(r.x0 - 1, kFastRadius);
  row_job.region.x1 = std::min(r.x1 + 1, job.image.width - kFastRadius);
  const int y0 = std::max(r.y0 - 1, kFastRadius);
  const int y1 = std::min(r.y1 + 1, job.image.height - kFastRadius);

  Row* rows[3] = {&scratch->rows[0], &scratch->rows[1], &scratch->rows[2]};  // y - 2, y - 1, y
  for (Row* row : rows) Forget(row);
  size_t count = 0;
  for (int y = std::min(y0, r.y0); y <= r.y1; ++y) {
    std::rotate(rows, rows + 1, rows + 3);
    Forget(rows[2]);
    if (y >= y0 && y < y1) {
      row_job.region.y0 = y;
      row_job.region.y1 = y + 1;
      Fill(stages, row_job, scratch->fast.data(), rows[2]);
    }
    if (y <= r.y0) continue;
    for (size_t i = 0; i < rows[1]->count; ++i) {
      const int x = PointX(rows[1]->where[i]);
      if (x < r.x0 || x >= r.x1) continue;
      const float value = rows[1]->response[i];
      if (!IsMaximum(value, &rows[0]->at[x + 1], &rows[1]->at[x + 1], &rows[2]->at[x + 1])) continue;
      where[count] = rows[1]->where[i];
      response[count] = value;
      ++count;
    }
  }
  return count;
}

}  // namespace glint::cpu
