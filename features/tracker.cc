#include "features/tracker.h"

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint {
namespace {

std::string ToString(Shape shape) { return absl::StrCat(shape.width, "x", shape.height); }

// The levels that are used are there, each half the one before.
absl::Status CheckPyramid(absl::string_view field, const TrackPyramid& pyramid, const TrackOptions& options) {
  if (pyramid.count < 1 || pyramid.levels == nullptr) {
    return ContradictionError(absl::StrCat(field, ".levels"), "there are none");
  }
  const Shape shape = pyramid.levels[0].shape();
  GLINT_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".width"), shape.width, 1, kMaxImageSide));
  GLINT_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".height"), shape.height, 1, kMaxImageSide));
  const int needed = UsedTrackLevels(options, shape);
  if (pyramid.count < needed) {
    return ContradictionError(
        absl::StrCat(field, ".count"),
        absl::StrCat(pyramid.count, ", but ", ToString(shape), " with ", options.levels, " levels needs ", needed));
  }
  for (int l = 0; l < needed; ++l) {
    const ImageView& level = pyramid.levels[l];
    const Shape half = {shape.width >> l, shape.height >> l};
    const std::string name = absl::StrCat(field, ".levels[", l, "]");
    if (level.data == nullptr) return ContradictionError(name, "has no pixels");
    if (level.shape() != half) {
      return ContradictionError(name, absl::StrCat(ToString(level.shape()), " is not ", ToString(half)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckValues(absl::string_view field, const float* values, int count) {
  if (values == nullptr) return absl::OkStatus();
  for (int i = 0; i < count; ++i) {
    // Written so that NaN fails.
    if (!(values[i] >= -kMaxTrackCoordinate && values[i] <= kMaxTrackCoordinate)) {
      return OutOfRangeError(absl::StrCat(field, "[", i, "]"), values[i], -kMaxTrackCoordinate, kMaxTrackCoordinate);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateTrackOptions(const TrackOptions& o) {
  for (const absl::Status& status :
       {CheckRange("levels", o.levels, kMinTrackLevels, kMaxTrackLevels),
        CheckRange("patch_size", o.patch_size, kMinTrackPatch, kMaxTrackPatch),
        CheckRange("coarse_patch_size", o.coarse_patch_size, kMinTrackPatch, kMaxTrackPatch),
        CheckRange("fine_levels", o.fine_levels, 0, kMaxTrackLevels),
        CheckRange("max_iterations", o.max_iterations, kMinTrackIterations, kMaxTrackIterations),
        CheckRange("epsilon", o.epsilon, 0.0f, kMaxTrackEpsilon),
        CheckRange("min_eigenvalue", o.min_eigenvalue, 0.0f, kMaxTrackEigenvalue),
        CheckRange("max_move", o.max_move, 0.0f, kMaxTrackCoordinate),
        CheckRange("max_residual", o.max_residual, 0.0f, kMaxTrackResidual),
        CheckRange("max_backward_error", o.max_backward_error, 0.0f, kMaxTrackBackwardError)}) {
    GLINT_RETURN_IF_ERROR(status);
  }
  if (o.intensity > IntensityModel::kGainAndOffset) {
    return NotOneOfError("intensity", absl::StrCat(static_cast<int>(o.intensity)),
                         "same, offset, gain, gain_and_offset");
  }
  return absl::OkStatus();
}

absl::Status ValidateTrackInput(const TrackInput& input, const TrackOptions& options) {
  GLINT_RETURN_IF_ERROR(CheckPyramid("from", input.from, options));
  GLINT_RETURN_IF_ERROR(CheckPyramid("to", input.to, options));
  const Shape from = input.from.levels[0].shape();
  const Shape to = input.to.levels[0].shape();
  if (from != to) {
    return ContradictionError("to.levels[0]", absl::StrCat(ToString(to), ", but the other image is ", ToString(from)));
  }
  GLINT_RETURN_IF_ERROR(CheckRange("count", input.count, 0, kMaxTrackPoints));
  if (input.count == 0) return absl::OkStatus();
  if (input.x == nullptr || input.y == nullptr) {
    return ContradictionError("x, y", absl::StrCat("null, but there are ", input.count, " points"));
  }
  if ((input.to_x == nullptr) != (input.to_y == nullptr)) {
    return ContradictionError("to_x, to_y", "one of these arrays is missing; both or none are needed");
  }
  GLINT_RETURN_IF_ERROR(CheckValues("x", input.x, input.count));
  GLINT_RETURN_IF_ERROR(CheckValues("y", input.y, input.count));
  GLINT_RETURN_IF_ERROR(CheckValues("to_x", input.to_x, input.count));
  return CheckValues("to_y", input.to_y, input.count);
}

}  // namespace glint
