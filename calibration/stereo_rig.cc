#include "calibration/stereo_rig.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "calibration/check.h"
#include "calibration/formats/matrices.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

RigidTransform FirstFromSecond(const std::vector<RigCamera>& cameras) {
  return cameras[0].rig_from_camera.Inverse() * cameras[1].rig_from_camera;
}

// What is doubtful in where a camera of depths is.
void AddDepthCameraDoubts(const std::vector<RigCamera>& cameras, std::vector<std::string>* warnings) {
  constexpr double kWidest = 0.5;  // metres
  const double apart = FirstFromSecond(cameras).translation.norm();
  const Camera &of_images = cameras[0].camera, &of_depths = cameras[1].camera;
  const bool same_pixels = of_images.fx == of_depths.fx && of_images.cx == of_depths.cx;  // as a RealSense's infrared 1
  if (apart == 0 && !same_pixels) {
    warnings->push_back(
        absl::StrFormat("%s, %s: have no distance between them: does the file say where the camera of the depths is?",
                        cameras[0].name, cameras[1].name));
  } else if (!(apart <= kWidest)) {
    warnings->push_back(absl::StrFormat("%s, %s: %.4g m between them are over %g m: millimetres or centimetres?",
                                        cameras[0].name, cameras[1].name, apart, kWidest));
  }
}

}  // namespace

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

RgbdCamera RgbdCameraOf(const Rig& rig, const Shape& image) {
  RgbdCamera rgbd;
  rgbd.camera = rig.cameras[0].camera;
  if (rgbd.camera.image.width == 0) rgbd.camera.image = image;
  if (rig.cameras.size() == 1) return rgbd;
  rgbd.depth_camera = rig.cameras[1].camera;
  rgbd.camera_from_depth = FirstFromSecond(rig.cameras);
  return rgbd;
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

absl::StatusOr<std::vector<std::string>> RgbdWarningsOf(Calibration calibration, const Shape& image) {
  const std::vector<RigCamera> cameras = std::exchange(calibration.rig.cameras, {});
  calibration.rig.cameras = {cameras[0]};
  GLINT_ASSIGN_OR_RETURN(std::vector<std::string> warnings, WarningsOf(calibration, image));
  if (cameras.size() == 1) return warnings;
  Calibration of_depths;
  of_depths.format = calibration.format;
  of_depths.rig.cameras = {cameras[1]};
  GLINT_ASSIGN_OR_RETURN(const std::vector<std::string> more, WarningsOf(of_depths, {}));
  warnings.insert(warnings.end(), more.begin(), more.end());
  AddDepthCameraDoubts(cameras, &warnings);
  return warnings;
}

}  // namespace glint::calibration
