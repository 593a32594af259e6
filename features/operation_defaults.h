// The detectors of operations whose clients name none: one table for the server, the client library and the command
// line. Thread-safe: constants and pure functions.
#ifndef GLINT_FEATURES_OPERATION_DEFAULTS_H_
#define GLINT_FEATURES_OPERATION_DEFAULTS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/options.h"

namespace glint {

struct DetectorDefaults {
  const char* preset;           // where none is named
  int max_features = 0;         // of every preset; 0: the preset's own
  bool has_descriptors = true;  // false: no preset computes descriptors
};
inline constexpr DetectorDefaults kDetectDefaults = {"orb"};
inline constexpr DetectorDefaults kMatchDefaults = {"orb"};
inline constexpr DetectorDefaults kStereoDefaults = {"orb"};
inline constexpr DetectorDefaults kTrackDefaults = {"fast_grid", 0, false};
// Features that are spread over the image determine a pose better than the strongest ones do.
inline constexpr DetectorDefaults kLocalizeDefaults = {"orbslam", 2000};

// The options of a preset in an operation with these defaults; of the default preset if `preset` is empty.
// INVALID_ARGUMENT names the presets.
absl::StatusOr<DetectorOptions> PresetOptions(absl::string_view preset, const DetectorDefaults& defaults);
// Those of the default preset.
DetectorOptions DefaultDetector(const DetectorDefaults& defaults);

}  // namespace glint

#endif  // GLINT_FEATURES_OPERATION_DEFAULTS_H_
