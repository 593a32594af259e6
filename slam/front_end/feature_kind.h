// Which detector made descriptors: what must be the same where those of a map are compared with those of a camera.
#ifndef GLINT_SLAM_FRONT_END_FEATURE_KIND_H_
#define GLINT_SLAM_FRONT_END_FEATURE_KIND_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/options.h"

namespace glint::slam {

inline constexpr size_t kMaxFeatureKindBytes = 1000;  // of `detector`

struct FeatureKind {
  int descriptor_bytes = 0;  // of one descriptor
  // "name=value" of each choice, separated by spaces, of letters, digits and "_.+-": part of map files.
  std::string detector;
};

// The kind of features of a valid detector with descriptors: pyramid, kind of corner, score, selection, orientation,
// descriptor and their scales. Thresholds and the number of features are not in it: they choose among the same
// keypoints.
FeatureKind FeatureKindOf(const DetectorOptions& detector);

// True if `text` may be FeatureKind::detector.
bool IsDetectorText(absl::string_view text);

// OK, or INVALID_ARGUMENT for `file` that names the first choice that differs, the map's value and the camera's.
absl::Status ValidateFeatureKind(absl::string_view file, const FeatureKind& map, const FeatureKind& camera);

}  // namespace glint::slam

#endif  // GLINT_SLAM_FRONT_END_FEATURE_KIND_H_
