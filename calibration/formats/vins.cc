// Settings of VINS-Mono and VINS-Fusion, and the camera files of camodocal that they name. extrinsicRotation and
// extrinsicTranslation, or body_T_cam0 and body_T_cam1, take points of the camera to the inertial sensor. acc_n, gyr_n,
// acc_w and gyr_w are no densities (the filter takes them per sample, and they are tuned): the rig leaves noise
// unknown.
#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/matrices.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

bool HasVinsCamera(const Source& source) {
  const Node& root = source.root;
  return root.Find("model_type") != nullptr &&
         (root.Find("projection_parameters") != nullptr || root.Find("poly_parameters") != nullptr);
}

// The settings of the program, which say how cameras and inertial sensor are fixed to each other.
bool HasVinsRig(const Source& source) {
  for (const char* key : {"cam0_calib", "body_T_cam0", "extrinsicRotation", "extrinsicTranslation"}) {
    if (source.root.Find(key) != nullptr) return true;
  }
  return false;
}

bool IsVins(const Source& source) { return HasVinsCamera(source) || HasVinsRig(source); }

// Numbers of a map by their names: "projection_parameters/fx".
absl::StatusOr<std::vector<double>> VinsNumbers(const Source& source, const char* map,
                                                std::initializer_list<const char*> names) {
  std::vector<double> values;
  for (const char* name : names) {
    values.emplace_back();
    GLINT_ASSIGN_OR_RETURN(values.back(), Number(source, source.root, absl::StrCat(map, "/", name)));
  }
  return values;
}

absl::Status SetVinsLens(const Source& source, const std::string& model, Camera* camera) {
  constexpr char kLens[] = "distortion_parameters";
  if (model == "KANNALA_BRANDT") {
    GLINT_ASSIGN_OR_RETURN(const auto d, VinsNumbers(source, "projection_parameters", {"k2", "k3", "k4", "k5"}));
    return SetFisheyeLens(source, "projection_parameters/k2", d, camera);
  }
  if (model == "PINHOLE_FULL") {
    GLINT_ASSIGN_OR_RETURN(const auto d, VinsNumbers(source, kLens, {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6"}));
    return SetOpenCvLens(source, kLens, d, camera);
  }
  GLINT_ASSIGN_OR_RETURN(const auto d, VinsNumbers(source, kLens, {"k1", "k2", "p1", "p2"}));
  if (model == "PINHOLE") return SetOpenCvLens(source, kLens, d, camera);
  camera->model = CameraModel::kOmni;
  GLINT_ASSIGN_OR_RETURN(camera->lens[0], Number(source, source.root, "mirror_parameters/xi"));
  std::copy(d.begin(), d.end(), camera->lens.begin() + 1);
  return absl::OkStatus();
}

absl::StatusOr<RigCamera> VinsCamera(const Source& source, const char* name) {
  const std::string model = Text(source.root, "model_type");
  const bool is_pinhole = model == "PINHOLE" || model == "PINHOLE_FULL";
  if (!is_pinhole && model != "KANNALA_BRANDT" && model != "MEI") {
    return FieldError(source, "model_type",
                      absl::StrCat("'", Echo(model),
                                   "' is not one of PINHOLE, PINHOLE_FULL, "
                                   "KANNALA_BRANDT, MEI"));
  }
  const auto focal_and_centre = [&]() {
    constexpr char kMap[] = "projection_parameters";
    if (is_pinhole) return VinsNumbers(source, kMap, {"fx", "fy", "cx", "cy"});
    if (model == "MEI") return VinsNumbers(source, kMap, {"gamma1", "gamma2", "u0", "v0"});
    return VinsNumbers(source, kMap, {"mu", "mv", "u0", "v0"});
  };
  GLINT_ASSIGN_OR_RETURN(const auto p, focal_and_centre());
  RigCamera camera;
  camera.name = name;
  GLINT_RETURN_IF_ERROR(
      SetIntrinsics(source, "projection_parameters", {p[0], 0, p[2], 0, p[1], p[3], 0, 0, 1}, &camera.camera));
  GLINT_RETURN_IF_ERROR(SetVinsLens(source, model, &camera.camera));
  GLINT_ASSIGN_OR_RETURN(const double width, Number(source, source.root, "image_width"));
  GLINT_ASSIGN_OR_RETURN(const double height, Number(source, source.root, "image_height"));
  GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, "image_width", width, height));
  return camera;
}

// The inertial sensor from a camera, as `settings` say for camera 0 or 1.
absl::StatusOr<RigidTransform> VinsPose(const Source& settings, int index) {
  const std::string key = absl::StrCat("body_T_cam", index);
  if (index > 0 || settings.root.Find("extrinsicRotation") == nullptr) {
    GLINT_ASSIGN_OR_RETURN(const auto pose, Numbers(settings, settings.root, key, 0));
    return Transform(settings, key, pose);
  }
  GLINT_ASSIGN_OR_RETURN(const auto r, Numbers(settings, settings.root, "extrinsicRotation", 9));
  GLINT_ASSIGN_OR_RETURN(const auto t, Numbers(settings, settings.root, "extrinsicTranslation", 3));
  return Transform(settings, "extrinsicRotation", r, Eigen::Vector3d(t.data()));
}

bool IsFileOf(const Source& source, const std::string& name) {
  return !name.empty() && (source.path == name || absl::EndsWith(source.path, "/" + name));
}

// The cameras' files, first that which the settings call cam0_calib. Without names the order counts.
absl::StatusOr<std::vector<const Source*>> VinsCameraFiles(absl::Span<const Source> sources, const Source* settings) {
  std::vector<const Source*> files;
  for (const Source& source : sources) {
    if (HasVinsCamera(source)) files.push_back(&source);
  }
  if (settings == nullptr) return files;
  for (size_t i = 0; i < 2; ++i) {
    const std::string key = absl::StrCat("cam", i, "_calib");
    const std::string name = Text(settings->root, key);
    if (name.empty()) continue;
    const auto at = std::find_if(files.begin(), files.end(), [&](const Source* f) { return IsFileOf(*f, name); });
    if (at != files.end() && static_cast<size_t>(at - files.begin()) > i) std::iter_swap(at, files.begin() + i);
    if (files.size() <= i) {
      return FieldError(*settings, key,
                        absl::StrCat("the file '", Echo(name),
                                     "' has the camera: give settings and cameras together, "
                                     "SETTINGS,CAMERA0,CAMERA1, or their folder"));
    }
  }
  return files;
}

absl::Status AddVinsImu(const Source& settings, const RigidTransform& imu_from_camera, Rig* rig) {
  GLINT_ASSIGN_OR_RETURN(const double has_imu, NumberOr(settings, settings.root, "imu", 1));
  if (has_imu == 0) return absl::OkStatus();
  RigImu imu;
  imu.rig_from_imu = imu_from_camera.Inverse();
  GLINT_ASSIGN_OR_RETURN(imu.imu_time_minus_camera_time, NumberOr(settings, settings.root, "td", 0));
  rig->imu = imu;
  return absl::OkStatus();
}

absl::StatusOr<Calibration> ReadVins(absl::Span<const Source> sources, const ReadOptions& /*options*/) {
  const Source* settings = nullptr;
  for (const Source& source : sources) {
    if (!HasVinsRig(source)) continue;
    if (settings != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(settings->path, " and ", source.path, " are settings of two rigs: name one of them"));
    }
    settings = &source;
  }
  GLINT_ASSIGN_OR_RETURN(const auto files, VinsCameraFiles(sources, settings));
  Calibration calibration;
  if (files.empty()) return FieldError(sources[0], "model_type", "is missing: there is no camera");
  if (settings == nullptr && files.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(files[0]->path,
                     ": two cameras need the settings with body_T_cam0 and body_T_cam1 beside them: "
                     "SETTINGS,CAMERA0,CAMERA1, or their folder"));
  }
  Rig& rig = calibration.rig;
  for (size_t i = 0; i < std::min<size_t>(files.size(), 2); ++i) {
    GLINT_ASSIGN_OR_RETURN(const RigCamera camera, VinsCamera(*files[i], i == 0 ? "cam0" : "cam1"));
    rig.cameras.push_back(camera);
  }
  for (size_t i = 2; i < files.size(); ++i) {
    calibration.warnings.push_back(
        FieldWarning(*files[i], "model_type", "a third camera, which is left out: VINS has one or two"));
  }
  // 2: the program is to find the pose, and the file's counts for nothing.
  if (settings != nullptr) {
    GLINT_ASSIGN_OR_RETURN(const double estimate, NumberOr(*settings, settings->root, "estimate_extrinsic", 0));
    if (estimate != 2 || rig.cameras.size() > 1) {
      GLINT_ASSIGN_OR_RETURN(const RigidTransform imu_from_left, VinsPose(*settings, 0));
      if (rig.cameras.size() > 1) {
        GLINT_ASSIGN_OR_RETURN(const RigidTransform imu_from_right, VinsPose(*settings, 1));
        rig.cameras[1].rig_from_camera = imu_from_left.Inverse() * imu_from_right;
      }
      GLINT_RETURN_IF_ERROR(AddVinsImu(*settings, imu_from_left, &rig));
    }
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kVins = {"vins", "VINS-Mono or VINS-Fusion", IsVins, ReadVins, nullptr};

}  // namespace glint::calibration
