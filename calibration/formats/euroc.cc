// The sensor.yaml of EuRoC's datasets (ASL format): one for each sensor, in a folder of its name.
// https://projects.asl.ethz.ch/datasets/doku.php?id=kmavvisualinertialdatasets
#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/format.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "calibration/formats/named_lens.h"
#include "features/camera/rig.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// The pose in the body: T_BS, or T_Cam0 and so on.
const Node* PoseOf(const Source& source) {
  for (const Node& node : source.root.children) {
    if (node.name == "T_BS" || absl::StartsWith(node.name, "T_Cam")) return &node;
  }
  return nullptr;
}

bool IsImu(const Source& source) { return source.root.Find("gyroscope_noise_density") != nullptr; }

// Kimera-VIO's files and others have no sensor_type.
bool RecognisesEuroc(const Source& source) {
  const Node& root = source.root;
  return PoseOf(source) != nullptr &&
         (root.Find("sensor_type") != nullptr || IsImu(source) || root.Find("intrinsics") != nullptr);
}

// The folder's name of "cam0/sensor.yaml"; else the file's, without its ending.
std::string SensorName(const Source& source) {
  const std::vector<absl::string_view> parts = absl::StrSplit(source.path, '/');
  const bool in_folder = parts.back() == "sensor.yaml" && parts.size() > 1;
  return std::string(in_folder ? parts[parts.size() - 2] : parts.back().substr(0, parts.back().rfind('.')));
}

absl::StatusOr<RigidTransform> ReadBodyFromSensor(const Source& source) {
  const std::string name = PoseOf(source)->name;
  GLINT_ASSIGN_OR_RETURN(const std::vector<double> numbers, Numbers(source, source.root, name, 0));
  return Transform(source, name, numbers);
}

absl::StatusOr<RigCamera> ReadEurocCamera(const Source& source, const ReadOptions& options,
                                          std::vector<std::string>* warnings) {
  const Node& root = source.root;
  RigCamera camera;
  camera.name = SensorName(source);
  GLINT_ASSIGN_OR_RETURN(camera.rig_from_camera, ReadBodyFromSensor(source));
  const std::string model = Text(root, "camera_model");
  const std::string lens = Text(root, "distortion_model");
  if (model == "fisheye" && !lens.empty()) {
    warnings->push_back(FieldWarning(source, "camera_model", absl::StrCat("is fisheye; the lens is taken as ", lens)));
  } else if (model != "pinhole") {
    return FieldError(source, "camera_model", NotOneOf(model, "pinhole"));
  }
  camera.camera.image = options.image;
  if (root.Find("resolution") != nullptr) {
    GLINT_ASSIGN_OR_RETURN(const std::vector<double> size, Numbers(source, root, "resolution", 2));
    GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, "resolution", size[0], size[1]));
  }
  GLINT_ASSIGN_OR_RETURN(const std::vector<double> k, Numbers(source, root, "intrinsics", 4));
  camera.camera.fx = k[0], camera.camera.fy = k[1], camera.camera.cx = k[2], camera.camera.cy = k[3];
  std::vector<double> d;
  if (root.Find("distortion_coefficients") != nullptr) {
    GLINT_ASSIGN_OR_RETURN(d, Numbers(source, root, "distortion_coefficients", 0));
  }
  GLINT_RETURN_IF_ERROR(SetNamedLens(source, "distortion_model", lens, "distortion_coefficients", d, &camera.camera));
  return camera;
}

absl::StatusOr<RigImu> ReadEurocImu(const Source& source) {
  RigImu imu;
  GLINT_ASSIGN_OR_RETURN(imu.rig_from_imu, ReadBodyFromSensor(source));
  const std::pair<const char*, double*> fields[] = {{"rate_hz", &imu.rate_hz},
                                                    {"gyroscope_noise_density", &imu.gyroscope_noise_density},
                                                    {"gyroscope_random_walk", &imu.gyroscope_random_walk},
                                                    {"accelerometer_noise_density", &imu.accelerometer_noise_density},
                                                    {"accelerometer_random_walk", &imu.accelerometer_random_walk}};
  for (const auto& [name, value] : fields) {
    GLINT_ASSIGN_OR_RETURN(*value, NumberOr(source, source.root, name, 0));
  }
  return imu;
}

absl::StatusOr<Calibration> ReadEuroc(absl::Span<const Source> sources, const ReadOptions& options) {
  Calibration calibration;
  calibration.file_for_each = true;
  for (const Source& source : sources) {
    if (IsImu(source)) {
      GLINT_ASSIGN_OR_RETURN(calibration.rig.imu, ReadEurocImu(source));
    } else if (source.root.Find("camera_model") != nullptr) {
      GLINT_ASSIGN_OR_RETURN(RigCamera camera, ReadEurocCamera(source, options, &calibration.warnings));
      calibration.rig.cameras.push_back(std::move(camera));
    } else {
      return FieldError(source, "sensor_type", NotOneOf(Text(source.root, "sensor_type"), "camera, imu"));
    }
  }
  if (calibration.rig.cameras.empty()) {
    return FieldError(sources[0], "sensor_type", "an IMU alone is no camera's calibration");
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

std::string EurocPoseText(const RigidTransform& t) {
  std::vector<double> m;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) m.push_back(t.rotation(row, column));
    m.push_back(t.translation(row));
  }
  return absl::StrCat("T_BS:\n  cols: 4\n  rows: 4\n  data: [", Digits(m, ", "), ", 0.0, 0.0, 0.0, 1.0]\n");
}

absl::StatusOr<std::string> EurocCameraText(const Camera& camera) {
  const bool fisheye = camera.model == CameraModel::kKannalaBrandt;
  if (!fisheye && camera.model != CameraModel::kPinhole && camera.model != CameraModel::kRadialTangential) {
    return absl::InvalidArgumentError(absl::StrCat("model: EuRoC's files have no ", NameOf(camera.model), " lens"));
  }
  if (!fisheye && camera.lens[4] != 0) return absl::InvalidArgumentError("lens.k3: EuRoC's files have no k3");
  return absl::StrCat("resolution: [", camera.image.width, ", ", camera.image.height,
                      "]\ncamera_model: pinhole\nintrinsics: [",
                      Digits({camera.fx, camera.fy, camera.cx, camera.cy}, ", "),
                      "]\ndistortion_model: ", fisheye ? "equidistant" : "radial-tangential",
                      "\ndistortion_coefficients: [", Digits(absl::MakeConstSpan(camera.lens.data(), 4), ", "), "]\n");
}

absl::StatusOr<std::vector<NamedText>> WriteEuroc(const Calibration& calibration) {
  GLINT_RETURN_IF_ERROR(RequireSizes(calibration.rig, "EuRoC"));
  const Rig& rig = calibration.rig;
  const RigidTransform body_from_rig = rig.imu ? rig.imu->rig_from_imu.Inverse() : RigidTransform();
  std::vector<NamedText> files;
  for (size_t i = 0; i < rig.cameras.size(); ++i) {
    GLINT_ASSIGN_OR_RETURN(const std::string camera, EurocCameraText(rig.cameras[i].camera));
    files.push_back({absl::StrCat("cam", i, "/sensor.yaml"),
                     absl::StrCat("sensor_type: camera\ncomment: cam", i, "\n",
                                  EurocPoseText(body_from_rig * rig.cameras[i].rig_from_camera), camera)});
  }
  if (rig.imu) {
    const RigImu& imu = *rig.imu;
    files.push_back({"imu0/sensor.yaml",
                     absl::StrCat("sensor_type: imu\ncomment: imu0\n", EurocPoseText(RigidTransform()),
                                  "rate_hz: ", Digits({imu.rate_hz}),
                                  "\ngyroscope_noise_density: ", Digits({imu.gyroscope_noise_density}),
                                  "\ngyroscope_random_walk: ", Digits({imu.gyroscope_random_walk}),
                                  "\naccelerometer_noise_density: ", Digits({imu.accelerometer_noise_density}),
                                  "\naccelerometer_random_walk: ", Digits({imu.accelerometer_random_walk}), "\n")});
  }
  return files;
}

}  // namespace

const Format kEuroc = {"euroc", "EuRoC sensor.yaml", RecognisesEuroc, ReadEuroc, WriteEuroc, /*writes_imu=*/true};

}  // namespace glint::calibration
