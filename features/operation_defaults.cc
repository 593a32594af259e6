#include "features/operation_defaults.h"

#include "features/status_macros.h"

namespace glint {

absl::StatusOr<DetectorOptions> PresetOptions(absl::string_view preset, const DetectorDefaults& defaults) {
  GLINT_ASSIGN_OR_RETURN(DetectorOptions options, PresetOptions(preset.empty() ? defaults.preset : preset));
  if (defaults.max_features > 0) options.max_features = defaults.max_features;
  if (!defaults.has_descriptors) options.descriptor = Descriptor::kNone;
  return options;
}

DetectorOptions DefaultDetector(const DetectorDefaults& defaults) { return *PresetOptions("", defaults); }

}  // namespace glint
