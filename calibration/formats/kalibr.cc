// Kalibr's camchain.yaml, camchain-imucam.yaml and imu.yaml, and what OpenVINS and TUM-VI make of them.
// https://github.com/ethz-asl/kalibr/wiki/yaml-formats
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/format.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "calibration/formats/named_lens.h"
#include "features/camera/rig.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// "cam0" -> 0.
std::optional<int> CameraNumber(const Node& node) {
  absl::string_view name = node.name;
  int number;
  const bool is_camera = absl::ConsumePrefix(&name, "cam") && absl::SimpleAtoi(name, &number) &&
                         (node.Find("camera_model") != nullptr || node.Find("distortion_model") != nullptr ||
                          node.Find("T_cam_imu") != nullptr);
  return is_camera ? std::optional<int>(number) : std::nullopt;
}

// In ascending order of their numbers.
std::vector<const Node*> CamerasOf(const Source& source) {
  std::vector<const Node*> cameras;
  for (const Node& node : source.root.children) {
    if (CameraNumber(node)) cameras.push_back(&node);
  }
  std::sort(cameras.begin(), cameras.end(),
            [](const Node* a, const Node* b) { return *CameraNumber(*a) < *CameraNumber(*b); });
  return cameras;
}

// The node that has an inertial sensor's noise, or null.
const Node* ImuOf(const Source& source) {
  const Node* node = source.root.Find("imu0");
  if (node == nullptr) node = &source.root;
  return node->Find("accelerometer_noise_density") == nullptr ? nullptr : node;
}

bool RecognisesKalibr(const Source& source) {
  if (source.root.kind != Node::Kind::kMap || source.root.Find("T_BS") != nullptr) return false;
  return !CamerasOf(source).empty() || ImuOf(source) != nullptr;
}

absl::StatusOr<Camera> ReadKalibrCamera(const Source& source, const Node& node, const ReadOptions& options) {
  // "pinhole", or as Kalibr's command line calls it: "pinhole-radtan".
  std::string model = Text(node, "camera_model"), lens = Text(node, "distortion_model");
  if (const size_t dash = model.find('-'); dash != std::string::npos) {
    if (lens.empty()) lens = model.substr(dash + 1);
    model.resize(dash);
  }
  const auto path = [&](absl::string_view field) { return absl::StrCat(node.name, "/", field); };
  Camera camera;
  camera.image = options.image;
  if (node.Find("resolution") != nullptr) {
    GLINT_ASSIGN_OR_RETURN(const std::vector<double> size, Numbers(source, source.root, path("resolution"), 2));
    GLINT_ASSIGN_OR_RETURN(camera.image, ImageSize(source, path("resolution"), size[0], size[1]));
  }
  const bool omni = model == "omni", ds = model == "ds", eucm = model == "eucm";
  if (!omni && !ds && !eucm && model != "pinhole" && !model.empty()) {
    return FieldError(source, path("camera_model"), NotOneOf(model, "pinhole, omni, ds, eucm"));
  }
  const int first = omni ? 1 : ds || eucm ? 2 : 0;  // of fu fv pu pv
  GLINT_ASSIGN_OR_RETURN(const std::vector<double> k, Numbers(source, source.root, path("intrinsics"), first + 4));
  camera.fx = k[first], camera.fy = k[first + 1], camera.cx = k[first + 2], camera.cy = k[first + 3];
  const char* coefficients =
      node.Find("distortion_coeffs") != nullptr ? "distortion_coeffs" : "distortion_coefficients";
  std::vector<double> d;
  if (node.Find(coefficients) != nullptr) {
    GLINT_ASSIGN_OR_RETURN(d, Numbers(source, source.root, path(coefficients), 0));
  }
  GLINT_RETURN_IF_ERROR(SetNamedLens(source, path("distortion_model"), lens, path(coefficients), d, &camera));
  const bool distorted = camera.model != CameraModel::kPinhole;
  if (ds || eucm) {
    if (distorted) return FieldError(source, path(coefficients), absl::StrCat("are not 0 beside model ", model));
    camera.model = ds ? CameraModel::kDoubleSphere : CameraModel::kEucm;
    camera.lens = {k[0], k[1]};
  } else if (omni) {
    if (distorted && camera.model != CameraModel::kRadialTangential) {
      return FieldError(source, path("distortion_model"), NotOneOf(lens, "radtan, none beside model omni"));
    }
    if (camera.lens[4] != 0) return FieldError(source, path(coefficients), "model omni has four coefficients");
    camera.model = CameraModel::kOmni;
    camera.lens = {k[0], camera.lens[0], camera.lens[1], camera.lens[2], camera.lens[3]};
  }
  return camera;
}

// The transform at `field` of `node`; nothing: there is none.
absl::StatusOr<std::optional<RigidTransform>> ReadTransform(const Source& source, const Node& node,
                                                            const std::string& field) {
  const Node* found = node.Find(field);
  if (found == nullptr || found->kind == Node::Kind::kEmpty) return std::optional<RigidTransform>();
  GLINT_ASSIGN_OR_RETURN(const std::vector<double> numbers, Numbers(source, node, field, 0));
  const std::string path = node.name.empty() ? field : absl::StrCat(node.name, "/", field);
  GLINT_ASSIGN_OR_RETURN(const RigidTransform transform, Transform(source, path, numbers));
  return std::optional<RigidTransform>(transform);
}

// T_cam_imu, or the inverse of OpenVINS's T_imu_cam.
absl::StatusOr<std::optional<RigidTransform>> ReadCameraFromImu(const Source& source, const Node& camera) {
  GLINT_ASSIGN_OR_RETURN(std::optional<RigidTransform> camera_from_imu, ReadTransform(source, camera, "T_cam_imu"));
  if (camera_from_imu) return camera_from_imu;
  GLINT_ASSIGN_OR_RETURN(const std::optional<RigidTransform> imu_from_camera,
                         ReadTransform(source, camera, "T_imu_cam"));
  if (imu_from_camera) camera_from_imu = imu_from_camera->Inverse();
  return camera_from_imu;
}

// The transform from the camera before: T_cn_cnm1, or by the cameras' names and maybe at the root: T_cam1_cam0.
absl::StatusOr<std::optional<RigidTransform>> ReadFromPrevious(const Source& source, const Node& camera,
                                                               const std::string& previous) {
  for (const Node* node : {&camera, &source.root}) {
    for (const std::string& name : {std::string("T_cn_cnm1"), absl::StrCat("T_", camera.name, "_", previous)}) {
      GLINT_ASSIGN_OR_RETURN(const std::optional<RigidTransform> found, ReadTransform(source, *node, name));
      if (found) return found;
    }
    GLINT_ASSIGN_OR_RETURN(const std::optional<RigidTransform> inverse,
                           ReadTransform(source, *node, absl::StrCat("T_", previous, "_", camera.name)));
    if (inverse) return std::optional<RigidTransform>(inverse->Inverse());
  }
  return std::optional<RigidTransform>();
}

// By over 2 mm, or a hundredth of the shift, or 2 mrad.
bool AreFar(const RigidTransform& a, const RigidTransform& b) {
  const double shift = (a.translation - b.translation).norm();
  return shift > std::max(2e-3, 1e-2 * a.translation.norm()) || (a.rotation - b.rotation).cwiseAbs().maxCoeff() > 2e-3;
}

absl::StatusOr<Calibration> ReadChain(const Source& source, const ReadOptions& options,
                                      std::optional<RigidTransform>* first_from_imu, double* time_shift) {
  Calibration calibration;
  RigidTransform previous_from_first;
  std::string previous;
  for (const Node* node : CamerasOf(source)) {
    RigCamera camera;
    camera.name = node->name;
    GLINT_ASSIGN_OR_RETURN(camera.camera, ReadKalibrCamera(source, *node, options));
    GLINT_ASSIGN_OR_RETURN(const std::optional<RigidTransform> from_imu, ReadCameraFromImu(source, *node));
    RigidTransform from_first;
    if (previous.empty()) {
      *first_from_imu = from_imu;
      GLINT_ASSIGN_OR_RETURN(*time_shift,
                             NumberOr(source, source.root, absl::StrCat(node->name, "/timeshift_cam_imu"), 0));
    } else {
      GLINT_ASSIGN_OR_RETURN(const std::optional<RigidTransform> step, ReadFromPrevious(source, *node, previous));
      std::optional<RigidTransform> by_imu;
      if (from_imu && *first_from_imu) by_imu = *from_imu * (*first_from_imu)->Inverse();
      if (!step && !by_imu) {
        calibration.warnings.push_back(
            FieldWarning(source, absl::StrCat(node->name, "/T_cn_cnm1"),
                         "is missing, and no T_cam_imu says where the camera is: it is left out"));
        break;
      }
      from_first = step ? *step * previous_from_first : *by_imu;
      if (step && by_imu && AreFar(from_first, *by_imu)) {
        calibration.warnings.push_back(
            FieldWarning(source, absl::StrCat(node->name, "/T_cn_cnm1"),
                         "contradicts what the cameras' poses to the IMU say; T_cn_cnm1 was taken"));
      }
    }
    camera.rig_from_camera = from_first.Inverse();
    calibration.rig.cameras.push_back(std::move(camera));
    previous_from_first = from_first;
    previous = node->name;
  }
  return calibration;
}

absl::StatusOr<RigImu> ReadKalibrImu(const Source& source, const Node& node) {
  RigImu imu;
  const std::string at = node.name.empty() ? "" : absl::StrCat(node.name, "/");
  const std::pair<const char*, double*> fields[] = {{"update_rate", &imu.rate_hz},
                                                    {"gyroscope_noise_density", &imu.gyroscope_noise_density},
                                                    {"gyroscope_random_walk", &imu.gyroscope_random_walk},
                                                    {"accelerometer_noise_density", &imu.accelerometer_noise_density},
                                                    {"accelerometer_random_walk", &imu.accelerometer_random_walk}};
  for (const auto& [name, value] : fields) {
    GLINT_ASSIGN_OR_RETURN(*value, NumberOr(source, source.root, absl::StrCat(at, name), 0));
  }
  return imu;
}

// The file with the cameras: of two, a camchain.yaml and its camchain-imucam.yaml, the one that knows the IMU.
absl::StatusOr<const Source*> ChainOf(absl::Span<const Source> sources) {
  const Source* chain = nullptr;
  const auto knows_imu = [](const Source& source) {
    const Node& camera = *CamerasOf(source)[0];
    return camera.Find("T_cam_imu") != nullptr || camera.Find("T_imu_cam") != nullptr;
  };
  for (const Source& source : sources) {
    if (CamerasOf(source).empty()) continue;
    if (chain != nullptr && knows_imu(*chain) == knows_imu(source)) {
      return absl::InvalidArgumentError(
          absl::StrCat(chain->path, " and ", source.path, " both have cameras: give one of them"));
    }
    if (chain == nullptr || knows_imu(source)) chain = &source;
  }
  if (chain == nullptr) return FieldError(sources[0], "cam0", "is missing: an IMU alone is no camera's calibration");
  return chain;
}

absl::StatusOr<Calibration> ReadKalibr(absl::Span<const Source> sources, const ReadOptions& options) {
  GLINT_ASSIGN_OR_RETURN(const Source* chain, ChainOf(sources));
  std::optional<RigidTransform> first_from_imu;
  double time_shift = 0;
  GLINT_ASSIGN_OR_RETURN(Calibration calibration, ReadChain(*chain, options, &first_from_imu, &time_shift));
  if (first_from_imu) calibration.rig.imu = RigImu();
  for (const Source& source : sources) {
    const Node* node = ImuOf(source);
    if (node == nullptr) continue;
    GLINT_ASSIGN_OR_RETURN(const RigImu imu, ReadKalibrImu(source, *node));
    if (!first_from_imu) {
      calibration.warnings.push_back(FieldWarning(*chain, "T_cam_imu", "is missing: the IMU is left out"));
      continue;
    }
    calibration.rig.imu = imu;
  }
  if (first_from_imu) {
    calibration.rig.imu->rig_from_imu = *first_from_imu;
    calibration.rig.imu->imu_time_minus_camera_time = time_shift;
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

std::string KalibrRowsText(const RigidTransform& t) {
  std::string text;
  for (int row = 0; row < 3; ++row) {
    const auto r = t.rotation.row(row);
    absl::StrAppend(&text, "  - [", Digits({r(0), r(1), r(2), t.translation(row)}, ", "), "]\n");
  }
  return absl::StrCat(text, "  - [0.0, 0.0, 0.0, 1.0]\n");
}

absl::StatusOr<std::string> KalibrCameraText(const Camera& camera) {
  const std::vector<double> k = {camera.fx, camera.fy, camera.cx, camera.cy};
  std::vector<double> intrinsics, d = {0, 0, 0, 0};
  const auto& lens = camera.lens;
  const char *model = "pinhole", *distortion = "radtan";
  switch (camera.model) {
    case CameraModel::kPinhole:
      break;
    case CameraModel::kRadialTangential:
      if (lens[4] != 0) return absl::InvalidArgumentError("lens.k3: Kalibr has no k3");
      d.assign(lens.begin(), lens.begin() + 4);
      break;
    case CameraModel::kKannalaBrandt:
      distortion = "equidistant";
      d.assign(lens.begin(), lens.begin() + 4);
      break;
    case CameraModel::kFov:
      distortion = "fov";
      d = {lens[0]};
      break;
    case CameraModel::kDoubleSphere:
    case CameraModel::kEucm:
      model = camera.model == CameraModel::kEucm ? "eucm" : "ds";
      distortion = "none";
      intrinsics.assign(lens.begin(), lens.begin() + 2);
      d.clear();
      break;
    case CameraModel::kOmni:
      model = "omni";
      intrinsics = {lens[0]};
      d.assign(lens.begin() + 1, lens.begin() + 5);
      break;
    case CameraModel::kRational:
    case CameraModel::kThinPrism:
      return absl::InvalidArgumentError(absl::StrCat("model: Kalibr has no ", NameOf(camera.model), " lens"));
  }
  intrinsics.insert(intrinsics.end(), k.begin(), k.end());
  return absl::StrCat("  camera_model: ", model, "\n  distortion_coeffs: [", Digits(d, ", "),
                      "]\n  distortion_model: ", distortion, "\n  intrinsics: [", Digits(intrinsics, ", "),
                      "]\n  resolution: [", camera.image.width, ", ", camera.image.height, "]\n");
}

absl::StatusOr<std::vector<NamedText>> WriteKalibr(const Calibration& calibration) {
  GLINT_RETURN_IF_ERROR(RequireSizes(calibration.rig, "Kalibr"));
  const Rig& rig = calibration.rig;
  std::string chain;
  for (size_t i = 0; i < rig.cameras.size(); ++i) {
    const RigidTransform camera_from_rig = rig.cameras[i].rig_from_camera.Inverse();
    absl::StrAppend(&chain, "cam", i, ":\n");
    if (i > 0)
      absl::StrAppend(&chain, "  T_cn_cnm1:\n", KalibrRowsText(camera_from_rig * rig.cameras[i - 1].rig_from_camera));
    if (rig.imu) {
      absl::StrAppend(&chain, "  T_cam_imu:\n", KalibrRowsText(camera_from_rig * rig.imu->rig_from_imu),
                      "  timeshift_cam_imu: ", Digits({rig.imu->imu_time_minus_camera_time}), "\n");
    }
    GLINT_ASSIGN_OR_RETURN(const std::string camera, KalibrCameraText(rig.cameras[i].camera));
    absl::StrAppend(&chain, camera, "  rostopic: /cam", i, "/image_raw\n");
  }
  std::vector<NamedText> files = {{"camchain.yaml", chain}};
  if (rig.imu) {
    const RigImu& imu = *rig.imu;
    files.push_back(
        {"imu.yaml", absl::StrCat("accelerometer_noise_density: ", Digits({imu.accelerometer_noise_density}),
                                  "\naccelerometer_random_walk: ", Digits({imu.accelerometer_random_walk}),
                                  "\ngyroscope_noise_density: ", Digits({imu.gyroscope_noise_density}),
                                  "\ngyroscope_random_walk: ", Digits({imu.gyroscope_random_walk}),
                                  "\nrostopic: /imu0\nupdate_rate: ", Digits({imu.rate_hz}), "\n")});
  }
  return files;
}

}  // namespace

const Format kKalibr = {"kalibr", "Kalibr camchain", RecognisesKalibr, ReadKalibr, WriteKalibr, /*writes_imu=*/true};

}  // namespace glint::calibration
