#include "client/calibration/cameras.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibration/stereo_rig.h"
#include "features/camera/camera.h"
#include "features/status_macros.h"

namespace glint::client {
namespace {

using calibration::Calibration;

std::vector<double> RowsOf(const Eigen::Matrix<double, 3, 4>& m) {
  std::vector<double> rows;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 4; ++c) rows.push_back(m(r, c));
  }
  return rows;
}

// Projections as they are written, if the file has them: their last bits count.
StereoCamera RectifiedCamera(const Rig& rig, const Shape& image, bool of_one) {
  const RigCamera& left = rig.cameras[0];
  StereoCamera camera;
  camera.width = image.width;
  camera.height = image.height;
  if (of_one) {
    Eigen::Matrix<double, 3, 4> k = Eigen::Matrix<double, 3, 4>::Zero();
    const Camera& c = left.camera;
    k << c.fx, 0, c.cx, 0, 0, c.fy, c.cy, 0, 0, 0, 1, 0;
    camera.left_projection = RowsOf(left.projection.value_or(k));
  } else if (left.projection.has_value() && rig.cameras[1].projection.has_value()) {
    camera.left_projection = RowsOf(*left.projection);
    camera.right_projection = RowsOf(*rig.cameras[1].projection);
  } else {
    camera.focal_length = left.camera.fx;
    camera.centre_x = left.camera.cx;
    camera.centre_y = left.camera.cy;
    camera.baseline = -calibration::StereoRigOf(rig, {}).right_from_left.translation.x();
  }
  return camera;
}

// `what`: of the camera and its images.
std::string Assumed(const Calibration& calibration, const CalibrationUse& use, const std::string& what,
                    const Camera& camera, bool asked) {
  const bool may_be_rectified = !asked && calibration.rig.cameras[0].projection.has_value();
  return absl::StrFormat(
      "camera: %s, %s, %dx%d%s%s", calibration.format, NameOf(camera.model), camera.image.width, camera.image.height,
      what, may_be_rectified ? absl::StrCat(" (", use.rectified_setting, ", if that was done already)") : "");
}

// In the axes of the first camera, or of its rectified images; what a file does not say stays 0, the server's default.
std::optional<InertialSensor> ImuOf(const Rig& rig, bool rectified) {
  if (!rig.imu.has_value()) return std::nullopt;
  const RigCamera& left = rig.cameras[0];
  InertialSensor imu;
  imu.camera_from_imu = left.rig_from_camera.Inverse() * rig.imu->rig_from_imu;
  if (rectified && left.rectified_from_camera.has_value()) {
    imu.camera_from_imu = RigidTransform{*left.rectified_from_camera} * imu.camera_from_imu;
  }
  imu.gyroscope_noise_density = rig.imu->gyroscope_noise_density;
  imu.gyroscope_random_walk = rig.imu->gyroscope_random_walk;
  imu.accelerometer_noise_density = rig.imu->accelerometer_noise_density;
  imu.accelerometer_random_walk = rig.imu->accelerometer_random_walk;
  constexpr double kLongest = 1e9;  // seconds; the server refuses less
  const double seconds = std::clamp(rig.imu->imu_time_minus_camera_time, -kLongest, kLongest);
  imu.imu_time_minus_camera_time_ns = std::llround(seconds * 1e9);
  return imu;
}

absl::Status AddWarnings(const absl::StatusOr<std::vector<std::string>>& warnings, std::vector<std::string>* notes) {
  GLINT_RETURN_IF_ERROR(warnings.status());
  for (const std::string& warning : *warnings) notes->push_back("warning: " + warning);
  return absl::OkStatus();
}

}  // namespace

void SetCameraFromImu(const RigidTransform& camera_from_imu, Calibration* calibration) {
  Rig& rig = calibration->rig;
  if (rig.cameras.empty()) return;
  if (!rig.imu.has_value()) rig.imu.emplace();
  rig.imu->rig_from_imu = rig.cameras[0].rig_from_camera * camera_from_imu;
}

absl::StatusOr<PairCameras> PairCamerasOf(Calibration calibration, const CalibrationUse& use) {
  PairCameras cameras;
  Rig& rig = calibration.rig;
  if (rig.cameras.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(use.files, ": has ", rig.cameras.size(), " of 2 cameras"));
  }
  rig.cameras.resize(2);
  GLINT_RETURN_IF_ERROR(AddWarnings(calibration::WarningsOf(calibration, use.image), &cameras.notes));
  const bool has_projections = std::all_of(rig.cameras.begin(), rig.cameras.end(),
                                           [](const RigCamera& camera) { return camera.projection.has_value(); });
  const bool rectified = use.rectified.value_or(calibration.rectified);
  if (rectified && !calibration.rectified && !has_projections) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '", use.rectified_setting, "': ", use.files, " has no projections of rectified images"));
  }
  cameras.imu = ImuOf(rig, rectified);
  if (rectified) {
    cameras.camera = RectifiedCamera(rig, use.image, /*of_one=*/false);
  } else {
    cameras.rig = calibration::StereoRigOf(rig, use.image);
    cameras.notes.push_back(
        Assumed(calibration, use,
                absl::StrFormat(", baseline %.3f m; the images are raw, and the server rectifies them",
                                cameras.rig->right_from_left.translation.norm()),
                cameras.rig->left, use.rectified.has_value()));
  }
  return cameras;
}

absl::StatusOr<PairCameras> DepthCamerasOf(Calibration calibration, const CalibrationUse& use, bool has_depth_camera) {
  std::vector<RigCamera>& found = calibration.rig.cameras;
  const size_t wanted = has_depth_camera ? 2 : 1;
  if (found.size() < wanted) {
    return absl::InvalidArgumentError(absl::StrCat(use.files, ": has ", found.size(), " of ", wanted, " cameras"));
  }
  found.resize(wanted);
  PairCameras cameras;
  GLINT_RETURN_IF_ERROR(AddWarnings(calibration::RgbdWarningsOf(calibration, use.image), &cameras.notes));
  const RgbdCamera raw = calibration::RgbdCameraOf(calibration.rig, use.image);
  cameras.imu = ImuOf(calibration.rig, /*rectified=*/false);
  cameras.depth_unit = calibration.depth_unit;
  cameras.nominal_baseline = calibration.depth_baseline;
  const bool has_lens = raw.camera.model != CameraModel::kPinhole;
  const bool needs_both = has_lens || raw.camera.fx != raw.camera.fy;
  if (has_depth_camera || !use.rectified.value_or(!needs_both)) {
    cameras.raw_camera = raw;
    cameras.notes.push_back(Assumed(calibration, use, "; images and depths are raw, and the server undoes the lens",
                                    raw.camera, use.rectified.has_value() || has_depth_camera));
    return cameras;
  }
  if (has_lens) {
    cameras.notes.push_back(absl::StrCat("warning: with ", use.rectified_setting, " the file's lens is not used"));
  }
  cameras.camera = RectifiedCamera(calibration.rig, use.image, /*of_one=*/true);
  return cameras;
}

}  // namespace glint::client
