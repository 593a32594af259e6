#include "slam/front_end/feature_kind.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/option_fields.h"

namespace glint::slam {
namespace {

template <typename Choice>
const std::string& NameOf(Choice choice) {
  return ChoiceNames<Choice>()[static_cast<size_t>(choice)];
}

// "name", "value"; an empty text has neither.
struct Choice {
  explicit Choice(absl::string_view text) {
    const size_t equal = std::min(text.find('='), text.size());
    name = text.substr(0, equal);
    value = text.substr(std::min(equal + 1, text.size()));
  }
  absl::string_view name, value;
};

absl::Status OtherDetectorError(absl::string_view file, absl::string_view field, absl::string_view map,
                                absl::string_view camera) {
  return ContradictionError(Echo(file), absl::StrCat("is a map of another detector: ", field, " ", Echo(map),
                                                     " in the map, ", Echo(camera), " in use"));
}

}  // namespace

FeatureKind FeatureKindOf(const DetectorOptions& d) {
  const bool is_bfrost = d.descriptor == Descriptor::kBfrost;
  FeatureKind kind;
  kind.descriptor_bytes = is_bfrost ? kBfrostBytes : kRbriefBytes;
  kind.detector = absl::StrFormat(
      "descriptor=%s orientation=%s pyramid=%s levels=%d scale_factor=%.9g corner_test=%s score=%s selection=%s "
      "patch_size=%d",
      NameOf(d.descriptor), NameOf(d.orientation), NameOf(d.pyramid), d.levels, d.scale_factor, NameOf(d.corner_test),
      NameOf(d.score), NameOf(d.selection), d.patch_size);
  if (is_bfrost) absl::StrAppendFormat(&kind.detector, " bfrost_scale=%.9g", d.bfrost_scale);
  return kind;
}

bool IsDetectorText(absl::string_view text) {
  return text.size() <= kMaxFeatureKindBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(" =_.+-", c);
         });
}

absl::Status ValidateFeatureKind(absl::string_view file, const FeatureKind& map, const FeatureKind& camera) {
  const std::vector<absl::string_view> theirs = absl::StrSplit(map.detector, ' ');
  const std::vector<absl::string_view> ours = absl::StrSplit(camera.detector, ' ');
  for (size_t i = 0; i < std::max(theirs.size(), ours.size()); ++i) {
    const Choice their(i < theirs.size() ? theirs[i] : "");
    const Choice our(i < ours.size() ? ours[i] : "");
    if (their.name == our.name && their.value == our.value) continue;
    if (their.name == our.name) return OtherDetectorError(file, their.name, their.value, our.value);
    return OtherDetectorError(file, "choice", their.name, our.name);
  }
  if (map.descriptor_bytes == camera.descriptor_bytes) return absl::OkStatus();
  return OtherDetectorError(file, "descriptor_bytes", absl::StrCat(map.descriptor_bytes),
                            absl::StrCat(camera.descriptor_bytes));
}

}  // namespace glint::slam
