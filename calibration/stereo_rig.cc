#include "calibration/stereo_rig.h"

#include "absl/status/status.h"
#include "calibration/check.h"
#include "calibration/formats/matrices.h"

namespace glint::calibration {

StereoRig StereoRigOf(const Rig& rig, const Shape& image) {
  StereoRig pair;
  pair.left = rig.cameras[0].camera;
  pair.right = rig.cameras[1].camera;
  pair.right_from_left = RightFromLeft(rig);
  for (Camera* camera : {&pair.left, &pair.right}) {
    if (camera->image.width == 0) camera->image = image;
  }
  return pair;
}

absl::StatusOr<std::vector<std::string>> WarningsOf(const Calibration& calibration, const Shape& image) {
  std::vector<std::string> warnings = calibration.warnings;
  if (!calibration.reordered.empty()) warnings.push_back(calibration.reordered);
  for (const Finding& finding : Check(calibration, image)) {
    if (finding.severity == Finding::Severity::kError) return absl::InvalidArgumentError(finding.text);
    warnings.push_back(finding.text);
  }
  return warnings;
}

}  // namespace glint::calibration
