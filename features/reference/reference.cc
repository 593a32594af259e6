#include "features/reference/reference.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "features/arc.h"
#include "features/bfrost.h"
#include "features/patch.h"
#include "features/reference/bfrost.h"
#include "features/reference/cells.h"
#include "features/reference/dense_harris.h"
#include "features/reference/fast.h"
#include "features/reference/gaussian.h"
#include "features/reference/harris.h"
#include "features/reference/orientation.h"
#include "features/reference/pyramid.h"
#include "features/reference/quadtree.h"
#include "features/reference/rbrief.h"
#include "features/reference/selection.h"

namespace glint::reference {
namespace {

void ScoreByHarris(const ImageView& level, std::vector<Corner>* corners) {
  for (Corner& c : *corners) c.response = HarrisAt(level, c.x, c.y);
}

bool IsFractionOfMax(const DetectorOptions& options) { return options.threshold_unit == ThresholdUnit::kFractionOfMax; }

// Corners with the score that suppression compares.
std::vector<Corner> FindCorners(const DetectorOptions& options, const ImageView& level) {
  if (options.corner_test == CornerTest::kEveryPixel) {
    const Image smooth = options.smooth ? Smooth(level) : Image::CopyOf(level);
    return OverThreshold(HarrisMap(smooth, options.harris_block, options.harris_k), level.shape(),
                         options.response_threshold, IsFractionOfMax(options));
  }
  if (options.score != Score::kHarris) {
    return DetectBoundedFast(level, options.fast_threshold, options.arc_length, options.max_arc, options.score);
  }
  std::vector<Corner> corners =
      DetectBoundedFast(level, options.fast_threshold, options.arc_length, options.max_arc, Score::kMaxThreshold);
  ScoreByHarris(level, &corners);
  return corners;
}

// Fills `corners` to `inside`.
void FindCandidates(const DetectorOptions& options, LevelTrace* t) {
  const ImageView level = t->level;
  if (level.empty()) return;
  if (options.selection == Selection::kQuadtree) {
    t->maxima = DetectInCells(level, options.ini_fast_threshold, options.min_fast_threshold);
    t->inside = KeepMasked(t->maxima, t->mask);
    return;
  }
  t->corners = FindCorners(options, level);
  t->maxima = SuppressNonMaxima(t->corners, level.shape(), options.suppression_radius);
  t->inside = KeepInside(KeepMasked(t->maxima, t->mask), level.shape(), options.edge_threshold);
}

// Fills `ranked` and `keypoints`, each level for itself.
void SelectTopN(const DetectorOptions& options, int share, LevelTrace* t) {
  if (options.ranking == Ranking::kHarris) {
    t->ranked = RetainBest(t->inside, 2 * share);
    std::vector<Corner> rescored = t->ranked;
    ScoreByHarris(t->level, &rescored);
    t->keypoints = RetainBest(rescored, share);
  } else {
    t->ranked = RetainBest(t->inside, share);
    t->keypoints = t->ranked;
  }
}

bool SelectsOnEachLevel(const DetectorOptions& options) {
  return options.selection == Selection::kTopN || options.selection == Selection::kQuadtree;
}

void SelectOnEachLevel(const DetectorOptions& options, int share, LevelTrace* t) {
  if (options.selection == Selection::kTopN) return SelectTopN(options, share, t);
  t->ranked = Distribute(t->inside, t->level.shape(), share);
  t->keypoints = t->ranked;
}

// What remains of `inside` at level `l` before levels are compared.
std::vector<Corner> SelectOnLevel(const DetectorOptions& options, float scale, const std::vector<Corner>& inside) {
  if (options.selection != Selection::kPyca) return inside;
  return CullCells(inside, LevelCell(options.cell_width, scale), LevelCell(options.cell_height, scale));
}

// The same for selections that look at all levels together.
void SelectAcrossLevels(const DetectorOptions& options, const PyramidPlan& plan, Shape image,
                        std::vector<LevelTrace>* levels) {
  std::vector<LevelCorner> all;
  for (int l = 0; l < plan.levels; ++l) {
    LevelTrace& t = (*levels)[l];
    const float scale = plan.level[l].scale;
    t.ranked = SelectOnLevel(options, scale, t.inside);
    for (const Corner& c : t.ranked) {
      all.push_back({l, c, ImagePosition(c.x, scale, image.width), ImagePosition(c.y, scale, image.height)});
    }
  }
  if (options.selection == Selection::kGrid) all = BestOfCells(all, options.cell_width, options.cell_height);
  if (options.selection == Selection::kPyca) all = Aggregate(all, options.aggregation_window);

  std::vector<Corner> best;
  best.reserve(all.size());
  for (const LevelCorner& c : all) best.push_back(c.corner);
  best = RetainBest(best, options.max_features);
  float least = std::numeric_limits<float>::infinity();
  for (const Corner& c : best) least = std::min(least, c.response);
  for (const LevelCorner& c : all) {
    if (c.corner.response >= least) (*levels)[c.octave].keypoints.push_back(c.corner);
  }
}

float Angle(const DetectorOptions& options, const PatchDisc& disc, const ImageView& level, const Corner& c) {
  switch (options.orientation) {
    case Orientation::kNone:
      break;
    case Orientation::kIntensityCentroid:
      return CentroidAngle(level, c.x, c.y, disc);
    case Orientation::kArcMidpoint:
      return kDegreesPerArcStep * static_cast<float>(ArcMidpointStep(
                                      ArcAt(level, c.x, c.y, options.fast_threshold, options.arc_length, kFastRing)));
  }
  return -1.0f;
}

// What descriptors are made of.
struct Patterns {
  RbriefPattern rbrief;
  BfrostPattern bfrost;
};

std::array<uint8_t, kRbriefBytes> DescribeCorner(const DetectorOptions& options, const Patterns& patterns,
                                                 const LevelTrace& t, const Corner& c, float angle) {
  static_assert(kRbriefBytes == kBfrostBytes);
  if (options.descriptor == Descriptor::kBfrost) {
    return DescribeBfrost(t.level, c.x, c.y, RoundHalfEven(angle / kDegreesPerArcStep), patterns.bfrost);
  }
  return Describe(t.level, t.blurred, c.x, c.y, angle, patterns.rbrief);
}

// Writes the level's keypoints to features[first...], as many as fit below features->count().
void Report(const DetectorOptions& options, int octave, float scale, const Patterns& patterns, const LevelTrace& t,
            size_t first, Features* features) {
  const size_t count = std::min(t.keypoints.size(), features->count() - first);
  for (size_t i = 0; i < count; ++i) {
    const Corner& c = t.keypoints[i];
    const size_t out = first + i;
    features->x[out] = static_cast<float>(c.x) * scale;
    features->y[out] = static_cast<float>(c.y) * scale;
    features->size[out] = KeypointSize(options, scale);
    features->angle[out] = t.angles[i];
    features->response[out] = c.response;
    features->octave[out] = octave;
    if (options.descriptor != Descriptor::kNone) {
      const auto descriptor = DescribeCorner(options, patterns, t, c, t.angles[i]);
      std::copy(descriptor.begin(), descriptor.end(), features->descriptors.begin() + out * kRbriefBytes);
    }
  }
}

}  // namespace

Features Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                std::vector<LevelTrace>* trace) {
  const PyramidPlan plan = PlanPyramid(options, image.shape());
  const PatchDisc disc = MakePatchDisc(options.patch_size);
  const Patterns patterns = {MakeRbriefPattern(options.patch_size), MakeBfrostPattern(options.bfrost_scale)};

  std::vector<Image> images = BuildPyramid(options.pyramid, plan, image, InterpolationOf(options));
  std::vector<Image> masks = BuildMaskPyramid(options, plan, mask);
  std::vector<LevelTrace> levels(plan.levels);
  for (int l = 0; l < plan.levels; ++l) {
    levels[l].level = std::move(images[l]);
    levels[l].mask = std::move(masks[l]);
    FindCandidates(options, &levels[l]);
    if (SelectsOnEachLevel(options)) SelectOnEachLevel(options, plan.level[l].max_features, &levels[l]);
  }
  if (!SelectsOnEachLevel(options)) SelectAcrossLevels(options, plan, image.shape(), &levels);

  size_t found = 0;
  for (LevelTrace& t : levels) {
    SortForOutput(&t.keypoints);
    for (const Corner& c : t.keypoints) t.angles.push_back(Angle(options, disc, t.level, c));
    if (options.descriptor == Descriptor::kRbrief) {
      t.blurred = options.selection == Selection::kQuadtree ? FixedGaussianBlur(t.level) : GaussianBlur(t.level);
    }
    found += t.keypoints.size();
  }

  Features features;
  const size_t capacity = static_cast<size_t>(OutputCapacity(options));
  features.truncated = found > capacity;
  features.Resize(std::min(found, capacity), options.descriptor == Descriptor::kNone ? 0 : kRbriefBytes);
  size_t first = 0;
  for (int l = 0; l < plan.levels; ++l) {
    Report(options, l, plan.level[l].scale, patterns, levels[l], first, &features);
    first = std::min(first + levels[l].keypoints.size(), features.count());
  }
  if (trace != nullptr) *trace = std::move(levels);
  return features;
}

}  // namespace glint::reference
