#include "cpu/pipeline.h"

#include <algorithm>

#include "cpu/pipeline_impl.h"
#include "features/math.h"

namespace glint::cpu {

void Pipeline::Impl::Prepare(const DetectorOptions& new_options, const ImageView& image, const ImageView& mask) {
  options = new_options;
  top_n_per_level = SelectsTopNPerLevel(options);
  quadtree = options.selection == Selection::kQuadtree;
  const bool dense = options.corner_test == CornerTest::kEveryPixel;
  if (bfrost_scale != options.bfrost_scale) {
    bfrost_scale = options.bfrost_scale;
    bfrost = MakeBfrostTable(bfrost_scale);
  }
  if (patch_size != options.patch_size) {
    patch_size = options.patch_size;
    centroid = MakeCentroidTable(MakePatchDisc(patch_size));
    pattern = MakePatternTable(MakeRbriefPattern(patch_size));
    blurred_rows = ((2 * pattern.reach + kBlurRows - 1) / kBlurRows + 1) * kBlurRows;
  }
  levels.Prepare(options, image, mask, pool.threads());
  if (options.selection != Selection::kTopN && !quadtree) cells.Prepare(options, image.shape(), levels.room());
  // With a mask, cells are culled later: masked corners must not displace others.
  best_of_grid = options.selection == Selection::kGrid && options.score == Score::kSadCircle && mask.empty();
  best_of_pyca = options.selection == Selection::kPyca && options.suppression_radius == 0 && mask.empty();
  if (options.smooth) smooth.Resize(image.shape());
  for (Worker& worker : workers) {
    worker.fast.Grow(FastScratchBytes(image.width));
    worker.resize.Grow(ResizeScratchElements(image.width));
    if (top_n_per_level && options.score == Score::kHarris) worker.harris.Prepare(image.width);
    if (!top_n_per_level && !dense && !quadtree) worker.scored.Prepare(image.width);
    if (dense) worker.dense.Prepare(options, image.width);
    if (options.smooth) worker.smooth.Grow(DenseHarrisPitch(image.width));
    if (options.descriptor == Descriptor::kRbrief) {
      worker.blur_runs.Prepare(image.width);
      worker.blurred.Grow(static_cast<size_t>(std::min(blurred_rows, image.height) * BlurredPitch(image.width)));
    }
    if (options.descriptor == Descriptor::kRbrief && quadtree) worker.fixed_blur.Grow(kFixedBlurScratchElements);
    if (quadtree) worker.quadtree.Prepare(levels.largest_room(), options.max_features);
    worker.pyramid_ns = 0;
    worker.corners_ns = 0;
  }
  tasks.reserve(static_cast<size_t>(OutputCapacity(options)) / kKeypointsPerTask + kMaxLevels);
}

// Assigns each level's keypoints their output index, drops those beyond the capacity, and writes all fields but angle
// and descriptor.
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
      features->size[out] = KeypointSize(options, level.scale);
      features->angle[out] = -1.0f;
      features->response[out] = level.response[i];
      features->octave[out] = l;
    }
  }
}

Pipeline::Pipeline(int threads) : impl_(std::make_unique<Impl>(std::max(threads, 1))) {}
Pipeline::~Pipeline() = default;

WorkerPool* Pipeline::pool() { return &impl_->pool; }

ImageView Pipeline::LevelImage(int l) const { return l < impl_->levels.count() ? impl_->levels[l].image : ImageView(); }

void Pipeline::SwapPyramid() { impl_->levels.SwapPixels(); }

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
  if (options.selection == Selection::kTopN || impl_->quadtree) {
    impl_->pool.ForEach(impl_->levels.count(), [this](int l, int w) {
      impl_->Select(&impl_->levels[l], &impl_->workers[static_cast<size_t>(w)]);
    });
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
