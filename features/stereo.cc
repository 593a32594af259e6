#include "features/stereo.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

absl::Status CheckImage(absl::string_view name, const StereoImage& image, const PyramidPlan& plan, bool needs_levels) {
  if (image.features == nullptr) return ContradictionError(name, "features are needed");
  if (needs_levels && image.levels == nullptr) return ContradictionError(name, "refine needs levels");
  for (int l = 0; l < plan.levels && needs_levels; ++l) {
    const Shape shape = image.levels[l].shape();
    const Shape planned = plan.level[static_cast<size_t>(l)].shape;
    if (planned.pixels() == 0) break;
    if (image.levels[l].empty() || shape != planned) {
      return ContradictionError(absl::StrCat(name, ".levels[", l, "]"),
                                absl::StrCat(shape.width, "x", shape.height, ", but the other image and the plan have ",
                                             planned.width, "x", planned.height));
    }
  }
  const Features& f = *image.features;
  GLINT_RETURN_IF_ERROR(CheckRange(absl::StrCat(name, ".features.count"), f.count(), size_t{0},
                                   static_cast<size_t>(kMaxMatchDescriptors)));
  const Shape whole = plan.level[0].shape;
  for (size_t i = 0; i < f.count(); ++i) {
    const auto field = [&](absl::string_view member) { return absl::StrCat(name, ".features.", member, "[", i, "]"); };
    const bool in_x = f.x[i] >= 0 && f.x[i] < static_cast<float>(whole.width);
    const bool in_y = f.y[i] >= 0 && f.y[i] < static_cast<float>(whole.height);
    // Written so that NaN fails.
    if (!in_x || !in_y) {
      return ContradictionError(
          in_x ? field("y") : field("x"),
          absl::StrCat(in_x ? f.y[i] : f.x[i], " is outside the image of ", whole.width, "x", whole.height));
    }
    if (f.octave[i] < 0 || f.octave[i] >= plan.levels) {
      return OutOfRangeError(field("octave"), f.octave[i], 0, plan.levels - 1);
    }
  }
  return absl::OkStatus();
}

}  // namespace

void StereoResult::Reset(size_t count) {
  right_index.assign(count, kNoMatch);
  distance.assign(count, 0);
  for (auto* v : {&right_x, &disparity, &depth}) v->assign(count, 0);
  matches = 0;
  checks = {};
}

void StereoResult::Drop(size_t i) {
  right_index[i] = kNoMatch;
  distance[i] = 0;
  right_x[i] = disparity[i] = depth[i] = 0;
}

absl::Status ValidateStereoOptions(const StereoOptions& o) {
  constexpr float kSide = kMaxImageSide;
  for (const absl::Status& status : {CheckRange("max_distance", o.max_distance, 0, 8 * kMaxDescriptorBytes),
                                     CheckRange("band", o.band, 0.0f, kMaxStereoBand),
                                     CheckRange("max_octave_difference", o.max_octave_difference, 0, kMaxLevels - 1),
                                     CheckRange("min_disparity", o.min_disparity, -kSide, kSide),
                                     CheckRange("max_disparity", o.max_disparity, o.min_disparity, kSide),
                                     CheckRange("focal_length", o.focal_length, 0.0, kMaxFocalLength),
                                     CheckRange("baseline", o.baseline, 0.0, kMaxBaseline)}) {
    GLINT_RETURN_IF_ERROR(status);
  }
  if ((o.focal_length > 0) != (o.baseline > 0)) {
    return ContradictionError("baseline", absl::StrCat(o.baseline, ", but focal_length is ", o.focal_length,
                                                       "; a depth needs both, and without it both are 0"));
  }
  return absl::OkStatus();
}

absl::Status ValidateStereoInput(const StereoInput& input, const StereoOptions& options) {
  GLINT_RETURN_IF_ERROR(CheckRange("plan.levels", input.plan.levels, kMinLevels, kMaxLevels));
  GLINT_RETURN_IF_ERROR(CheckImage("left", input.left, input.plan, options.refine));
  GLINT_RETURN_IF_ERROR(CheckImage("right", input.right, input.plan, options.refine));
  const Features& left = *input.left.features;
  const Features& right = *input.right.features;
  for (const auto& [name, features] : {std::pair{"left", &left}, std::pair{"right", &right}}) {
    if (features->count() == 0) continue;
    const int bytes = features->descriptor_bytes;
    const std::string field = absl::StrCat(name, ".descriptor_bytes");
    GLINT_RETURN_IF_ERROR(CheckRange(field, bytes, kDescriptorUnit, kMaxDescriptorBytes));
    if (bytes % kDescriptorUnit != 0) {
      return ContradictionError(field, absl::StrCat(bytes, " is not a multiple of ", kDescriptorUnit));
    }
  }
  if (left.count() > 0 && right.count() > 0 && left.descriptor_bytes != right.descriptor_bytes) {
    return ContradictionError("right.descriptor_bytes",
                              absl::StrCat(right.descriptor_bytes, ", but the left image has ", left.descriptor_bytes));
  }
  return absl::OkStatus();
}

}  // namespace glint
