#include "features/options.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/strings/str_join.h"
#include "features/error.h"
#include "features/pixels.h"

namespace glint {
namespace {

auto AsTuple(const DetectorOptions& o) {
  return std::tie(o.pyramid, o.levels, o.scale_factor, o.corner_test, o.fast_threshold, o.arc_length, o.score,
                  o.selection, o.ranking, o.max_features, o.edge_threshold, o.orientation, o.descriptor, o.patch_size);
}

template <typename T>
absl::Status CheckRange(absl::string_view field, T value, T low, T high) {
  // Written so that NaN fails.
  return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(field, value, low, high);
}

// OpenCV's cvRound: to nearest, halves to even.
int RoundToInt(float value) { return static_cast<int>(std::lrint(value)); }

}  // namespace

bool operator==(const DetectorOptions& a, const DetectorOptions& b) { return AsTuple(a) == AsTuple(b); }

const std::vector<std::string>& PresetNames() {
  static const auto* const kNames = new std::vector<std::string>{"orb", "oriented_fast"};
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
  return NotOneOfError("preset", name, absl::StrJoin(PresetNames(), ", "));
}

absl::Status ValidateOptions(const DetectorOptions& o) {
  for (const absl::Status& status :
       {CheckRange("levels", o.levels, kMinLevels, kMaxLevels),
        CheckRange("scale_factor", o.scale_factor, kMinScaleFactor, kMaxScaleFactor),
        CheckRange("fast_threshold", o.fast_threshold, kMinFastThreshold, kMaxFastThreshold),
        CheckRange("arc_length", o.arc_length, kMinArcLength, kMaxArcLength),
        CheckRange("max_features", o.max_features, kMinFeatures, kMaxFeatures),
        CheckRange("edge_threshold", o.edge_threshold, kMinEdgeThreshold, kMaxEdgeThreshold),
        CheckRange("patch_size", o.patch_size, kMinPatchSize, kMaxPatchSize)}) {
    if (!status.ok()) return status;
  }
  if (o.score == Score::kHarris && o.ranking == Ranking::kHarris) {
    return ContradictionError("ranking", "HARRIS re-ranks another score; with score HARRIS it must be SCORE");
  }
  if (o.descriptor == Descriptor::kRbrief && o.orientation == Orientation::kNone) {
    return ContradictionError("descriptor", "RBRIEF needs an orientation; orientation is NONE");
  }
  return absl::OkStatus();
}

absl::Status ValidateShape(Shape shape, int64_t max_pixels) {
  if (auto s = CheckRange("image.width", shape.width, 1, kMaxImageSide); !s.ok()) return s;
  if (auto s = CheckRange("image.height", shape.height, 1, kMaxImageSide); !s.ok()) return s;
  return CheckRange("image.pixels", shape.pixels(), int64_t{1}, max_pixels);
}

absl::Status ValidateImages(const ImageView& image, const ImageView& mask, int64_t max_pixels) {
  if (auto s = ValidatePixels(image, mask, max_pixels); !s.ok()) return s;
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
  // Ties are rare in photographs; on synthetic patterns whole grids tie. Twice N, and never less than 4096 to spare,
  // covers the former and bounds the latter.
  return options.max_features + std::max(options.max_features, 4096);
}

PyramidPlan PlanPyramid(const DetectorOptions& options, Shape shape) {
  PyramidPlan plan;
  plan.levels = options.levels;
  const double scale_factor = options.scale_factor;
  for (int l = 0; l < options.levels; ++l) {
    LevelPlan& level = plan.level[l];
    level.scale = static_cast<float>(std::pow(scale_factor, static_cast<double>(l)));
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

}  // namespace glint
