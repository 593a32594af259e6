#include "features/matcher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

absl::Status CheckSet(absl::string_view field, const DescriptorView& set) {
  GLINT_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".count"), set.count, 0, kMaxMatchDescriptors));
  if (set.count == 0) return absl::OkStatus();
  GLINT_RETURN_IF_ERROR(CheckRange(absl::StrCat(field, ".bytes"), set.bytes, kDescriptorUnit, kMaxDescriptorBytes));
  if (set.bytes % kDescriptorUnit != 0) {
    return ContradictionError(absl::StrCat(field, ".bytes"),
                              absl::StrCat(set.bytes, " is not a multiple of ", kDescriptorUnit));
  }
  if (set.data == nullptr) {
    return ContradictionError(absl::StrCat(field, ".data"), absl::StrCat("null, but there are ", set.count));
  }
  return absl::OkStatus();
}

// All arrays of a condition, of which `field` is the first, are there, or none.
absl::Status CheckTogether(absl::string_view field, absl::string_view all, bool has_first, bool has_all,
                           bool has_train) {
  if (has_first != has_all) {
    return ContradictionError(field, absl::StrCat("some of ", all, " are missing; all or none are needed"));
  }
  if (has_first && !has_train) return ContradictionError(field, "given, but the train set's arrays are missing");
  return absl::OkStatus();
}

absl::Status CheckValues(absl::string_view field, const float* values, int count, float low, float high) {
  if (values == nullptr) return absl::OkStatus();
  for (int i = 0; i < count; ++i) {
    // Written so that NaN fails.
    if (!(values[i] >= low && values[i] <= high)) {
      return OutOfRangeError(absl::StrCat(field, "[", i, "]"), values[i], low, high);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAngles(absl::string_view field, const float* angles, int count) {
  for (int i = 0; i < count; ++i) {
    if (!(angles[i] >= 0 && angles[i] < 360)) {
      return ContradictionError(absl::StrCat(field, "[", i, "]"),
                                absl::StrCat(angles[i], " is not at least 0 and under 360 degrees"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPresence(const MatchInput& input, const MatchOptions& options) {
  const QueryConditions& c = input.conditions;
  const TrainKeypoints& t = input.keypoints;
  GLINT_RETURN_IF_ERROR(
      CheckTogether("conditions.x", "x, y, radius", c.x != nullptr || c.y != nullptr || c.radius != nullptr,
                    c.x != nullptr && c.y != nullptr && c.radius != nullptr, t.x != nullptr && t.y != nullptr));
  GLINT_RETURN_IF_ERROR(CheckTogether("conditions.min_octave", "min_octave, max_octave",
                                      c.min_octave != nullptr || c.max_octave != nullptr,
                                      c.min_octave != nullptr && c.max_octave != nullptr, t.octave != nullptr));
  const bool needs_angle = options.max_angle_difference < 180 || options.rotation_histogram;
  if (needs_angle && (c.angle == nullptr || t.angle == nullptr)) {
    return ContradictionError(options.rotation_histogram ? "rotation_histogram" : "max_angle_difference",
                              "needs the angles of both sets");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateMatchOptions(const MatchOptions& options) {
  for (const absl::Status& status :
       {CheckRange("k", options.k, kMinMatchK, kMaxMatchK), CheckRange("ratio", options.ratio, 0.0f, 1.0f),
        CheckRange("max_distance", options.max_distance, 0, 8 * kMaxDescriptorBytes),
        CheckRange("max_angle_difference", options.max_angle_difference, 0.0f, 180.0f)}) {
    GLINT_RETURN_IF_ERROR(status);
  }
  for (const auto& [field, is_set] :
       {std::pair{"cross_check", options.cross_check}, std::pair{"rotation_histogram", options.rotation_histogram}}) {
    if (is_set && options.k != 1) return ContradictionError(field, absl::StrCat("needs k 1, not ", options.k));
  }
  return absl::OkStatus();
}

absl::Status ValidateMatchInput(const MatchInput& input, const MatchOptions& options) {
  const DescriptorView& query = input.query;
  const DescriptorView& train = input.train;
  GLINT_RETURN_IF_ERROR(CheckSet("query", query));
  GLINT_RETURN_IF_ERROR(CheckSet("train", train));
  if (query.count == 0 || train.count == 0) return absl::OkStatus();
  if (query.bytes != train.bytes) {
    return ContradictionError("train.bytes", absl::StrCat(train.bytes, ", but query.bytes is ", query.bytes));
  }
  GLINT_RETURN_IF_ERROR(CheckPresence(input, options));
  constexpr float kMost = kMaxMatchCoordinate;
  const QueryConditions& c = input.conditions;
  const TrainKeypoints& t = input.keypoints;
  GLINT_RETURN_IF_ERROR(CheckValues("conditions.x", c.x, query.count, -kMost, kMost));
  GLINT_RETURN_IF_ERROR(CheckValues("conditions.y", c.y, query.count, -kMost, kMost));
  GLINT_RETURN_IF_ERROR(CheckValues("conditions.radius", c.radius, query.count, 0, kMost));
  if (c.x != nullptr) {
    GLINT_RETURN_IF_ERROR(CheckValues("keypoints.x", t.x, train.count, -kMost, kMost));
    GLINT_RETURN_IF_ERROR(CheckValues("keypoints.y", t.y, train.count, -kMost, kMost));
  }
  if (options.max_angle_difference < 180 || options.rotation_histogram) {
    GLINT_RETURN_IF_ERROR(CheckAngles("conditions.angle", c.angle, query.count));
    GLINT_RETURN_IF_ERROR(CheckAngles("keypoints.angle", t.angle, train.count));
  }
  return absl::OkStatus();
}

void KeepUsualRotations(const MatchInput& input, MatchResult* matches) {
  int32_t count[kRotationBins] = {};
  const auto bin_of = [&](size_t q) {
    return RotationBin(input.conditions.angle[q], input.keypoints.angle[matches->index[q]]);
  };
  for (size_t q = 0; q < matches->index.size(); ++q) {
    if (matches->index[q] != kNoMatch) ++count[bin_of(q)];
  }
  const uint32_t kept = KeptRotationBins(count);
  for (size_t q = 0; q < matches->index.size(); ++q) {
    if (matches->index[q] == kNoMatch || (kept >> bin_of(q) & 1) != 0) continue;
    matches->index[q] = kNoMatch;
    matches->distance[q] = kNoMatch;
  }
}

}  // namespace glint
