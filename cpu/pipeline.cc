#include "cpu/pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <vector>

#include "cpu/bfrost.h"
#include "cpu/buffer.h"
#include "cpu/cells.h"
#include "cpu/dense_corners.h"
#include "cpu/harris_corners.h"
#include "cpu/levels.h"
#include "cpu/need_map.h"
#include "cpu/patch_copy.h"
#include "cpu/scored_corners.h"
#include "cpu/select.h"
#include "cpu/stages.h"
#include "cpu/worker_pool.h"
#include "features/arc.h"
#include "features/bfrost.h"
#include "features/math.h"
#include "features/patch.h"

namespace glint::cpu {
namespace {

using Clock = std::chrono::steady_clock;

int64_t NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

constexpr int kResizeBandRows = 32;       // at least, for one task
constexpr size_t kKeypointsPerTask = 64;  // orientation and descriptors
constexpr int kBlurTaskRows = 128;        // each recomputes 6 rows

// Scratch that one thread uses at a time.
struct Worker {
  Buffer<uint8_t> fast;
  HarrisScratch harris;
  ScoredScratch scored;
  Buffer<int32_t> dense_harris;
  Buffer<uint32_t> columns;
  float most = 0;  // of the responses this thread has seen
  Buffer<int16_t> resize;
  Buffer<float> blur;
  int64_t pyramid_ns = 0;
  int64_t corners_ns = 0;
};

// A part of one level: rows or keypoints [begin, end), or a band.
struct Task {
  int level = 0;
  int strip = 0;
  int begin = 0;
  int end = 0;
};

}  // namespace

struct Pipeline::Impl {
  explicit Impl(int threads)
      : stages(StagesFor(BestSimdTarget())), pool(threads), workers(static_cast<size_t>(pool.threads())) {}

  void Prepare(const DetectorOptions& new_options, const ImageView& image, const ImageView& mask);
  size_t MostTasks();
  void FindCorners(StageTimes* times);
  void FindCornersInBand(Level* level, Band* band, Worker* worker);
  void ResizeBand(int l, int y0, int y1, Worker* worker);
  void FindDenseCorners();
  bool IsMasked(const Level& level, uint32_t where);
  void Gather(Level* level);
  void Select(Level* level);
  void SelectAcrossLevels();
  void Order(Level* level);
  void Place(Features* features);
  void Orient(Features* features);
  void Blur();
  void Describe(Features* features);
  void DescribeByRegions(Features* features);
  void DescribeAtBorder(const Level& level, int x, int y, float angle, uint8_t* descriptor);

  template <typename Add>
  void MakeTasks(Add add) {
    tasks.clear();
    for (int l = 0; l < levels.count(); ++l) add(l);
  }
  // Tasks of at most `size` keypoints.
  void MakeKeypointTasks() {
    MakeTasks([this](int l) {
      for (size_t i = 0; i < levels[l].count; i += kKeypointsPerTask) {
        tasks.push_back(
            {l, 0, static_cast<int>(i), static_cast<int>(std::min(i + kKeypointsPerTask, levels[l].count))});
      }
    });
  }
  template <typename Run>
  void ForEachTask(Run run) {
    pool.ForEach(static_cast<int>(tasks.size()), [this, &run](int i, int worker) {
      run(tasks[static_cast<size_t>(i)], &workers[static_cast<size_t>(worker)]);
    });
  }

  const Stages stages;
  WorkerPool pool;
  std::vector<Worker> workers;
  std::vector<Task> tasks;

  DetectorOptions options;
  bool orb_kind = true;  // IsOrbKind(options)
  CellSelection cells;
  Plane smooth;             // of CornerTest::kEveryPixel
  Buffer<float> responses;  // likewise: the map
  float bfrost_scale = 0;   // that the pattern is for
  BfrostPattern bfrost;
  int patch_size = 0;  // that the tables below are for
  CentroidTable centroid;
  PatternTable pattern;
  Levels levels;
};

void Pipeline::Impl::Prepare(const DetectorOptions& new_options, const ImageView& image, const ImageView& mask) {
  options = new_options;
  orb_kind = IsOrbKind(options);
  const bool dense = options.corner_test == CornerTest::kEveryPixel;
  if (bfrost_scale != options.bfrost_scale) {
    bfrost_scale = options.bfrost_scale;
    bfrost = MakeBfrostPattern(bfrost_scale);
  }
  if (patch_size != options.patch_size) {
    patch_size = options.patch_size;
    centroid = MakeCentroidTable(MakePatchDisc(patch_size));
    pattern = MakePatternTable(MakeRbriefPattern(patch_size));
  }
  levels.Prepare(options, image, mask, pool.threads());
  if (options.selection != Selection::kTopN) cells.Prepare(options, image.shape(), levels.room());
  if (dense) {
    responses.Reserve(DenseHarrisPitch(image.width) * static_cast<size_t>(image.height));
    if (options.smooth) smooth.Resize(image.shape());
  }
  for (Worker& worker : workers) {
    worker.fast.Grow(FastScratchBytes(image.width));
    worker.resize.Grow(ResizeScratchElements(image.width));
    if (orb_kind && options.score == Score::kHarris) worker.harris.Prepare(image.width);
    if (!orb_kind && !dense) worker.scored.Prepare(image.width);
    if (dense) {
      worker.dense_harris.Grow(DenseHarrisScratchElements(image.width));
      worker.columns.Reserve(static_cast<size_t>(image.width) + 1);
    }
    if (options.descriptor == Descriptor::kRbrief) worker.blur.Grow(kBlurScratchFloats);
    worker.pyramid_ns = 0;
    worker.corners_ns = 0;
  }
  tasks.reserve(MostTasks());
}

// No stage has more tasks than this, whatever the image shows.
size_t Pipeline::Impl::MostTasks() {
  const size_t of_keypoints = static_cast<size_t>(OutputCapacity(options)) / kKeypointsPerTask + kMaxLevels;
  size_t of_blur = 0;
  for (int l = 0; l < levels.count(); ++l) {
    const Shape shape = levels[l].image.shape();
    of_blur += static_cast<size_t>(BlurStrips(shape.width)) * static_cast<size_t>(shape.height / kBlurTaskRows + 1);
  }
  return std::max(of_keypoints, of_blur);
}

void Pipeline::Impl::FindCornersInBand(Level* level, Band* band, Worker* worker) {
  const auto start = Clock::now();
  const FastJob job = {level->image, band->region, options.fast_threshold, options.arc_length};
  uint32_t* where = level->where.data() + band->first;
  if (!orb_kind) {
    band->count = ScoredCorners(stages, options, job, &worker->scored, where, level->response.data() + band->first);
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
  stages.resize(to.resize, to.source, y0, y1, to.pixels.memory.data(), to.pixels.view.stride, worker->resize.data());
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

// Corners of each level, and beside them, while its pixels are in cache, the next level.
void Pipeline::Impl::FindCorners(StageTimes* times) {
  const auto start = Clock::now();
  if (options.corner_test == CornerTest::kEveryPixel) {
    FindDenseCorners();
    times->corners_ns = NanosecondsSince(start);
    return;
  }
  for (int l = 0; l < levels.count(); ++l) {
    Level& level = levels[l];
    const int bands = static_cast<int>(level.bands.size());
    const int next_rows = l + 1 < levels.count() ? levels[l + 1].image.height : 0;
    const int resizes = next_rows == 0 ? 0
                        : pool.threads() == 1
                            ? 1
                            : std::clamp(next_rows / kResizeBandRows, 1, kTasksPerThread * pool.threads());
    pool.ForEach(resizes + bands, [&](int i, int w) {
      Worker* worker = &workers[static_cast<size_t>(w)];
      if (i < resizes) {
        ResizeBand(l + 1, next_rows * i / resizes, next_rows * (i + 1) / resizes, worker);
      } else {
        FindCornersInBand(&level, &level.bands[static_cast<size_t>(i - resizes)], worker);
      }
    });
  }
  // Several threads' times add up to more than the clock's: give each stage its part of it.
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

// The only level's corners when every pixel is asked.
void Pipeline::Impl::FindDenseCorners() {
  Level& level = levels[0];
  const int height = level.image.height;
  const int bands = pool.threads() == 1 ? 1 : std::clamp(height / kResizeBandRows, 1, 2 * pool.threads());
  const auto in_bands = [&](auto run) {
    pool.ForEach(bands, [&](int i, int w) {
      run(height * i / bands, height * (i + 1) / bands, &workers[static_cast<size_t>(w)]);
    });
  };
  ImageView image = level.image;
  if (options.smooth) {
    in_bands([&](int y0, int y1, Worker* worker) {
      stages.smooth(level.image, y0, y1, reinterpret_cast<int16_t*>(worker->dense_harris.data()), smooth.memory.data(),
                    smooth.view.stride);
    });
    image = smooth.view;
  }
  const ResponseMap map = {responses.data(), DenseHarrisPitch(image.width), image.shape()};
  for (Worker& worker : workers) worker.most = 0;
  in_bands([&](int y0, int y1, Worker* worker) {
    const DenseHarrisJob job = {image, options.harris_block, options.harris_k, y0, y1};
    worker->most =
        std::max(worker->most, stages.dense_harris(job, worker->dense_harris.data(), responses.data(), map.pitch));
  });
  float most = 0;
  for (const Worker& worker : workers) most = std::max(most, worker.most);
  const float threshold = AbsoluteThreshold(options, most);
  pool.ForEach(static_cast<int>(level.bands.size()), [&](int i, int w) {
    Band& band = level.bands[static_cast<size_t>(i)];
    band.count = DenseCorners(stages, map, band.region, threshold, options.suppression_radius,
                              workers[static_cast<size_t>(w)].columns.data(), level.where.data() + band.first,
                              level.response.data() + band.first);
  });
}

bool Pipeline::Impl::IsMasked(const Level& level, uint32_t where) {
  const ImageView& mask = levels[0].mask;
  if (mask.empty()) return false;
  if (!level.mask.empty()) return level.mask.at(PointX(where), PointY(where)) == 0;
  return mask.at(ImagePosition(PointX(where), level.scale, mask.width),
                 ImagePosition(PointY(where), level.scale, mask.height)) == 0;
}

// The bands' corners at which there is no mask, in one list.
void Pipeline::Impl::Gather(Level* level) {
  const bool by_score = orb_kind && options.score == Score::kMaxThreshold;
  size_t count = 0;
  for (const Band& band : level->bands) {
    if (levels[0].mask.empty() && band.first == count) {
      count += band.count;
      continue;
    }
    for (size_t i = band.first; i < band.first + band.count; ++i) {
      const uint32_t where = level->where[i];
      if (IsMasked(*level, where)) continue;
      level->where[count] = where;
      if (by_score) {
        level->score[count] = level->score[i];
      } else {
        level->response[count] = level->response[i];
      }
      ++count;
    }
  }
  level->count = count;
}

// Selection::kTopN.
void Pipeline::Impl::Select(Level* level) {
  Gather(level);
  const size_t share = static_cast<size_t>(level->share);
  const bool again = options.ranking == Ranking::kHarris;
  const size_t first_cut = again ? 2 * share : share;
  uint32_t* where = level->where.data();
  float* response = level->response.data();
  size_t count = level->count;
  if (orb_kind && options.score == Score::kMaxThreshold) {
    count = KeepBestScores(where, level->score.data(), count, first_cut, response);
  } else if (again) {
    count = KeepBestResponses(where, response, count, first_cut, &level->bit_keys);
  }
  if (again) stages.harris(level->image, where, count, response);
  level->found = KeepBestResponses(where, response, count, share, &level->bit_keys);
  Order(level);
}

// Any other selection.
void Pipeline::Impl::SelectAcrossLevels() {
  LevelList lists[kMaxLevels];
  const int count = levels.count();
  for (int l = 0; l < count; ++l) {
    Level& level = levels[l];
    Gather(&level);
    lists[l] = {level.where.data(), level.response.data(), level.count, level.scale, level.image.shape()};
    if (options.selection == Selection::kPyca) cells.CullLevel(options, &lists[l]);
  }
  const Shape image = levels[0].image.shape();
  if (options.selection == Selection::kGrid) cells.BestOfGrid(options, image, lists, count);
  if (options.selection == Selection::kPyca) cells.Aggregate(options, image, lists, count);
  cells.KeepBest(options.max_features, lists, count);
  for (int l = 0; l < count; ++l) {
    levels[l].found = lists[l].count;
    Order(&levels[l]);
  }
}

// Cuts what no output has room for and finds the others' places.
void Pipeline::Impl::Order(Level* level) {
  uint32_t* where = level->where.data();
  float* response = level->response.data();
  level->count = TrimTies(where, response, level->found, static_cast<size_t>(OutputCapacity(options)));
  OutputOrder(response, level->count, &level->sort_keys, level->slot.data());
}

// Decides where each level's keypoints go, drops those that do not fit, and writes what is known of the others.
void Pipeline::Impl::Place(Features* features) {
  const size_t capacity = static_cast<size_t>(OutputCapacity(options));
  size_t found = 0;
  for (int l = 0; l < levels.count(); ++l) {
    Level& level = levels[l];
    const size_t room = capacity - std::min(found, capacity);
    level.first_output = std::min(found, capacity);
    found += level.found;
    if (level.count <= room) continue;
    size_t kept = 0;
    for (size_t i = 0; i < level.count; ++i) {
      if (level.slot[i] >= room) continue;
      level.where[kept] = level.where[i];
      level.response[kept] = level.response[i];
      level.slot[kept] = level.slot[i];
      ++kept;
    }
    level.count = kept;
  }
  const bool describe = options.descriptor != Descriptor::kNone;
  for (auto* v : {&features->x, &features->y, &features->size, &features->angle, &features->response}) {
    v->reserve(capacity);
  }
  features->octave.reserve(capacity);
  if (describe) features->descriptors.reserve(capacity * kRbriefBytes);
  features->Resize(std::min(found, capacity), describe ? kRbriefBytes : 0);
  features->truncated = found > capacity;
  for (int l = 0; l < levels.count(); ++l) {
    const Level& level = levels[l];
    for (size_t i = 0; i < level.count; ++i) {
      const size_t out = level.first_output + level.slot[i];
      features->x[out] = static_cast<float>(PointX(level.where[i])) * level.scale;
      features->y[out] = static_cast<float>(PointY(level.where[i])) * level.scale;
      features->size[out] = static_cast<float>(options.patch_size) * level.scale;
      features->angle[out] = -1.0f;
      features->response[out] = level.response[i];
      features->octave[out] = l;
    }
  }
}

void Pipeline::Impl::Orient(Features* features) {
  MakeKeypointTasks();
  ForEachTask([&](const Task& task, Worker*) {
    Level& level = levels[task.level];
    const size_t count = static_cast<size_t>(task.end - task.begin);
    if (options.orientation == Orientation::kArcMidpoint) {
      ArcMidpoints(level.image, options, level.where.data() + task.begin, count, level.angle.data() + task.begin);
    } else {
      stages.centroid(level.image, centroid, level.where.data() + task.begin, count, level.angle.data() + task.begin);
    }
    for (int i = task.begin; i < task.end; ++i) features->angle[level.first_output + level.slot[i]] = level.angle[i];
  });
}

void Pipeline::Impl::Blur() {
  pool.ForEach(levels.count(), [this](int l, int) {
    const Level& level = levels[l];
    if (level.count == 0) return;
    MarkNeeded(level.where.data(), level.count, level.image.shape(), pattern.reach, levels[l].needed.data());
  });
  MakeTasks([this](int l) {
    Level& level = levels[l];
    if (level.count == 0) return;
    const int height = level.image.height;
    const int strips = BlurStrips(level.image.width);
    const int rows = pool.threads() == 1 ? height : kBlurTaskRows;
    for (int strip = 0; strip < strips; ++strip) {
      for (int y = 0; y < height; y += rows) tasks.push_back({l, strip, y, std::min(y + rows, height)});
    }
  });
  ForEachTask([this](const Task& task, Worker* worker) {
    Level& level = levels[task.level];
    BlurJob job;
    job.image = level.image;
    job.needed = NeededRows(level.needed.data(), level.image.height, task.strip);
    job.strip = task.strip;
    job.y0 = task.begin;
    job.y1 = task.end;
    job.out = level.blurred.memory.data();
    job.out_stride = level.blurred.view.stride;
    stages.blur(job, worker->blur.data());
  });
}

// Inside the level the blurred pixels, outside reflections of the others: cv::ORB blurs the level alone, not the
// margin.
void Pipeline::Impl::DescribeAtBorder(const Level& level, int x, int y, float angle, uint8_t* descriptor) {
  constexpr int kPitch = 128;
  uint8_t patch[kPitch * kPitch];
  const int reach = pattern.reach;
  const int side = 2 * reach + 1;
  CopyPatch(level.image, x - reach, y - reach, side, side, patch, kPitch);
  const int u0 = std::max(x - reach, 0);
  const int u1 = std::min(x + reach + 1, level.image.width);
  for (int v = std::max(y - reach, 0); v < std::min(y + reach + 1, level.image.height); ++v) {
    std::memcpy(patch + (v - y + reach) * kPitch + (u0 - x + reach), level.blurred.view.row(v) + u0,
                static_cast<size_t>(u1 - u0));
  }
  stages.describe(pattern, patch + reach * kPitch + reach, kPitch, angle, descriptor);
}

void Pipeline::Impl::Describe(Features* features) {
  MakeKeypointTasks();
  ForEachTask([&](const Task& task, Worker*) {
    const Level& level = levels[task.level];
    const int reach = pattern.reach;
    for (int i = task.begin; i < task.end; ++i) {
      const int x = PointX(level.where[i]);
      const int y = PointY(level.where[i]);
      uint8_t* descriptor = features->descriptors.data() + (level.first_output + level.slot[i]) * kRbriefBytes;
      if (x >= reach && y >= reach && x + reach < level.image.width && y + reach < level.image.height) {
        stages.describe(pattern, level.blurred.view.row(y) + x, level.blurred.view.stride, level.angle[i], descriptor);
      } else {
        DescribeAtBorder(level, x, y, level.angle[i], descriptor);
      }
    }
  });
}

// Descriptor::kBfrost.
void Pipeline::Impl::DescribeByRegions(Features* features) {
  pool.ForEach(levels.count(), [this](int l, int) {
    if (levels[l].count > 0) MakeIntegral(levels[l].image, levels[l].integral.data());
  });
  MakeKeypointTasks();
  ForEachTask([&](const Task& task, Worker*) {
    const Level& level = levels[task.level];
    const IntegralView integral = {level.integral.data(), IntegralPitch(level.image.width), level.image.shape()};
    for (int i = task.begin; i < task.end; ++i) {
      DescribeBfrost(integral, bfrost, PointX(level.where[i]), PointY(level.where[i]),
                     RoundHalfEven(level.angle[i] / kDegreesPerArcStep),
                     features->descriptors.data() + (level.first_output + level.slot[i]) * kBfrostBytes);
    }
  });
}

Pipeline::Pipeline(int threads) : impl_(std::make_unique<Impl>(std::max(threads, 1))) {}
Pipeline::~Pipeline() = default;

absl::Status Pipeline::Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                              Features* features, StageTimes* times) {
  const auto start = Clock::now();
  StageTimes t;
  impl_->Prepare(options, image, mask);
  impl_->FindCorners(&t);

  auto stage_start = Clock::now();
  const auto lap = [&stage_start] {
    const int64_t ns = NanosecondsSince(stage_start);
    stage_start = Clock::now();
    return ns;
  };
  if (options.selection == Selection::kTopN) {
    impl_->pool.ForEach(impl_->levels.count(), [this](int l, int) { impl_->Select(&impl_->levels[l]); });
  } else {
    impl_->SelectAcrossLevels();
  }
  t.select_ns = lap();
  impl_->Place(features);
  t.download_ns = lap();
  if (options.orientation != Orientation::kNone) {
    impl_->Orient(features);
    t.orient_ns = lap();
  }
  if (options.descriptor == Descriptor::kRbrief) {
    impl_->Blur();
    impl_->Describe(features);
    t.describe_ns = lap();
  }
  if (options.descriptor == Descriptor::kBfrost) {
    impl_->DescribeByRegions(features);
    t.describe_ns = lap();
  }
  t.detect_ns = NanosecondsSince(start) - t.download_ns;
  if (times != nullptr) *times = t;
  return absl::OkStatus();
}

}  // namespace glint::cpu
