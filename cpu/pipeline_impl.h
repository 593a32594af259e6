// The members of Pipeline and the steps of a frame. By file: pipeline.cc prepares and writes the keypoints,
// pipeline_corners.cc finds corners, pipeline_select.cc selects among them, pipeline_describe.cc orients and describes.
// Included by these alone.
#ifndef GLINT_CPU_PIPELINE_IMPL_H_
#define GLINT_CPU_PIPELINE_IMPL_H_

#include <algorithm>
#include <chrono>
#include <vector>

#include "cpu/common/buffer.h"
#include "cpu/common/quadtree_stages.h"
#include "cpu/common/stages.h"
#include "cpu/common/worker_pool.h"
#include "cpu/describe/bfrost.h"
#include "cpu/describe/blur_runs.h"
#include "cpu/fast/scored_corners.h"
#include "cpu/harris/dense_corners.h"
#include "cpu/harris/harris_corners.h"
#include "cpu/pipeline.h"
#include "cpu/pyramid/levels.h"
#include "cpu/select/cells.h"
#include "cpu/select/quadtree.h"

namespace glint::cpu {

using Clock = std::chrono::steady_clock;

inline int64_t NanosecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

inline constexpr int kResizeBandRows = 32;       // at least, for one task
inline constexpr size_t kKeypointsPerTask = 64;  // orientation and BFROST
// rBRIEF with several threads; patches that two tasks share are blurred twice.
inline constexpr size_t kDescribedPerTask = 128;

// Bytes between blurred rows: room for whole blocks, and to read beyond a patch.
inline ptrdiff_t BlurredPitch(int width) { return (width + 2 * kReadMargin - 1) / kReadMargin * kReadMargin; }

// Scratch that one thread uses at a time.
struct Worker {
  Buffer<uint8_t> fast;
  HarrisScratch harris;
  ScoredScratch scored;
  DenseScratch dense;
  Buffer<int16_t> smooth;
  float max_response = 0;  // of the responses this thread has seen
  Buffer<int16_t> resize;
  BlurRuns blur_runs;
  Buffer<int16_t> fixed_blur;
  Buffer<uint8_t> blurred;  // a ring of Impl::blurred_rows: row y of a level is row y % blurred_rows
  QuadtreeSelection quadtree;
  int64_t pyramid_ns = 0;
  int64_t corners_ns = 0;
};

// Keypoints [begin, end) of one level.
struct Task {
  int level = 0;
  int begin = 0;
  int end = 0;
};

struct Pipeline::Impl {
  explicit Impl(int threads)
      : stages(StagesFor(BestSimdTarget())),
        quadtree_stages(QuadtreeStagesFor(BestSimdTarget())),
        pool(threads),
        workers(static_cast<size_t>(pool.threads())) {}

  void Prepare(const DetectorOptions& new_options, const ImageView& image, const ImageView& mask);
  void FindCorners(StageTimes* times);
  void MakeLevel(int l, bool next, bool corners);
  void FindCornersInBand(int l, Band* band, Worker* worker);
  void ResizeBand(int l, int y0, int y1, Worker* worker);
  void FindDenseCorners();
  bool IsMasked(const Level& level, uint32_t where);
  void CompactCorners(Level* level);
  void Select(Level* level, Worker* worker);
  void SelectAcrossLevels();
  void Order(Level* level);
  void Place(Features* features);
  void Orient(Features* features);
  void Describe(Features* features);
  void BlurBand(const Level& level, size_t begin, size_t end, int y0, Worker* worker);
  void DescribeBlurred(const Level& level, size_t begin, size_t end, const Worker& worker, Features* features);
  void DescribeCopy(const Level& level, int x, int y, float angle, const Worker& worker, uint8_t* descriptor);
  void DescribeByRegions(Features* features);

  template <typename Add>
  void MakeTasks(Add add) {
    tasks.clear();
    for (int l = 0; l < levels.count(); ++l) add(l);
  }
  // Tasks of at most `size` keypoints.
  void MakeKeypointTasks(size_t size) {
    MakeTasks([this, size](int l) {
      for (size_t i = 0; i < levels[l].count; i += size) {
        tasks.push_back({l, static_cast<int>(i), static_cast<int>(std::min(i + size, levels[l].count))});
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
  const QuadtreeStages quadtree_stages;
  WorkerPool pool;
  std::vector<Worker> workers;
  std::vector<Task> tasks;

  DetectorOptions options;
  bool top_n_per_level = true;  // SelectsTopNPerLevel(options): FAST, 3x3 suppression, the best N of each level
  bool quadtree = false;        // Selection::kQuadtree
  // Detection lists only the best corner of each cell: a cell of the image, a cell of the level.
  bool best_of_grid = false;
  bool best_of_pyca = false;
  CellSelection cells;
  Plane smooth;            // of CornerTest::kEveryPixel
  float bfrost_scale = 0;  // that the pattern is for
  BfrostTable bfrost;
  int patch_size = 0;  // that the tables below are for
  CentroidTable centroid;
  PatternTable pattern;
  int blurred_rows = 0;  // bands of kBlurRows, as many as a patch can have rows in
  Levels levels;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_PIPELINE_IMPL_H_
