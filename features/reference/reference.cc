#include "features/reference/reference.h"

#include <algorithm>
#include <array>
#include <utility>

#include "features/patch.h"
#include "features/reference/fast.h"
#include "features/reference/gaussian.h"
#include "features/reference/harris.h"
#include "features/reference/orientation.h"
#include "features/reference/pyramid.h"
#include "features/reference/rbrief.h"
#include "features/reference/selection.h"

namespace glint::reference {
namespace {

void ScoreByHarris(const ImageView& level, std::vector<Corner>* corners) {
  for (Corner& c : *corners) c.response = HarrisAt(level, c.x, c.y);
}

// Fills everything from `corners` to `angles`.
void DetectOnLevel(const DetectorOptions& options, int share, const PatchDisc& disc, LevelTrace* t) {
  const ImageView level = t->level;
  t->corners = DetectFast(level, options.fast_threshold, options.arc_length);
  if (options.score == Score::kHarris) ScoreByHarris(level, &t->corners);
  t->maxima = SuppressNonMaxima(t->corners, level.shape());
  t->inside = KeepInside(KeepMasked(t->maxima, t->mask), level.shape(), options.edge_threshold);
  if (options.ranking == Ranking::kHarris) {
    t->ranked = RetainBest(t->inside, 2 * share);
    std::vector<Corner> rescored = t->ranked;
    ScoreByHarris(level, &rescored);
    t->keypoints = RetainBest(rescored, share);
  } else {
    t->ranked = RetainBest(t->inside, share);
    t->keypoints = t->ranked;
  }
  SortForOutput(&t->keypoints);
  for (const Corner& c : t->keypoints) {
    t->angles.push_back(options.orientation == Orientation::kNone ? -1.0f : CentroidAngle(level, c.x, c.y, disc));
  }
}

// Writes the level's keypoints to features[first...], as many as fit below features->count().
void Report(const DetectorOptions& options, int octave, float scale, const RbriefPattern& pattern, const LevelTrace& t,
            size_t first, Features* features) {
  const size_t count = std::min(t.keypoints.size(), features->count() - first);
  for (size_t i = 0; i < count; ++i) {
    const Corner& c = t.keypoints[i];
    const size_t out = first + i;
    features->x[out] = static_cast<float>(c.x) * scale;
    features->y[out] = static_cast<float>(c.y) * scale;
    features->size[out] = static_cast<float>(options.patch_size) * scale;
    features->angle[out] = t.angles[i];
    features->response[out] = c.response;
    features->octave[out] = octave;
    if (options.descriptor == Descriptor::kRbrief) {
      const auto descriptor = Describe(t.level, t.blurred, c.x, c.y, t.angles[i], pattern);
      std::copy(descriptor.begin(), descriptor.end(), features->descriptors.begin() + out * kRbriefBytes);
    }
  }
}

}  // namespace

Features Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                std::vector<LevelTrace>* trace) {
  const PyramidPlan plan = PlanPyramid(options, image.shape());
  const PatchDisc disc = MakePatchDisc(options.patch_size);
  const RbriefPattern pattern = MakeRbriefPattern(options.patch_size);
  const bool describe = options.descriptor == Descriptor::kRbrief;

  std::vector<Image> images = BuildPyramid(plan, image);
  std::vector<Image> masks = BuildMaskPyramid(plan, mask);
  std::vector<LevelTrace> levels(plan.levels);
  size_t found = 0;
  for (int l = 0; l < plan.levels; ++l) {
    levels[l].level = std::move(images[l]);
    levels[l].mask = std::move(masks[l]);
    DetectOnLevel(options, plan.level[l].max_features, disc, &levels[l]);
    if (describe) levels[l].blurred = GaussianBlur(levels[l].level);
    found += levels[l].keypoints.size();
  }

  Features features;
  const size_t capacity = static_cast<size_t>(OutputCapacity(options));
  features.truncated = found > capacity;
  features.Resize(std::min(found, capacity), describe ? kRbriefBytes : 0);
  size_t first = 0;
  for (int l = 0; l < plan.levels; ++l) {
    Report(options, l, plan.level[l].scale, pattern, levels[l], first, &features);
    first = std::min(first + levels[l].keypoints.size(), features.count());
  }
  if (trace != nullptr) *trace = std::move(levels);
  return features;
}

}  // namespace glint::reference
