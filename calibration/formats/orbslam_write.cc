// Settings of ORB-SLAM2 and ORB-SLAM3.
#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/writers.h"
#include "features/camera/camera.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// What ORB-SLAM asks of its settings beside a calibration.
constexpr char kOrbSlamRest[] = R"(
# Not of the calibration:
Camera.fps: 20
Camera.RGB: 1
ORBextractor.nFeatures: 1200
ORBextractor.scaleFactor: 1.2
ORBextractor.nLevels: 8
ORBextractor.iniThFAST: 20
ORBextractor.minThFAST: 7
)";

absl::Status CheckOrbSlamRig(const Rig& rig, const char* program) {
  if (rig.cameras.empty() || rig.cameras.size() > 2) {
    return absl::InvalidArgumentError(absl::StrCat("cameras: ", program, " has one or two, not ", rig.cameras.size()));
  }
  return absl::OkStatus();
}

std::string OrbSlamImageText(const Shape& image) {
  if (image.width == 0) return "";
  return absl::StrCat("Camera.width: ", image.width, "\nCamera.height: ", image.height, "\n");
}

std::string OrbSlamValues(absl::string_view prefix, const std::vector<std::pair<const char*, double>>& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    absl::StrAppend(&text, prefix, name, ": ", NumbersText(&value, 1), "\n");
  }
  return text;
}

// Camera1.* or Camera.*.
std::string OrbSlamCameraText(const std::string& prefix, const Camera& c) {
  std::string text = OrbSlamValues(prefix, {{"fx", c.fx}, {"fy", c.fy}, {"cx", c.cx}, {"cy", c.cy}});
  const auto& k = c.lens;
  if (c.model == CameraModel::kKannalaBrandt) {
    return text + OrbSlamValues(prefix, {{"k1", k[0]}, {"k2", k[1]}, {"k3", k[2]}, {"k4", k[3]}});
  }
  text += OrbSlamValues(prefix, {{"k1", k[0]}, {"k2", k[1]}, {"p1", k[2]}, {"p2", k[3]}});
  return k[4] == 0 ? text : text + OrbSlamValues(prefix, {{"k3", k[4]}});
}

std::string OrbSlamImuText(const Rig& rig) {
  const RigImu& imu = *rig.imu;
  std::string text = MatrixText("IMU.T_b_c1", MatrixOf(imu.rig_from_imu.Inverse() * rig.cameras[0].rig_from_camera));
  const std::vector<std::pair<const char*, double>> values = {{"NoiseGyro", imu.gyroscope_noise_density},
                                                              {"NoiseAcc", imu.accelerometer_noise_density},
                                                              {"GyroWalk", imu.gyroscope_random_walk},
                                                              {"AccWalk", imu.accelerometer_random_walk},
                                                              {"Frequency", imu.rate_hz}};
  for (const auto& value : values) {
    if (value.second != 0) text += OrbSlamValues("IMU.", {value});
  }
  return text;
}

}  // namespace

absl::StatusOr<std::vector<NamedText>> WriteOrbSlam3(const Calibration& calibration) {
  const Rig& rig = calibration.rig;
  GLINT_RETURN_IF_ERROR(CheckOrbSlamRig(rig, "ORB-SLAM3"));
  const CameraModel model = rig.cameras[0].camera.model;
  const bool is_fisheye = model == CameraModel::kKannalaBrandt;
  std::string text = absl::StrCat("%YAML:1.0\n---\nFile.version: \"1.0\"\nCamera.type: \"",
                                  is_fisheye ? "KannalaBrandt8" : "PinHole", "\"\n");
  for (size_t eye = 0; eye < rig.cameras.size(); ++eye) {
    const Camera& camera = rig.cameras[eye].camera;
    const bool known = camera.model == CameraModel::kPinhole || camera.model == CameraModel::kRadialTangential ||
                       camera.model == CameraModel::kKannalaBrandt;
    if (!known || (camera.model == CameraModel::kKannalaBrandt) != is_fisheye ||
        !(camera.image == rig.cameras[0].camera.image)) {
      return absl::InvalidArgumentError(absl::StrCat("camera ", rig.cameras[eye].name,
                                                     ": ORB-SLAM3 has radial-tangential or Kannala-Brandt lenses, both "
                                                     "of one kind and image size, not ",
                                                     NameOf(camera.model)));
    }
    absl::StrAppend(&text, OrbSlamCameraText(absl::StrCat("Camera", eye + 1, "."), camera));
  }
  absl::StrAppend(&text, OrbSlamImageText(rig.cameras[0].camera.image));
  if (rig.cameras.size() == 2) {
    absl::StrAppend(&text, MatrixText("Stereo.T_c1_c2", MatrixOf(RightFromLeft(rig).Inverse())),
                    "Stereo.ThDepth: 40.0\n");
  }
  if (rig.imu.has_value()) absl::StrAppend(&text, OrbSlamImuText(rig));
  return std::vector<NamedText>{{"orbslam3.yaml", absl::StrCat(text, kOrbSlamRest)}};
}

absl::StatusOr<std::vector<NamedText>> WriteOrbSlam2(const Calibration& calibration) {
  const Rig& rig = calibration.rig;
  GLINT_RETURN_IF_ERROR(CheckOrbSlamRig(rig, "ORB-SLAM2"));
  const Camera& camera = rig.cameras[0].camera;
  const bool is_pair = rig.cameras.size() == 2;
  const Camera& last = rig.cameras.back().camera;
  if (is_pair && (!calibration.rectified || camera.cx != last.cx)) {
    return absl::InvalidArgumentError("cameras: Glint writes rectified pairs of one centre for ORB-SLAM2");
  }
  if (camera.model != CameraModel::kPinhole && camera.model != CameraModel::kRadialTangential) {
    return absl::InvalidArgumentError(absl::StrCat("lens: ORB-SLAM2 has no model ", NameOf(camera.model)));
  }
  std::string text = "%YAML:1.0\n---\n" + OrbSlamCameraText("Camera.", camera) + OrbSlamImageText(camera.image);
  if (is_pair) {
    text += OrbSlamValues("", {{"Camera.bf", -camera.fx * RightFromLeft(rig).translation.x()}, {"ThDepth", 40}});
  }
  return std::vector<NamedText>{{"orbslam2.yaml", text + kOrbSlamRest}};
}

}  // namespace glint::calibration
