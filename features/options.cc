#include "features/options.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "features/arc.h"
#include "features/error.h"
#include "features/option_fields.h"
#include "features/pixels.h"
#include "features/quadtree.h"
#include "features/status_macros.h"

namespace glint {
namespace {

auto AsTuple(const DetectorOptions& o) {
  return std::tie(o.pyramid, o.levels, o.scale_factor, o.corner_test, o.fast_threshold, o.ini_fast_threshold,
                  o.min_fast_threshold, o.arc_length, o.max_arc, o.score, o.suppression_radius, o.smooth,
                  o.harris_block, o.harris_k, o.selection, o.ranking, o.max_features, o.edge_threshold, o.cell_width,
                  o.cell_height, o.aggregation_window, o.response_threshold, o.threshold_unit, o.orientation,
                  o.descriptor, o.patch_size, o.bfrost_scale);
}

// Selection::kQuadtree is one detector as a whole: the stages around it are those of ORB-SLAM2.
absl::Status CheckQuadtree(const DetectorOptions& o) {
  const DetectorOptions defaults;
  if (o.selection != Selection::kQuadtree) {
    for (const auto& [field, member] : {std::pair{"ini_fast_threshold", &DetectorOptions::ini_fast_threshold},
                                        std::pair{"min_fast_threshold", &DetectorOptions::min_fast_threshold}}) {
      if (o.*member != defaults.*member) {
        return ContradictionError(field, absl::StrCat(o.*member, ", but only selection QUADTREE has it"));
      }
    }
    return absl::OkStatus();
  }
  if (o.min_fast_threshold > o.ini_fast_threshold) {
    return ContradictionError(
        "min_fast_threshold",
        absl::StrCat(o.min_fast_threshold, " is more than ini_fast_threshold ", o.ini_fast_threshold));
  }
  if (o.fast_threshold != defaults.fast_threshold) {
    return ContradictionError(
        "fast_threshold",
        absl::StrCat(o.fast_threshold, ", but selection QUADTREE has ini_fast_threshold and min_fast_threshold"));
  }
  if (o.pyramid != Pyramid::kCascaded || o.corner_test != CornerTest::kFast || o.score != Score::kMaxThreshold) {
    return ContradictionError("selection", "QUADTREE needs pyramid CASCADED, corner_test FAST, score MAX_THRESHOLD");
  }
  for (const auto& [field, value, needed] :
       {std::tuple{"arc_length", o.arc_length, kMinArcLength}, std::tuple{"max_arc", o.max_arc, kFastRing},
        std::tuple{"suppression_radius", o.suppression_radius, 1},
        std::tuple{"edge_threshold", o.edge_threshold, kQuadtreeEdge},
        std::tuple{"patch_size", o.patch_size, kQuadtreePatch}}) {
    if (value != needed) {
      return ContradictionError(field, absl::StrCat(value, ", but selection QUADTREE has ", needed));
    }
  }
  if (o.orientation == Orientation::kArcMidpoint) {
    return ContradictionError("orientation", "selection QUADTREE needs INTENSITY_CENTROID or NONE");
  }
  return absl::OkStatus();
}

// Choices that contradict each other.
absl::Status CheckChoices(const DetectorOptions& o) {
  const bool dense = o.corner_test == CornerTest::kEveryPixel;
  if (o.max_arc < o.arc_length) {
    return ContradictionError("max_arc", absl::StrCat(o.max_arc, " is less than arc_length ", o.arc_length));
  }
  for (const auto& [field, side] :
       {std::pair{"harris_block", o.harris_block}, std::pair{"aggregation_window", o.aggregation_window}}) {
    if (side % 2 == 0) return ContradictionError(field, absl::StrCat(side, " is even; a window has a middle pixel"));
  }
  if (o.pyramid == Pyramid::kHalf && o.scale_factor != 2) {
    return ContradictionError("scale_factor", absl::StrCat(o.scale_factor, ", but pyramid HALF has 2"));
  }
  if (o.score == Score::kHarris && o.ranking == Ranking::kHarris) {
    return ContradictionError("ranking", "HARRIS re-ranks another score; with score HARRIS it must be SCORE");
  }
  if (o.selection != Selection::kTopN && o.ranking == Ranking::kHarris) {
    return ContradictionError("ranking", "HARRIS needs selection TOP_N");
  }
  if (dense && o.score != Score::kHarris) {
    return ContradictionError("score", "corner_test EVERY_PIXEL needs score HARRIS");
  }
  if (dense && (o.selection != Selection::kThreshold || o.levels != 1)) {
    return ContradictionError("corner_test", "EVERY_PIXEL needs selection THRESHOLD and levels 1");
  }
  if (dense && o.max_arc != kFastRing) {
    return ContradictionError("max_arc", absl::StrCat(o.max_arc, ", but corner_test EVERY_PIXEL has no arcs"));
  }
  if (!dense && o.smooth) return ContradictionError("smooth", "needs corner_test EVERY_PIXEL");
  if (!dense && o.response_threshold != 0) {
    return ContradictionError("response_threshold",
                              absl::StrCat(o.response_threshold, ", but corner_test FAST has only fast_threshold"));
  }
  if (o.selection == Selection::kGrid && o.pyramid != Pyramid::kHalf && o.levels != 1) {
    return ContradictionError("selection", "GRID needs pyramid HALF or levels 1");
  }
  if (o.selection == Selection::kPyca && o.score == Score::kHarris) {
    return ContradictionError("selection", "PYCA adds scores up; score must be MAX_THRESHOLD, SAD_CIRCLE or SAD_ARC");
  }
  if (o.orientation == Orientation::kArcMidpoint && dense) {
    return ContradictionError("orientation", "ARC_MIDPOINT needs corner_test FAST");
  }
  if (o.descriptor == Descriptor::kRbrief && o.orientation == Orientation::kNone) {
    return ContradictionError("descriptor", "RBRIEF needs an orientation; orientation is NONE");
  }
  if (o.descriptor == Descriptor::kBfrost && o.orientation != Orientation::kArcMidpoint) {
    return ContradictionError("descriptor", "BFROST needs orientation ARC_MIDPOINT");
  }
  return CheckQuadtree(o);
}

// OpenCV's cvRound: to nearest, halves to even.
int RoundToInt(float value) { return static_cast<int>(std::lrint(value)); }

}  // namespace

bool operator==(const DetectorOptions& a, const DetectorOptions& b) { return AsTuple(a) == AsTuple(b); }

const std::vector<std::string>& PresetNames() {
  static const auto* const kNames =
      new std::vector<std::string>{"orb", "oriented_fast", "fast_grid", "pyca", "bfrost", "harris", "orbslam"};
  return *kNames;
}

absl::StatusOr<DetectorOptions> PresetOptions(absl::string_view name) {
  DetectorOptions options;
  if (name == "orb") {
    options.descriptor = Descriptor::kRbrief;
    return options;
  }
  if (name == "oriented_fast") {
    options.score = Score::kHarris;
    options.ranking = Ranking::kScore;
    return options;
  }
  options.ranking = Ranking::kScore;
  if (name == "orbslam") {
    options.max_features = 1000;
    options.selection = Selection::kQuadtree;
    options.edge_threshold = kQuadtreeEdge;
    options.descriptor = Descriptor::kRbrief;
    return options;
  }
  options.max_features = 10000;
  if (name == "fast_grid") {
    options.pyramid = Pyramid::kHalf;
    options.levels = 4;
    options.scale_factor = 2;
    options.fast_threshold = 10;
    options.arc_length = 10;
    options.score = Score::kSadCircle;
    options.selection = Selection::kGrid;
    options.edge_threshold = 3;
    options.orientation = Orientation::kNone;
    options.patch_size = 7;
    return options;
  }
  if (name == "pyca") {
    options.pyramid = Pyramid::kDirect;
    options.max_arc = 13;
    options.score = Score::kSadCircle;
    options.suppression_radius = 0;
    options.selection = Selection::kPyca;
    options.descriptor = Descriptor::kRbrief;
    return options;
  }
  if (name == "bfrost") {
    options.levels = 1;
    options.selection = Selection::kThreshold;
    options.orientation = Orientation::kArcMidpoint;
    options.descriptor = Descriptor::kBfrost;
    return options;
  }
  if (name == "harris") {
    options.levels = 1;
    options.corner_test = CornerTest::kEveryPixel;
    options.score = Score::kHarris;
    options.selection = Selection::kThreshold;
    options.response_threshold = 0.01f;
    options.threshold_unit = ThresholdUnit::kFractionOfMax;
    options.edge_threshold = 0;
    options.orientation = Orientation::kNone;
    options.patch_size = 7;
    return options;
  }
  return NotOneOfError("preset", name, absl::StrJoin(PresetNames(), ", "));
}

absl::Status ValidateOptions(const DetectorOptions& o) {
  absl::Status first;
  ForEachNumber([&](absl::string_view name, auto member, auto low, auto high) {
    if (first.ok()) first = CheckRange(name, o.*member, low, high);
  });
  return first.ok() ? CheckChoices(o) : first;
}

absl::Status ValidateShape(Shape shape, int64_t max_pixels) {
  GLINT_RETURN_IF_ERROR(CheckRange("image.width", shape.width, 1, kMaxImageSide));
  GLINT_RETURN_IF_ERROR(CheckRange("image.height", shape.height, 1, kMaxImageSide));
  return CheckRange("image.pixels", shape.pixels(), int64_t{1}, max_pixels);
}

absl::Status ValidateImages(const ImageView& image, const ImageView& mask, int64_t max_pixels) {
  GLINT_RETURN_IF_ERROR(ValidatePixels(image, mask, max_pixels));
  if (image.stride < image.width) {
    return ContradictionError("image.stride",
                              absl::StrCat(image.stride, " is less than the row of ", image.width, " bytes"));
  }
  if (!mask.empty() && mask.stride < mask.width) {
    return ContradictionError("mask.stride",
                              absl::StrCat(mask.stride, " is less than the row of ", mask.width, " bytes"));
  }
  return absl::OkStatus();
}

int OutputCapacity(const DetectorOptions& options) {
  // Ties are rare in photographs: twice N holds them. In synthetic patterns whole grids tie: the reserve bounds them.
  return options.max_features + std::max(options.max_features, kMinTieReserve);
}

bool SelectsTopNPerLevel(const DetectorOptions& o) {
  return o.pyramid == Pyramid::kCascaded && o.corner_test == CornerTest::kFast && o.max_arc == kFastRing &&
         (o.score == Score::kMaxThreshold || o.score == Score::kHarris) && o.suppression_radius == 1 &&
         o.selection == Selection::kTopN && o.orientation != Orientation::kArcMidpoint &&
         o.descriptor != Descriptor::kBfrost;
}

bool AnyMaskValueIsSet(const DetectorOptions& o) { return !SelectsTopNPerLevel(o) || o.score != Score::kMaxThreshold; }

PyramidPlan PlanPyramid(const DetectorOptions& options, Shape shape) {
  PyramidPlan plan;
  plan.levels = options.levels;
  const double scale_factor = options.scale_factor;
  for (int l = 0; l < options.levels; ++l) {
    LevelPlan& level = plan.level[l];
    level.scale = static_cast<float>(std::pow(scale_factor, static_cast<double>(l)));
    if (options.selection == Selection::kQuadtree && l > 0) {
      level.scale = plan.level[l - 1].scale * options.scale_factor;
    }
    if (options.pyramid == Pyramid::kHalf) {
      level.shape = {shape.width >> l, shape.height >> l};
      continue;
    }
    const float inverse = 1.0f / level.scale;
    level.shape = {RoundToInt(static_cast<float>(shape.width) * inverse),
                   RoundToInt(static_cast<float>(shape.height) * inverse)};
  }
  // A geometric series whose sum is max_features; the last level takes what rounding leaves.
  const float factor = static_cast<float>(1.0 / scale_factor);
  float desired = static_cast<float>(options.max_features) * (1 - factor) /
                  (1 - static_cast<float>(std::pow(static_cast<double>(factor), static_cast<double>(options.levels))));
  int sum = 0;
  for (int l = 0; l + 1 < options.levels; ++l) {
    plan.level[l].max_features = RoundToInt(desired);
    sum += plan.level[l].max_features;
    desired *= factor;
  }
  plan.level[options.levels - 1].max_features = std::max(options.max_features - sum, 0);
  return plan;
}

float KeypointSize(const DetectorOptions& options, float scale) {
  const float size = static_cast<float>(options.patch_size) * scale;
  return options.selection == Selection::kQuadtree ? std::trunc(size) : size;
}

int LevelCell(int cell, float scale) { return std::max(1, RoundToInt(static_cast<float>(cell) * (1.0f / scale))); }

}  // namespace glint
