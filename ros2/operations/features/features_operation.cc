#include "ros2/operations/features/features_operation.h"

#include "absl/strings/str_cat.h"

namespace glint::ros2 {

absl::StatusOr<DetectorOptions> DetectorOf(const std::string& operation, const FeaturesConfig& config,
                                           const DetectorDefaults& defaults) {
  absl::StatusOr<DetectorOptions> options = PresetOptions(config.detector, defaults);
  if (!options.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(operation, ".detector: ", options.status().message()));
  }
  if (config.max_keypoints > 0) options->max_features = config.max_keypoints;
  if (const absl::Status valid = ValidateOptions(*options); !valid.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(operation, ".max_keypoints: ", valid.message()));
  }
  return options;
}

void FeaturesOperation::Note(size_t found, const std::vector<Warning>& warnings) {
  absl::MutexLock lock(&notes_);
  found_ = found;
  warnings_.resize(warnings.size());
  for (size_t i = 0; i < warnings.size(); ++i) warnings_[i] = warnings[i].text;
}

void FeaturesOperation::AddFigures(ros::DiagnosticStatus* status) {
  absl::MutexLock lock(&notes_);
  AddFigure("found", absl::StrCat(found_), status);
  for (const std::string& warning : warnings_) {
    AddFigure("warning", warning, status);
    if (status->level != ros::DiagnosticStatus::kOk) continue;
    status->level = ros::DiagnosticStatus::kWarn;
    status->message = warning;
  }
}

}  // namespace glint::ros2
