#include "cpu/fast/scored_corners.h"

#include <algorithm>
#include <limits>

#include "cpu/fast/arc_runs.h"
#include "features/arc.h"
#include "features/math.h"

namespace glint::cpu {
namespace {

using Row = ScoredScratch::Row;
constexpr float kNoCorner = -std::numeric_limits<float>::infinity();

struct Ring {
  uint8_t pixels[kFastRing];
};

Ring RingAround(const uint8_t* centre, ptrdiff_t stride) {
  Ring ring;
  for (int i = 0; i < kFastRing; ++i) ring.pixels[i] = centre[FastRingY(i) * stride + FastRingX(i)];
  return ring;
}

// The corner has a run of more than max_arc pixels.
bool RunIsTooLong(int centre, const Ring& ring, const FastJob& job, int max_arc) {
  if (max_arc == kFastRing) return false;
  return (Runs(BrighterBits(centre, ring.pixels, job.threshold), max_arc + 1) |
          Runs(DarkerBits(centre, ring.pixels, job.threshold), max_arc + 1)) != 0;
}

void Forget(Row* row, int radius) {
  for (size_t i = 0; i < row->count; ++i) row->at[static_cast<size_t>(PointX(row->where[i]) + radius)] = kNoCorner;
  row->count = 0;
}

// The row's corners and their Harris measures.
void Fill(const Stages& stages, const DetectorOptions& options, const FastJob& job, uint8_t* bits, Row* row) {
  const size_t listed = stages.fast_raw(job, bits, row->where.data());
  size_t count = 0;
  for (size_t i = 0; i < listed; ++i) {
    const uint32_t where = row->where[i];
    const uint8_t* const centre = job.image.row(PointY(where)) + PointX(where);
    const Ring ring = RingAround(centre, job.image.stride);
    if (RunIsTooLong(*centre, ring, job, options.max_arc)) continue;
    row->where[count++] = where;
  }
  row->count = count;
  stages.harris(job.image, row->where.data(), count, row->response.data());
  const int radius = options.suppression_radius;
  for (size_t i = 0; i < count; ++i) row->at[static_cast<size_t>(PointX(row->where[i]) + radius)] = row->response[i];
}

// `rows` are the 2 * radius + 1 around the corner's; their `at` begin at column -radius.
bool IsMaximum(float response, int x, int radius, Row* const* rows) {
  const int side = 2 * radius + 1;
  for (int v = 0; v < side; ++v) {
    const float* const at = &rows[v]->at[static_cast<size_t>(x)];
    for (int u = 0; u < side; ++u) {
      if (at[u] >= response && (u != radius || v != radius)) return false;
    }
  }
  return true;
}

// The list of corners with Harris measures, which are floats.
size_t HarrisScored(const Stages& stages, const DetectorOptions& options, const FastJob& job, ScoredScratch* scratch,
                    uint32_t* where, float* response) {
  const Rect r = job.region;
  const int radius = options.suppression_radius;
  // Score a halo around the region as well: suppression compares with it.
  FastJob row_job = job;
  row_job.region.x0 = std::max(r.x0 - radius, kFastRadius);
  row_job.region.x1 = std::min(r.x1 + radius, job.image.width - kFastRadius);
  const int y0 = std::max(r.y0 - radius, kFastRadius);
  const int y1 = std::min(r.y1 + radius, job.image.height - kFastRadius);

  Row* rows[2 * kMaxSuppressionRadius + 1];
  const int side = 2 * radius + 1;
  for (int i = 0; i < side; ++i) rows[i] = &scratch->rows[static_cast<size_t>(i)];
  for (Row& row : scratch->rows) {
    // A frame with another radius may have left corners at other offsets.
    std::fill_n(row.at.data(), static_cast<size_t>(scratch->width) + 2 * kMaxSuppressionRadius, kNoCorner);
    row.count = 0;
  }
  size_t count = 0;
  for (int y = r.y0 - radius; y < r.y1 + radius; ++y) {
    std::rotate(rows, rows + 1, rows + side);
    Forget(rows[side - 1], radius);
    if (y >= y0 && y < y1) {
      row_job.region.y0 = y;
      row_job.region.y1 = y + 1;
      Fill(stages, options, row_job, scratch->fast.data(), rows[side - 1]);
    }
    if (y - radius < r.y0) continue;
    const Row& row = *rows[radius];
    for (size_t i = 0; i < row.count; ++i) {
      const int x = PointX(row.where[i]);
      if (x < r.x0 || x >= r.x1 || !IsMaximum(row.response[i], x, radius, rows)) continue;
      where[count] = row.where[i];
      response[count] = row.response[i];
      ++count;
    }
  }
  return count;
}

}  // namespace

void ScoredScratch::Prepare(int image_width) {
  if (image_width <= width) return;
  width = image_width;
  fast.Grow(std::max({FastScratchBytes(width), ScoredScratchBytes(width), CellsScratchBytes(width)}));
  const size_t columns = static_cast<size_t>(width);
  for (Row& row : rows) {
    row.where.Reserve(columns + kListSlack);
    row.response.Reserve(columns + kListSlack);
    const size_t with_margins = columns + 2 * kMaxSuppressionRadius;
    std::fill_n(row.at.Reserve(with_margins), with_margins, kNoCorner);
    row.count = 0;
  }
}

size_t MaxScoredCorners(const DetectorOptions& options, Rect region) {
  if (options.suppression_radius > 0 || region.empty()) return MaxSuppressedCorners(region);
  return static_cast<size_t>(region.x1 - region.x0) * static_cast<size_t>(region.y1 - region.y0);
}

size_t ScoredCorners(const Stages& stages, const DetectorOptions& options, const FastJob& job, Shape cell,
                     ScoredScratch* scratch, uint32_t* where, float* response) {
  if (options.score == Score::kHarris) return HarrisScored(stages, options, job, scratch, where, response);
  const ScoredJob scored = {job, options.score, options.max_arc, options.suppression_radius, cell.width, cell.height};
  return stages.fast_scored(scored, scratch->fast.data(), where, response);
}

void ArcMidpoints(const ImageView& image, const DetectorOptions& options, const uint32_t* where, size_t count,
                  float* angle) {
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* const centre = image.row(PointY(where[i])) + PointX(where[i]);
    const Ring ring = RingAround(centre, image.stride);
    const ArcRun run = FindArc(*centre, ring.pixels, options.fast_threshold, options.arc_length, kFastRing);
    angle[i] = kDegreesPerArcStep * static_cast<float>(ArcMidpointStep(run));
  }
}

}  // namespace glint::cpu
