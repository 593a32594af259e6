#include "server/operations/match/match_convert.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {
namespace {

// What the options of all streams have.
template <typename Options>
absl::StatusOr<SessionOptions> FromCommon(const Options& proto, const ServerOptions& server) {
  v1::StreamOptions common;
  common.set_overload_policy(proto.overload_policy());
  common.set_max_in_flight(proto.max_in_flight());
  common.set_max_age_ns(proto.max_age_ns());
  auto options = FromProto(common, server);
  if (!options.ok()) return options;
  const auto detector = FromProto(proto.detector(), FeaturesOfAnEye(server));
  if (!detector.ok()) return detector.status();
  options->detector = *detector;
  return options;
}

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

}  // namespace

absl::StatusOr<MatchRequest> FromProto(const v1::MatchOptions& proto) {
  MatchRequest request;
  MatchOptions& o = request.options;
  if (proto.has_k()) o.k = proto.k();
  o.cross_check = proto.cross_check();
  o.ratio = proto.ratio();
  if (proto.has_max_distance()) o.max_distance = proto.max_distance();
  if (proto.has_max_angle_difference()) o.max_angle_difference = proto.max_angle_difference();
  o.rotation_histogram = proto.rotation_histogram();
  if (absl::Status s = ValidateMatchOptions(o); !s.ok()) return s;
  request.window_radius = proto.window_radius();
  // Written so that NaN fails.
  if (!(request.window_radius >= 0 && request.window_radius <= kMaxMatchCoordinate)) {
    return OutOfRangeError("window_radius", request.window_radius, 0.0f, kMaxMatchCoordinate);
  }
  if (proto.has_max_octave_difference()) {
    request.max_octave_difference = proto.max_octave_difference();
    if (request.max_octave_difference < 0 || request.max_octave_difference > kMaxLevels - 1) {
      return OutOfRangeError("max_octave_difference", request.max_octave_difference, 0, kMaxLevels - 1);
    }
  }
  return request;
}

absl::StatusOr<StereoRequest> FromProto(const v1::StereoOptions& proto) {
  StereoRequest request;
  StereoOptions& o = request.options;
  if (proto.has_max_distance()) o.max_distance = proto.max_distance();
  if (proto.has_band()) o.band = proto.band();
  if (proto.has_max_octave_difference()) o.max_octave_difference = proto.max_octave_difference();
  if (proto.has_min_disparity()) o.min_disparity = proto.min_disparity();
  if (proto.has_max_disparity()) o.max_disparity = proto.max_disparity();
  if (proto.has_cross_check()) o.cross_check = proto.cross_check();
  if (proto.has_refine()) o.refine = proto.refine();
  if (proto.has_median_cut()) o.median_cut = proto.median_cut();
  if (proto.has_check_pair()) o.check_pair = proto.check_pair();
  o.focal_length = proto.focal_length();
  o.baseline = proto.baseline();
  if (absl::Status s = ValidateStereoOptions(o); !s.ok()) return s;
  if (proto.has_max_time_difference_ns()) request.max_time_difference_ns = proto.max_time_difference_ns();
  if (request.max_time_difference_ns < 0) {
    return OutOfRangeError("max_time_difference_ns", request.max_time_difference_ns, int64_t{0},
                           std::numeric_limits<int64_t>::max());
  }
  return request;
}

absl::StatusOr<SessionOptions> FromProto(const v1::MatchStreamOptions& proto, const ServerOptions& server) {
  auto options = FromCommon(proto, server);
  if (!options.ok()) return options;
  const auto match = FromProto(proto.match());
  if (!match.ok()) return match.status();
  options->match = *match;
  return options;
}

absl::StatusOr<SessionOptions> FromProto(const v1::StereoStreamOptions& proto, const ServerOptions& server) {
  auto options = FromCommon(proto, server);
  if (!options.ok()) return options;
  if (options->detector.descriptor == Descriptor::kNone) {
    return ContradictionError("detector.descriptor_kind", "none: eyes are matched by descriptors");
  }
  const auto stereo = FromProto(proto.stereo());
  if (!stereo.ok()) return stereo.status();
  options->stereo = *stereo;
  return options;
}

absl::StatusOr<MatchRequest> MatchOptionsFromWire(const std::string& serialized) {
  if (serialized.size() > kMaxOptionsBytes) {
    return absl::InvalidArgumentError(absl::StrCat("options: more than ", kMaxOptionsBytes, " bytes"));
  }
  v1::MatchOptions proto;
  if (!proto.ParseFromString(serialized)) {
    return absl::InvalidArgumentError("options: not a serialized glint.v1.MatchOptions");
  }
  return FromProto(proto);
}

absl::Status ValidateMatch(const WireMatch& match, const DetectorOptions& options, int max_descriptors) {
  if (absl::Status s = CheckSide("query", match.query, max_descriptors); !s.ok()) return s;
  if (absl::Status s = CheckSide("train", match.train, max_descriptors); !s.ok()) return s;
  using Content = WireMatchSide::Content;
  const bool has_image = match.query.content == Content::kImage || match.train.content == Content::kImage;
  if (has_image && options.descriptor == Descriptor::kNone) {
    return ContradictionError("detector.descriptor_kind", "none: images are matched by descriptors");
  }
  const WireConditions& c = match.conditions;
  for (const auto& [name, size] : {std::pair{"x", c.x}, std::pair{"y", c.y}, std::pair{"radius", c.radius},
                                   std::pair{"min_octave", c.min_octave}, std::pair{"max_octave", c.max_octave}}) {
    // As many as an image has keypoints at most, which is more than were asked for where some tie.
    if (size > 2 * static_cast<size_t>(max_descriptors)) {
      return LimitError(absl::StrCat("conditions.", name), static_cast<int64_t>(size), 2 * max_descriptors,
                        "2 x --max-features");
    }
  }
  return absl::OkStatus();
}

}  // namespace glint
