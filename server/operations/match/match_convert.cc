#include "server/operations/match/match_convert.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

absl::Status CheckSide(absl::string_view field, const WireMatchSide& side, int max_descriptors) {
  switch (side.content) {
    case WireMatchSide::Content::kNone:
      return ContradictionError(field, "neither image nor descriptors nor set is given");
    case WireMatchSide::Content::kDescriptors:
      return ValidateSet(absl::StrCat(field, ".descriptors"), side.sizes, max_descriptors);
    case WireMatchSide::Content::kImage:
    case WireMatchSide::Content::kSet:
      break;
  }
  return absl::OkStatus();
}

absl::StatusOr<MatchCriteria> CriteriaOf(const v1::MatchOptions& proto) {
  MatchCriteria request;
  MatchOptions& o = request.options;
  if (proto.has_k()) o.k = proto.k();
  o.cross_check = proto.cross_check();
  o.ratio = proto.ratio();
  if (proto.has_max_distance()) o.max_distance = proto.max_distance();
  if (proto.has_max_angle_difference()) o.max_angle_difference = proto.max_angle_difference();
  o.rotation_histogram = proto.rotation_histogram();
  GLINT_RETURN_IF_ERROR(ValidateMatchOptions(o));
  request.window_radius = proto.window_radius();
  GLINT_RETURN_IF_ERROR(CheckRange("window_radius", request.window_radius, 0.0f, kMaxMatchCoordinate));
  if (proto.has_max_octave_difference()) {
    request.max_octave_difference = proto.max_octave_difference();
    GLINT_RETURN_IF_ERROR(CheckRange("max_octave_difference", request.max_octave_difference, 0, kMaxLevels - 1));
  }
  return request;
}

}  // namespace

absl::StatusOr<MatchCriteria> FromProto(const v1::MatchOptions& proto) {
  auto criteria = CriteriaOf(proto);
  if (!criteria.ok()) return WithField("match", criteria.status());
  return criteria;
}

absl::StatusOr<MatchCriteria> MatchOptionsFromWire(const std::string& serialized) {
  if (serialized.size() > kMaxOptionsBytes) {
    return TooLargeError("match", serialized.size(), kMaxOptionsBytes);
  }
  v1::MatchOptions proto;
  if (!proto.ParseFromString(serialized)) {
    return ContradictionError("match", "not a serialized glint.v1.MatchOptions");
  }
  return FromProto(proto);
}

absl::Status ValidateMatch(const WireMatch& match, const DetectorOptions& options, int max_descriptors) {
  GLINT_RETURN_IF_ERROR(CheckSide("query", match.query, max_descriptors));
  GLINT_RETURN_IF_ERROR(CheckSide("train", match.train, max_descriptors));
  using Content = WireMatchSide::Content;
  const bool has_image = match.query.content == Content::kImage || match.train.content == Content::kImage;
  if (has_image && options.descriptor == Descriptor::kNone) {
    return ContradictionError("detector.descriptor_kind", "none: images are matched by descriptors");
  }
  const WireConditions& c = match.conditions;
  for (const auto& [name, size] : {std::pair{"x", c.x}, std::pair{"y", c.y}, std::pair{"radius", c.radius},
                                   std::pair{"min_octave", c.min_octave}, std::pair{"max_octave", c.max_octave}}) {
    // Upper bound of an image's keypoints, which is more than requested where scores tie.
    if (size > 2 * static_cast<size_t>(max_descriptors)) {
      return LimitError(absl::StrCat("conditions.", name), static_cast<int64_t>(size), "elements", 2 * max_descriptors,
                        "2 x --max-features");
    }
  }
  return absl::OkStatus();
}

}  // namespace glint
