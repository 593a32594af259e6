#include "cpu/pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <vector>

#include "cpu/buffer.h"
#include "cpu/harris_corners.h"
#include "cpu/levels.h"
#include "cpu/need_map.h"
#include "cpu/patch_copy.h"
#include "cpu/select.h"
#include "cpu/stages.h"
#include "cpu/worker_pool.h"
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
  size_t Gather(Level* level);
  void Select(Level* level);
  void Place(Features* features);
  void Orient(Features* features);
  void Blur();
  void Describe(Features* features);
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
  int patch_size = 0;  // that the tables below are for
  CentroidTable centroid;
  PatternTable pattern;
  Levels levels;
};

void Pipeline::Impl::Prepare(const DetectorOptions& new_options, const ImageView& image, const ImageView& mask) {
  options = new_options;
  if (patch_size != options.patch_size) {
    patch_size = options.patch_size;
    centroid = MakeCentroidTable(MakePatchDisc(patch_size));
    pattern = MakePatternTable(MakeRbriefPattern(patch_size));
  }
  levels.Prepare(options, image, mask, pool.threads());
  for (Worker& worker : workers) {
    worker.fast.Grow(FastScratchBytes(image.width));
    worker.resize.Grow(ResizeScratchElements(image.width));
    if (options.score == Score::kHarris) worker.harris.Prepare(image.width);
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
  if (options.score == Score::kHarris) {
    band->count = HarrisCorners(stages, job, &worker->harris, where, level->response.data() + band->first);
  } else {
    band->count = stages.fast_suppressed(job, worker->fast.data(), where, level->score.data() + band->first);
  }
  worker->corners_ns += NanosecondsSince(start);
}

void Pipeline::Impl::ResizeBand(int l, int y0, int y1, Worker* worker) {
  const auto start = Clock::now();
  Level& to = levels[l];
  Level& from = levels[l - 1];
  stages.resize(to.resize, from.image, y0, y1, to.pixels.memory.data(), to.pixels.view.stride, worker->resize.data());
  if (!to.mask.empty()) {
    stages.resize(to.resize, from.mask, y0, y1, to.mask_pixels.memory.data(), to.mask.stride, worker->resize.data());
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

// Brings the bands' corners together, less those that the mask hides. Returns their number.
size_t Pipeline::Impl::Gather(Level* level) {
  const bool by_score = options.score == Score::kMaxThreshold;
  size_t count = 0;
  for (const Band& band : level->bands) {
    if (level->mask.empty() && band.first == count) {
      count += band.count;
      continue;
    }
    for (size_t i = band.first; i < band.first + band.count; ++i) {
      const uint32_t where = level->where[i];
      if (!level->mask.empty() && level->mask.at(PointX(where), PointY(where)) == 0) continue;
      level->where[count] = where;
      if (by_score) {
        level->score[count] = level->score[i];
      } else {
        level->response[count] = level->response[i];
      }
      ++count;
    }
  }
  return count;
}

void Pipeline::Impl::Select(Level* level) {
  const bool by_score = options.score == Score::kMaxThreshold;
  size_t count = Gather(level);
  const size_t share = static_cast<size_t>(level->share);
  uint32_t* where = level->where.data();
  float* response = level->response.data();
  if (by_score) {
    const bool again = options.ranking == Ranking::kHarris;
    count = KeepBestScores(where, level->score.data(), count, again ? 2 * share : share, response);
    if (again) stages.harris(level->image, where, count, response);
  }
  level->found = KeepBestResponses(where, response, count, share, &level->bit_keys);
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
  const bool describe = options.descriptor == Descriptor::kRbrief;
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
    stages.centroid(level.image, centroid, level.where.data() + task.begin, static_cast<size_t>(task.end - task.begin),
                    level.angle.data() + task.begin);
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
  impl_->pool.ForEach(impl_->levels.count(), [this](int l, int) { impl_->Select(&impl_->levels[l]); });
  t.select_ns = lap();
  impl_->Place(features);
  t.download_ns = lap();
  if (options.orientation == Orientation::kIntensityCentroid) {
    impl_->Orient(features);
    t.orient_ns = lap();
  }
  if (options.descriptor == Descriptor::kRbrief) {
    impl_->Blur();
    impl_->Describe(features);
    t.describe_ns = lap();
  }
  t.detect_ns = NanosecondsSince(start) - t.download_ns;
  if (times != nullptr) *times = t;
  return absl::OkStatus();
}

}  // namespace glint::cpu
