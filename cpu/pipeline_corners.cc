// The steps of Pipeline that make the pyramid and find corners.
#include <algorithm>

#include "cpu/harris/dense_corners.h"
#include "cpu/pipeline_impl.h"
#include "features/math.h"

namespace glint::cpu {

void Pipeline::Impl::FindCornersInBand(int l, Band* band, Worker* worker) {
  const auto start = Clock::now();
  Level* const level = &levels[l];
  const FastJob job = {level->image, band->region, options.fast_threshold, options.arc_length};
  uint32_t* where = level->where.data() + band->first;
  if (quadtree) {
    band->count = level->cells.FindCorners(quadtree_stages, level->image, band->region, options.ini_fast_threshold,
                                           options.min_fast_threshold, worker->fast.data(), where,
                                           level->score.data() + band->first);
  } else if (best_of_grid) {
    const CellsJob cells_job = {job, options.max_arc, options.suppression_radius, &cells.OfLevel(l), cells.floor()};
    band->count = stages.fast_cells(cells_job, worker->scored.fast.data(), where, level->response.data() + band->first);
  } else if (!top_n_per_level) {
    // Without a mask and without suppression, detection keeps only the best corner of each cell.
    Shape cell;
    if (best_of_pyca) {
      cell = {LevelCell(options.cell_width, level->scale), LevelCell(options.cell_height, level->scale)};
    }
    band->count =
        ScoredCorners(stages, options, job, cell, &worker->scored, where, level->response.data() + band->first);
  } else if (options.score == Score::kHarris) {
    band->count = HarrisCorners(stages, job, &worker->harris, where, level->response.data() + band->first);
  } else {
    band->count = stages.fast_suppressed(job, worker->fast.data(), where, level->score.data() + band->first);
  }
  worker->corners_ns += NanosecondsSince(start);
}

void Pipeline::Impl::ResizeBand(int l, int y0, int y1, Worker* worker) {
  const auto start = Clock::now();
  Level& to = levels[l];
  uint8_t* const out = to.pixels.memory.data();
  const ptrdiff_t stride = to.pixels.view.stride;
  if (quadtree) {
    quadtree_stages.resize(to.linear, to.source, y0, y1, out, stride, worker->resize.data());
  } else {
    stages.resize(to.resize, to.source, y0, y1, out, stride, worker->resize.data());
  }
  if (!to.mask.empty()) {
    stages.resize(to.resize, levels[l - 1].mask, y0, y1, to.mask_pixels.memory.data(), to.mask.stride,
                  worker->resize.data());
    for (int y = y0; y < y1; ++y) {
      uint8_t* row = to.mask_pixels.row(y);
      for (int x = 0; x < to.mask.width; ++x) row[x] = CutMask(row[x]);
    }
  }
  worker->pyramid_ns += NanosecondsSince(start);
}

// Detects the corners of level l and, while its pixels are in cache, makes the next level.
void Pipeline::Impl::MakeLevel(int l, bool next, bool corners) {
  Level& level = levels[l];
  const int bands = corners ? static_cast<int>(level.bands.size()) : 0;
  const int next_rows = next && l + 1 < levels.count() ? levels[l + 1].image.height : 0;
  const int resizes = next_rows == 0 ? 0
                      : pool.threads() == 1
                          ? 1
                          : std::clamp(next_rows / kResizeBandRows, 1, kTasksPerThread * pool.threads());
  pool.ForEach(resizes + bands, [&](int i, int w) {
    Worker* worker = &workers[static_cast<size_t>(w)];
    if (i < resizes) {
      ResizeBand(l + 1, next_rows * i / resizes, next_rows * (i + 1) / resizes, worker);
    } else {
      FindCornersInBand(l, &level.bands[static_cast<size_t>(i - resizes)], worker);
    }
  });
}

void Pipeline::Impl::FindCorners(StageTimes* times) {
  const auto start = Clock::now();
  if (options.corner_test == CornerTest::kEveryPixel) {
    FindDenseCorners();
    times->corners_ns = NanosecondsSince(start);
    return;
  }
  const int count = levels.count();
  if (best_of_grid) {
    // From the smallest level on: its winners rule out most corners of the larger levels.
    for (int l = 0; l + 1 < count; ++l) MakeLevel(l, true, false);
    cells.ClearFloor();
    for (int l = count - 1; l >= 0; --l) {
      MakeLevel(l, false, true);
      for (const Band& band : levels[l].bands) {
        cells.RaiseFloor(l, levels[l].where.data() + band.first, levels[l].response.data() + band.first, band.count);
      }
    }
  } else {
    for (int l = 0; l < count; ++l) MakeLevel(l, true, true);
  }
  // The threads' times add up to more than the wall time: divide the wall time in their proportion.
  const int64_t wall = NanosecondsSince(start);
  double pyramid = 0;
  double corners = 0;
  for (const Worker& worker : workers) {
    pyramid += static_cast<double>(worker.pyramid_ns);
    corners += static_cast<double>(worker.corners_ns);
  }
  times->pyramid_ns = static_cast<int64_t>(static_cast<double>(wall) * pyramid / std::max(pyramid + corners, 1.0));
  times->corners_ns = wall - times->pyramid_ns;
}

// CornerTest::kEveryPixel: the corners of the only level.
void Pipeline::Impl::FindDenseCorners() {
  Level& level = levels[0];
  const int height = level.image.height;
  ImageView image = level.image;
  if (options.smooth) {
    const int tasks = pool.threads() == 1 ? 1 : std::clamp(height / kResizeBandRows, 1, 2 * pool.threads());
    pool.ForEach(tasks, [&](int i, int w) {
      int16_t* const scratch = workers[static_cast<size_t>(w)].smooth.data();
      stages.smooth(level.image, height * i / tasks, height * (i + 1) / tasks, scratch, smooth.memory.data(),
                    smooth.view.stride);
    });
    image = smooth.view;
  }
  for (Worker& worker : workers) worker.max_response = 0;
  const int bands = static_cast<int>(level.bands.size());
  pool.ForEach(bands, [&](int i, int w) {
    Worker& worker = workers[static_cast<size_t>(w)];
    Band& band = level.bands[static_cast<size_t>(i)];
    const DenseJob job = {image, band.region, i == 0 ? 0 : band.region.y0, i + 1 == bands ? height : band.region.y1};
    const DenseList list = DenseCorners(stages, options, job, &worker.dense, level.where.data() + band.first,
                                        level.response.data() + band.first);
    band.count = list.count;
    worker.max_response = std::max(worker.max_response, list.max_response);
  });
  float max_response = 0;
  for (const Worker& worker : workers) max_response = std::max(max_response, worker.max_response);
  const float threshold = AbsoluteThreshold(options, max_response);
  for (Band& band : level.bands) {
    band.count = KeepOver(threshold, band.count, level.where.data() + band.first, level.response.data() + band.first);
  }
}

}  // namespace glint::cpu
