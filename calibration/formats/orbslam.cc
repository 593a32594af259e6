// Settings of ORB-SLAM2 and ORB-SLAM3. Camera.bf is the rectified focal length times the baseline. Stereo.T_c1_c2 takes
// points of the second camera to the first, Tlr of the right to the left, Tbc and IMU.T_b_c1 of the camera to the
// inertial sensor.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/opencv_matrices.h"
#include "calibration/formats/writers.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

constexpr char kFisheyeType[] = "KannalaBrandt8";
constexpr char kPinholeType[] = "PinHole";
constexpr char kRectifiedType[] = "Rectified";

bool HasKey(const Source& source, absl::string_view key) { return source.root.Find(key) != nullptr; }

bool HasKeyOf(const Source& source, absl::string_view start) {
  return std::any_of(source.root.children.begin(), source.root.children.end(),
                     [&](const Node& node) { return absl::StartsWith(node.name, start); });
}

bool IsOrbSlam3(const Source& source) { return HasKeyOf(source, "Camera1."); }

// OpenVSLAM's settings have keys of the same form beside some of their own.
bool IsOrbSlam2(const Source& source) {
  const bool is_openvslam =
      HasKey(source, "Camera.model") || HasKey(source, "Camera.setup") || HasKey(source, "Camera.focal_x_baseline");
  return !is_openvslam && !IsOrbSlam3(source) && (HasKeyOf(source, "Camera.") || HasKeyOf(source, "LEFT."));
}

absl::StatusOr<Shape> OrbSlamImage(const Source& source, const std::string& prefix) {
  const std::string width = prefix + "width", height = prefix + "height";
  if (!HasKey(source, width) && !HasKey(source, height)) return Shape{};
  GLINT_ASSIGN_OR_RETURN(const double w, Number(source, source.root, width));
  GLINT_ASSIGN_OR_RETURN(const double h, Number(source, source.root, height));
  return ImageSize(source, width, w, h);
}

absl::StatusOr<std::string> OrbSlamType(const Source& source) {
  const std::string type = Text(source.root, "Camera.type");
  for (const char* known : {kPinholeType, kRectifiedType, kFisheyeType}) {
    if (absl::EqualsIgnoreCase(type, known)) return std::string(known);
  }
  if (type.empty()) return std::string(kPinholeType);
  return FieldError(
      source, "Camera.type",
      absl::StrCat("'", Echo(type), "' is not one of ", kPinholeType, ", ", kRectifiedType, ", ", kFisheyeType));
}

// Of keys with a prefix: "Camera1.fx".
absl::StatusOr<Camera> OrbSlamCamera(const Source& source, const std::string& prefix, const std::string& type) {
  std::vector<double> k(9, 0.0), d;
  k[8] = 1;
  for (const auto& [at, name] : {std::pair(0, "fx"), {4, "fy"}, {2, "cx"}, {5, "cy"}}) {
    GLINT_ASSIGN_OR_RETURN(k[at], Number(source, source.root, absl::StrCat(prefix, name)));
  }
  Camera camera;
  GLINT_RETURN_IF_ERROR(SetIntrinsics(source, absl::StrCat(prefix, "fx"), k, &camera));
  GLINT_ASSIGN_OR_RETURN(camera.image, OrbSlamImage(source, "Camera."));
  if (type == kRectifiedType) return camera;
  const bool is_fisheye = type == kFisheyeType;
  const std::vector<const char*> names = is_fisheye ? std::vector<const char*>{"k1", "k2", "k3", "k4"}
                                                    : std::vector<const char*>{"k1", "k2", "p1", "p2", "k3"};
  for (const char* name : names) {
    d.emplace_back();
    const std::string key = absl::StrCat(prefix, name);
    GLINT_ASSIGN_OR_RETURN(d.back(),
                           is_fisheye ? Number(source, source.root, key) : NumberOr(source, source.root, key, 0));
  }
  const std::string field = absl::StrCat(prefix, "k1");
  GLINT_RETURN_IF_ERROR(is_fisheye ? SetFisheyeLens(source, field, d, &camera)
                                   : SetOpenCvLens(source, field, d, &camera));
  return camera;
}

RigCamera* AddOrbSlamEye(const char* name, const Camera& camera, Rig* rig) {
  RigCamera& eye = rig->cameras.emplace_back();
  eye.name = name;
  eye.camera = camera;
  return &eye;
}

// Sets the inertial sensor if the file has its pose under `key`: the sensor from the camera.
absl::Status AddOrbSlamImu(const Source& source, const std::string& key, const RigidTransform& rig_from_camera,
                           Rig* rig) {
  if (!HasKey(source, key)) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(const auto numbers, Numbers(source, source.root, key, 0));
  GLINT_ASSIGN_OR_RETURN(const RigidTransform imu_from_camera, Transform(source, key, numbers));
  RigImu imu;
  imu.rig_from_imu = rig_from_camera * imu_from_camera.Inverse();
  const std::pair<const char*, double*> values[] = {{"IMU.Frequency", &imu.rate_hz},
                                                    {"IMU.NoiseGyro", &imu.gyroscope_noise_density},
                                                    {"IMU.GyroWalk", &imu.gyroscope_random_walk},
                                                    {"IMU.NoiseAcc", &imu.accelerometer_noise_density},
                                                    {"IMU.AccWalk", &imu.accelerometer_random_walk}};
  for (const auto& [name, value] : values) {
    GLINT_ASSIGN_OR_RETURN(*value, NumberOr(source, source.root, name, 0));
  }
  rig->imu = imu;
  return absl::OkStatus();
}

// A camera of raw images, and how ORB-SLAM2 rectifies them: "LEFT.K".
absl::Status AddOrbSlamRaw(const Source& source, const std::string& side, const char* name, Rig* rig) {
  const auto key = [&](const char* matrix) { return absl::StrCat(side, ".", matrix); };
  RigCamera& eye = *AddOrbSlamEye(name, {}, rig);
  GLINT_ASSIGN_OR_RETURN(const auto k, Numbers(source, source.root, key("K"), 0));
  GLINT_RETURN_IF_ERROR(SetIntrinsics(source, key("K"), k, &eye.camera));
  GLINT_ASSIGN_OR_RETURN(const auto d, Numbers(source, source.root, key("D"), 0));
  GLINT_RETURN_IF_ERROR(SetOpenCvLens(source, key("D"), d, &eye.camera));
  GLINT_ASSIGN_OR_RETURN(const auto r, Numbers(source, source.root, key("R"), 0));
  GLINT_ASSIGN_OR_RETURN(const auto p, Numbers(source, source.root, key("P"), 0));
  GLINT_RETURN_IF_ERROR(SetRectification(source, key("R"), r, key("P"), p, &eye));
  GLINT_ASSIGN_OR_RETURN(eye.camera.image, OrbSlamImage(source, side + "."));
  if (eye.camera.image.width > 0) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(eye.camera.image, OrbSlamImage(source, "Camera."));
  return absl::OkStatus();
}

void WarnIfDiffers(const Source& source, const std::string& key, double value, absl::string_view other,
                   double other_value, std::vector<std::string>* warnings) {
  if (!Differ(value, other_value)) return;
  warnings->push_back(FieldWarning(
      source, key, absl::StrCat(value, " differs from the ", other_value, " of ", other, ", which is taken")));
}

// LEFT.* and RIGHT.*; what Camera.* repeats must agree.
absl::Status ReadOrbSlamRawPair(const Source& source, Calibration* calibration) {
  Rig& rig = calibration->rig;
  GLINT_RETURN_IF_ERROR(AddOrbSlamRaw(source, "LEFT", "left", &rig));
  GLINT_RETURN_IF_ERROR(AddOrbSlamRaw(source, "RIGHT", "right", &rig));
  const RigidTransform right_from_left = RightFromLeft(rig.cameras[0], rig.cameras[1]);
  if (right_from_left.translation.norm() == 0) {
    return FieldError(source, "RIGHT.P", "has no translation: the baseline is not known");
  }
  rig.cameras[1].rig_from_camera = right_from_left.Inverse();
  const auto& p = *rig.cameras[0].projection;
  const double bf = -(*rig.cameras[1].projection)(0, 3);
  const std::tuple<const char*, const char*, double> repeated[] = {{"Camera.fx", "LEFT.P", p(0, 0)},
                                                                   {"Camera.cx", "LEFT.P", p(0, 2)},
                                                                   {"Camera.cy", "LEFT.P", p(1, 2)},
                                                                   {"Camera.bf", "RIGHT.P", bf}};
  for (const auto& [key, other, value] : repeated) {
    GLINT_ASSIGN_OR_RETURN(const double found, NumberOr(source, source.root, key, value));
    WarnIfDiffers(source, key, found, other, value, &calibration->warnings);
  }
  if (calibration->warnings.size() >= 3) {  // the program's examples carry EuRoC's LEFT and RIGHT
    GLINT_ASSIGN_OR_RETURN(const double fx, NumberOr(source, source.root, "Camera.fx", p(0, 0)));
    return FieldError(source, "LEFT.P",
                      absl::StrCat("and RIGHT.P are of another camera (fx ", p(0, 0), ") than Camera.fx (", fx,
                                   "), cx, cy and bf, as of the example that the file began as: leave LEFT and RIGHT "
                                   "out, or correct Camera"));
  }
  // Tbc is of the rectified left camera.
  return AddOrbSlamImu(source, "Tbc", {rig.cameras[0].rectified_from_camera->transpose(), Eigen::Vector3d::Zero()},
                       &rig);
}

// Two fisheye lenses of ORB-SLAM3 before 1.0: Camera.*, Camera2.* and Tlr.
absl::Status ReadOrbSlamFisheyePair(const Source& source, const Camera& left, const std::string& type,
                                    Calibration* calibration) {
  GLINT_ASSIGN_OR_RETURN(const Camera right, OrbSlamCamera(source, "Camera2.", type));
  GLINT_ASSIGN_OR_RETURN(const auto numbers, Numbers(source, source.root, "Tlr", 0));
  GLINT_ASSIGN_OR_RETURN(const RigidTransform left_from_right, Transform(source, "Tlr", numbers));
  AddOrbSlamEye("left", left, &calibration->rig);
  AddOrbSlamEye("right", right, &calibration->rig)->rig_from_camera = left_from_right;
  const double bf = left.fx * left_from_right.translation.norm();
  GLINT_ASSIGN_OR_RETURN(const double found, NumberOr(source, source.root, "Camera.bf", bf));
  if (std::abs(found - bf) > 0.01 * bf) {
    WarnIfDiffers(source, "Camera.bf", found, "Camera.fx and Tlr", bf, &calibration->warnings);
  }
  return absl::OkStatus();
}

// Raw cameras beside the rectified one of Camera.bf, as OpenCV's programs write them: K1, D1, K2, D2, R and T. Whether
// they are complete, and so taken.
bool ReadOrbSlamMatrices(const Source& source, const Camera& rectified, Calibration* calibration) {
  std::vector<std::string> names;
  for (const opencv::Matrix& matrix : opencv::Collect(source).matrices) {
    if (matrix.role == opencv::Role::kIntrinsics) names.push_back(matrix.name);
  }
  if (names.empty()) return false;
  const std::string raw_names = absl::StrJoin(names, ", ");
  auto raw = kOpenCv.read({source}, {});
  if (!raw.ok() || raw->rig.cameras.size() != 2) {
    calibration->warnings.push_back(FieldWarning(
        source, raw_names,
        absl::StrCat("raw cameras beside Camera.bf, left out: ", raw.ok() ? "not a pair" : raw.status().message())));
    return false;
  }
  const auto bf = NumberOr(source, source.root, "Camera.bf", 0);
  const double said = bf.value_or(0) / rectified.fx;
  calibration->rig = raw->rig;
  calibration->warnings.insert(calibration->warnings.end(), raw->warnings.begin(), raw->warnings.end());
  calibration->notes.push_back(FieldWarning(
      source, raw_names, "raw cameras beside the rectified one of Camera.fx and Camera.bf; the raw ones are taken"));
  WarnIfDiffers(source, "Camera.bf / Camera.fx", said, "T", RightFromLeft(raw->rig).translation.norm(),
                &calibration->warnings);
  for (size_t eye = 0; eye < 2; ++eye) {
    auto& projection = calibration->rig.cameras[eye].projection;
    if (!projection.has_value() && std::isfinite(said)) projection = ProjectionOf(rectified, eye == 0 ? 0 : said);
  }
  return true;
}

// A depth camera's bf is that of no second camera. Its files say how depths are scaled, or have a lens's coefficients;
// the images of a pair are rectified.
bool IsOrbSlamDepth(const Source& source, const Camera& camera) {
  const auto factor = NumberOr(source, source.root, "DepthMapFactor", 0);
  return !factor.ok() || *factor > 1 || (*factor > 0 && camera.model != CameraModel::kPinhole);
}

absl::Status ReadOrbSlamRectified(const Source& source, Camera camera, Calibration* calibration) {
  GLINT_ASSIGN_OR_RETURN(const double bf, Number(source, source.root, "Camera.bf"));
  if (!(bf > 0)) return FieldError(source, "Camera.bf", absl::StrCat(bf, " is not above 0"));
  if (camera.model != CameraModel::kPinhole) {
    calibration->warnings.push_back(
        FieldWarning(source, "Camera.k1",
                     "the lens's coefficients are left out: the images of Camera.bf are rectified (a depth camera's "
                     "file has DepthMapFactor, raw images have LEFT.K and RIGHT.K)"));
    camera.model = CameraModel::kPinhole;
    camera.lens = {};
  }
  calibration->rig = RectifiedRig(camera, bf / camera.fx);
  return absl::OkStatus();
}

// What `factor` (samples in a metre) and `baseline` (a multiple of the baseline, `times` it) say of a camera with
// depth. A pair's file may have anything there.
absl::Status AddOrbSlamDepth(const Source& source, const char* factor, const char* baseline, double times,
                             Calibration* calibration) {
  const auto set = [&](const char* key, const auto& value_of, std::optional<double>* value) -> absl::Status {
    if (!HasKey(source, key)) return absl::OkStatus();
    const auto number = Number(source, source.root, key);
    if (number.ok() && std::isfinite(*number) && *number > 0) {
      *value = value_of(*number);
    } else if (calibration->rig.cameras.size() == 1) {
      return number.ok() ? FieldError(source, key, absl::StrCat(*number, " is not above 0")) : number.status();
    }
    return absl::OkStatus();
  };
  GLINT_RETURN_IF_ERROR(set(
      factor, [](double number) { return 1 / number; }, &calibration->depth_unit));
  return set(
      baseline, [times](double number) { return number / times; }, &calibration->depth_baseline);
}

absl::Status CheckOneFile(absl::Span<const Source> sources) {
  if (sources.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(sources[0].path, " and ", sources[1].path, " have a whole rig each: name one of them"));
}

absl::StatusOr<Calibration> ReadOrbSlam2(absl::Span<const Source> sources, const ReadOptions& /*options*/) {
  GLINT_RETURN_IF_ERROR(CheckOneFile(sources));
  const Source& source = sources[0];
  Calibration calibration;
  const bool has_raw_pair = HasKey(source, "LEFT.K");
  if (has_raw_pair && NumberOr(source, source.root, "DepthMapFactor", 0).value_or(0) <= 1) {
    GLINT_RETURN_IF_ERROR(ReadOrbSlamRawPair(source, &calibration));
    FindWhetherRectified(&calibration);
    return calibration;
  }
  GLINT_ASSIGN_OR_RETURN(const std::string type, OrbSlamType(source));
  GLINT_ASSIGN_OR_RETURN(const Camera camera, OrbSlamCamera(source, "Camera.", type));
  if (has_raw_pair) {  // of the example that the file began as
    calibration.warnings.push_back(
        FieldWarning(source, "LEFT.K", "is left out, as is RIGHT.K: DepthMapFactor is of a camera with depth"));
  }
  const bool has_bf = HasKey(source, "Camera.bf") && !IsOrbSlamDepth(source, camera);
  if (HasKey(source, "Tlr") || HasKey(source, "Camera2.fx") || (has_bf && type == kFisheyeType)) {
    GLINT_RETURN_IF_ERROR(ReadOrbSlamFisheyePair(source, camera, type, &calibration));
  } else if (has_bf && ReadOrbSlamMatrices(source, camera, &calibration)) {
    FindWhetherRectified(&calibration);
    return calibration;
  } else if (has_bf) {
    GLINT_RETURN_IF_ERROR(ReadOrbSlamRectified(source, camera, &calibration));
  } else {
    AddOrbSlamEye("camera", camera, &calibration.rig);
  }
  GLINT_RETURN_IF_ERROR(AddOrbSlamDepth(source, "DepthMapFactor", "Camera.bf", camera.fx, &calibration));
  GLINT_RETURN_IF_ERROR(AddOrbSlamImu(source, "Tbc", {}, &calibration.rig));
  FindWhetherRectified(&calibration);
  return calibration;
}

absl::StatusOr<Calibration> ReadOrbSlam3(absl::Span<const Source> sources, const ReadOptions& /*options*/) {
  GLINT_RETURN_IF_ERROR(CheckOneFile(sources));
  const Source& source = sources[0];
  Calibration calibration;
  Rig& rig = calibration.rig;
  GLINT_ASSIGN_OR_RETURN(const std::string type, OrbSlamType(source));
  GLINT_ASSIGN_OR_RETURN(const Camera left, OrbSlamCamera(source, "Camera1.", type));
  const char* const kPose = "Stereo.T_c1_c2";
  const bool is_depth = type != kRectifiedType && HasKey(source, "RGBD.DepthMapFactor");
  if (HasKeyOf(source, "Camera2.") || HasKey(source, kPose)) {
    GLINT_ASSIGN_OR_RETURN(const Camera right, OrbSlamCamera(source, "Camera2.", type));
    GLINT_ASSIGN_OR_RETURN(const auto numbers, Numbers(source, source.root, kPose, 0));
    GLINT_ASSIGN_OR_RETURN(const RigidTransform left_from_right, Transform(source, kPose, numbers));
    AddOrbSlamEye("Camera1", left, &rig);
    AddOrbSlamEye("Camera2", right, &rig)->rig_from_camera = left_from_right;
    calibration.first_is_left = true;
  } else if (HasKey(source, "Stereo.b") && !is_depth) {
    GLINT_ASSIGN_OR_RETURN(const double baseline, Number(source, source.root, "Stereo.b"));
    if (!(baseline > 0)) return FieldError(source, "Stereo.b", absl::StrCat(baseline, " is not above 0"));
    if (left.model != CameraModel::kPinhole) {
      return FieldError(source, "Camera2.fx",
                        "is missing: a lens's coefficients beside Stereo.b; images that are "
                        "rectified have Camera.type Rectified");
    }
    rig = RectifiedRig(left, baseline);
  } else {
    AddOrbSlamEye("Camera1", left, &rig);
  }
  GLINT_RETURN_IF_ERROR(AddOrbSlamDepth(source, "RGBD.DepthMapFactor", "Stereo.b", 1, &calibration));
  GLINT_RETURN_IF_ERROR(AddOrbSlamImu(source, "IMU.T_b_c1", {}, &rig));
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kOrbSlam2 = {"orbslam2", "ORB-SLAM2, or ORB-SLAM3 before 1.0", IsOrbSlam2, ReadOrbSlam2, WriteOrbSlam2};
const Format kOrbSlam = {"orbslam3", "ORB-SLAM3 1.0", IsOrbSlam3, ReadOrbSlam3, WriteOrbSlam3, /*writes_imu=*/true};

}  // namespace glint::calibration
