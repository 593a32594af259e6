// Basalt's calibration.json: all in the inertial sensor's frame.
#include <Eigen/Geometry>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

struct BasaltModel {
  const char* name;
  CameraModel model;
  std::vector<const char*> keys;  // in the order of Camera::lens
};
const std::vector<BasaltModel>& BasaltModels() {
  static const auto* models = new std::vector<BasaltModel>{
      {"pinhole", CameraModel::kPinhole, {}},
      {"kb4", CameraModel::kKannalaBrandt, {"k1", "k2", "k3", "k4"}},
      {"ds", CameraModel::kDoubleSphere, {"xi", "alpha"}},
      {"eucm", CameraModel::kEucm, {"alpha", "beta"}},
      {"pinhole-radtan8", CameraModel::kRational, {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"}},
      {"fov", CameraModel::kFov, {"w"}},
  };
  return *models;
}

bool RecognisesBasalt(const Source& source) { return source.root.FindPath("value0/T_imu_cam") != nullptr; }

absl::StatusOr<RigidTransform> ReadBasaltPose(const Source& source, const Node& node) {
  double p[7];
  const char* keys[7] = {"px", "py", "pz", "qx", "qy", "qz", "qw"};
  for (int i = 0; i < 7; ++i) {
    GLINT_ASSIGN_OR_RETURN(p[i], Number(source, node, keys[i]));
  }
  const Eigen::Quaterniond q(p[6], p[3], p[4], p[5]);
  if (!(std::abs(q.norm() - 1) <= 1e-2)) {
    return FieldError(source, "T_imu_cam", absl::StrFormat("qx qy qz qw have the norm %g, not 1", q.norm()));
  }
  return RigidTransform{q.normalized().toRotationMatrix(), Eigen::Vector3d(p[0], p[1], p[2])};
}

absl::StatusOr<Camera> ReadBasaltCamera(const Source& source, const Node& node) {
  const std::string type = Text(node, "camera_type");
  const Node* values = node.Find("intrinsics");
  if (!values) return FieldError(source, "intrinsics", "has no intrinsics of a camera_type");
  Camera camera;
  GLINT_ASSIGN_OR_RETURN(camera.fx, Number(source, *values, "fx"));
  GLINT_ASSIGN_OR_RETURN(camera.fy, Number(source, *values, "fy"));
  GLINT_ASSIGN_OR_RETURN(camera.cx, Number(source, *values, "cx"));
  GLINT_ASSIGN_OR_RETURN(camera.cy, Number(source, *values, "cy"));
  for (const BasaltModel& model : BasaltModels()) {
    if (type != model.name) continue;
    camera.model = model.model;
    for (size_t i = 0; i < model.keys.size(); ++i) {
      GLINT_ASSIGN_OR_RETURN(camera.lens[i], Number(source, *values, model.keys[i]));
    }
    return camera;
  }
  if (type == "ucm") {  // EUCM with beta 1
    camera.model = CameraModel::kEucm;
    camera.lens[1] = 1;
    GLINT_ASSIGN_OR_RETURN(camera.lens[0], Number(source, *values, "alpha"));
    return camera;
  }
  const std::string known = absl::StrJoin(
      BasaltModels(), ", ", [](std::string* text, const BasaltModel& model) { absl::StrAppend(text, model.name); });
  return FieldError(source, "camera_type", absl::StrCat("'", type, "' is none of ", known, ", ucm"));
}

// The greatest of one number or of three, an axis each.
absl::StatusOr<double> ReadBasaltNoise(const Source& source, const Node& root, const char* key) {
  if (!root.Find(key)) return 0.0;
  GLINT_ASSIGN_OR_RETURN(const auto values, Numbers(source, root, key, 0));
  double greatest = 0;
  for (const double value : values) greatest = std::max(greatest, value);
  return greatest;
}

absl::StatusOr<RigImu> ReadBasaltImu(const Source& source, const Node& root) {
  RigImu imu;
  GLINT_ASSIGN_OR_RETURN(imu.rate_hz, NumberOr(source, root, "imu_update_rate", 0));
  GLINT_ASSIGN_OR_RETURN(imu.gyroscope_noise_density, ReadBasaltNoise(source, root, "gyro_noise_std"));
  GLINT_ASSIGN_OR_RETURN(imu.gyroscope_random_walk, ReadBasaltNoise(source, root, "gyro_bias_std"));
  GLINT_ASSIGN_OR_RETURN(imu.accelerometer_noise_density, ReadBasaltNoise(source, root, "accel_noise_std"));
  GLINT_ASSIGN_OR_RETURN(imu.accelerometer_random_walk, ReadBasaltNoise(source, root, "accel_bias_std"));
  GLINT_ASSIGN_OR_RETURN(const double offset, NumberOr(source, root, "cam_time_offset_ns", 0));
  imu.imu_time_minus_camera_time = offset * 1e-9;
  return imu;
}

absl::StatusOr<Calibration> ReadBasalt(absl::Span<const Source> sources, const ReadOptions& options) {
  const Source& source = sources[0];
  if (sources.size() > 1) return FieldError(sources[1], "value0", "one file has all cameras of Basalt");
  const Node& root = *source.root.Find("value0");
  const Node& poses = *root.Find("T_imu_cam");
  const Node *intrinsics = root.Find("intrinsics"), *sizes = root.Find("resolution");
  if (poses.children.empty() || !intrinsics || intrinsics->children.size() != poses.children.size()) {
    return FieldError(source, "value0/intrinsics", absl::StrCat("not the ", poses.children.size(), " of T_imu_cam"));
  }
  Calibration calibration;
  for (size_t i = 0; i < poses.children.size(); ++i) {
    RigCamera& camera = calibration.rig.cameras.emplace_back();
    camera.name = absl::StrCat("cam", i);
    GLINT_ASSIGN_OR_RETURN(camera.camera, ReadBasaltCamera(source, intrinsics->children[i]));
    GLINT_ASSIGN_OR_RETURN(camera.rig_from_camera, ReadBasaltPose(source, poses.children[i]));
    camera.camera.image = options.image;
    if (sizes && i < sizes->children.size()) {
      GLINT_ASSIGN_OR_RETURN(const auto size, NumbersOf(sizes->children[i]));
      if (size.size() != 2) return FieldError(source, "value0/resolution", "not [width, height] of each camera");
      GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, "value0/resolution", size[0], size[1]));
    }
  }
  GLINT_ASSIGN_OR_RETURN(const RigImu imu, ReadBasaltImu(source, root));
  // Of a rig without a sensor all of it is 0, and the first camera is the body.
  const RigidTransform& first = calibration.rig.cameras[0].rig_from_camera;
  const bool is_body = first.rotation.isIdentity(0) && first.translation.isZero(0);
  const bool has_imu = !is_body || imu.rate_hz != 0 || imu.gyroscope_noise_density != 0 ||
                       imu.gyroscope_random_walk != 0 || imu.accelerometer_noise_density != 0 ||
                       imu.accelerometer_random_walk != 0;
  if (has_imu) calibration.rig.imu = imu;
  FindWhetherRectified(&calibration);
  return calibration;
}

std::string BasaltPose(const RigidTransform& pose) {
  const Eigen::Quaterniond q(pose.rotation);
  const Eigen::Vector3d& t = pose.translation;
  return absl::StrFormat(
      R"({"px": %.17g, "py": %.17g, "pz": %.17g, "qx": %.17g, "qy": %.17g, "qz": %.17g, "qw": %.17g})", t.x(), t.y(),
      t.z(), q.x(), q.y(), q.z(), q.w());
}

absl::StatusOr<std::string> BasaltCamera(const RigCamera& from) {
  Camera camera = from.camera;
  if (camera.model == CameraModel::kRadialTangential) camera.model = CameraModel::kRational;  // k4, k5, k6 are 0
  for (const BasaltModel& model : BasaltModels()) {
    if (model.model != camera.model) continue;
    std::string lens;
    for (size_t i = 0; i < model.keys.size(); ++i) {
      absl::StrAppendFormat(&lens, R"(, "%s": %.17g)", model.keys[i], camera.lens[i]);
    }
    if (camera.model == CameraModel::kRational) lens += R"(, "rpmax": 0)";  // no limit of the radius
    return absl::StrFormat(
        R"({"camera_type": "%s", "intrinsics": {"fx": %.17g, "fy": %.17g, "cx": %.17g, "cy": %.17g%s}})", model.name,
        camera.fx, camera.fy, camera.cx, camera.cy, lens);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Basalt has no camera model ", NameOf(camera.model), " of ", from.name));
}

// Without an inertial sensor the rig's frame stands for it.
absl::StatusOr<std::vector<NamedText>> WriteBasalt(const Calibration& calibration) {
  GLINT_RETURN_IF_ERROR(RequireSizes(calibration.rig, "Basalt"));
  const RigImu imu = calibration.rig.imu.value_or(RigImu());
  std::vector<std::string> poses, intrinsics, sizes;
  for (const RigCamera& camera : calibration.rig.cameras) {
    poses.push_back(BasaltPose(imu.rig_from_imu.Inverse() * camera.rig_from_camera));
    GLINT_ASSIGN_OR_RETURN(intrinsics.emplace_back(), BasaltCamera(camera));
    sizes.push_back(absl::StrFormat("[%d, %d]", camera.camera.image.width, camera.camera.image.height));
  }
  const auto three = [](double value) { return Digits({value, value, value}, ", "); };
  const std::string between = ",\n      ";
  const std::string text = absl::StrCat(
      "{\n  \"value0\": {\n    \"T_imu_cam\": [\n      ", absl::StrJoin(poses, between),
      "\n    ],\n    \"intrinsics\": [\n      ", absl::StrJoin(intrinsics, between), "\n    ],\n    \"resolution\": [",
      absl::StrJoin(sizes, ", "), "],\n    \"calib_accel_bias\": [0, 0, 0, 0, 0, 0, 0, 0, 0],\n",
      "    \"calib_gyro_bias\": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],\n    \"imu_update_rate\": ",
      Digits({imu.rate_hz}), ",\n    \"accel_noise_std\": [", three(imu.accelerometer_noise_density),
      "],\n    \"gyro_noise_std\": [", three(imu.gyroscope_noise_density), "],\n    \"accel_bias_std\": [",
      three(imu.accelerometer_random_walk), "],\n    \"gyro_bias_std\": [", three(imu.gyroscope_random_walk),
      "],\n    \"cam_time_offset_ns\": ", absl::StrFormat("%.0f", imu.imu_time_minus_camera_time * 1e9),
      ",\n    \"vignette\": []\n  }\n}\n");
  return std::vector<NamedText>{{"calibration.json", text}};
}

}  // namespace

const Format kBasalt = {"basalt",    "Basalt calibration JSON", RecognisesBasalt, ReadBasalt,
                        WriteBasalt, /*writes_imu=*/true};

}  // namespace glint::calibration
