#include "client/cli/source/calibration.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "calibration/calibration.h"
#include "features/status_macros.h"

namespace glint::cli {

std::vector<std::string> PathsIn(const std::string& paths) {
  std::error_code none;
  if (std::filesystem::exists(paths, none)) return {paths};
  return absl::StrSplit(paths, ',');
}

void CalibrationFlags::AddTo(Flags* flags, bool needed) {
  flags->String(
      "calibration", "PATH[,PATH]",
      absl::StrCat("The cameras: a file or a folder of any format that glint calibration reads, or one for "
                   "each camera, left,right.",
                   needed
                       ? " Needed, or --calibration-name, or --bag with a CameraInfo of each camera. With --depth one "
                         "camera is enough."
                       : ""),
      &paths_);
  flags->String("calibration-name", "NAME",
                "In place of --calibration, for raw pairs or, with --depth, raw images and depths: a calibration that "
                "the server has (its --calibration-directory).",
                &name_);
  flags->String("cameras", "LEFT,RIGHT",
                "Names of the cameras in it, or of KITTI's projections, such as P2,P3 (default: its first two).",
                &cameras_);
  flags->String("projections", "LEFT,RIGHT", "The same.", &cameras_);
  flags->Bool("rectified",
              "Whether the images are rectified, though the file has a lens or a rotation: its projections are taken "
              "(default: as the file says; if it says both, they are raw).",
              [this](bool on) { rectified_ = on; });
}

absl::Status CalibrationFlags::Validate() const {
  if (!named()) return absl::OkStatus();
  if (!paths_.empty()) return absl::InvalidArgumentError("option '--calibration-name': not with --calibration");
  if (cameras_.empty() && !rectified_.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError("option '--calibration-name': not with --cameras or --rectified");
}

void CalibrationFlags::SetTexts(std::vector<calibration::NamedText> texts, std::optional<bool> rectified,
                                std::optional<RigidTransform> camera_from_imu) {
  camera_from_imu_ = std::move(camera_from_imu);
  texts_ = std::move(texts);
  paths_ = absl::StrJoin(texts_, ",", [](std::string* out, const calibration::NamedText& t) { out->append(t.name); });
  if (!rectified_.has_value()) rectified_ = rectified;
}

absl::StatusOr<calibration::Calibration> CalibrationFlags::ReadFiles(const calibration::ReadOptions& options) const {
  if (texts_.empty()) return calibration::ReadCalibration(PathsIn(paths_), options);
  GLINT_ASSIGN_OR_RETURN(calibration::Calibration calibration, calibration::ParseCalibrations(texts_, options));
  if (camera_from_imu_.has_value()) client::SetCameraFromImu(*camera_from_imu_, &calibration);
  return calibration;
}

absl::StatusOr<PairCameras> CalibrationFlags::Read(const Shape& image) const {
  PairCameras cameras;
  if (named()) {
    cameras.rig.emplace().name = name_;
    return cameras;
  }
  const std::vector<std::string> names = absl::StrSplit(cameras_, ',', absl::SkipEmpty());
  if (!names.empty() && names.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--cameras': '", cameras_, "' is not LEFT,RIGHT, such as P2,P3"));
  }
  GLINT_ASSIGN_OR_RETURN(auto calibration, ReadFiles({image, cameras_}));
  return client::PairCamerasOf(std::move(calibration), {paths_, image, rectified_, "--rectified"});
}

absl::StatusOr<PairCameras> CalibrationFlags::ReadWithDepth(const Shape& image, const std::string& depth_camera) const {
  const bool has_depth_camera = !depth_camera.empty();
  if (named()) {
    if (has_depth_camera) return absl::InvalidArgumentError("option '--depth-camera': not with --calibration-name");
    PairCameras cameras;
    cameras.raw_camera.emplace().name = name_;
    return cameras;
  }
  if (absl::StrContains(cameras_, ',')) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--cameras': '", cameras_, "' is not one camera, such as P2"));
  }
  if (has_depth_camera && cameras_.empty()) {
    return absl::InvalidArgumentError("option '--depth-camera': needs --cameras NAME, the camera of the images");
  }
  if (has_depth_camera && rectified_.value_or(false)) {
    return absl::InvalidArgumentError("option '--depth-camera': not with --rectified");
  }
  const std::string names = has_depth_camera ? absl::StrCat(cameras_, ",", depth_camera) : cameras_;
  GLINT_ASSIGN_OR_RETURN(auto calibration, ReadFiles({image, names}));
  return client::DepthCamerasOf(std::move(calibration), {paths_, image, rectified_, "--rectified"}, has_depth_camera);
}

}  // namespace glint::cli
