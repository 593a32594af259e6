#include "client/cli/source/camera_flags.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "calibration/calibration.h"
#include "calibration/stereo_rig.h"
#include "client/cli/base/command.h"
#include "client/cli/source/calibration.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

// Of the images that the file's projection makes, which have the raw ones' size.
absl::StatusOr<Camera> RectifiedCameraOf(const RigCamera& of, const std::string& path) {
  const bool is_pinhole = of.camera.model == CameraModel::kPinhole;
  if (!of.projection.has_value() && is_pinhole) return of.camera;
  if (!of.projection.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--rectified': ", path, " has no projection of rectified images of ", of.name));
  }
  const Eigen::Matrix<double, 3, 4>& p = *of.projection;
  return Camera{CameraModel::kPinhole, of.camera.image, p(0, 0), p(1, 1), p(0, 2), p(1, 2)};
}

}  // namespace

void CameraFlags::AddTo(Flags* flags, const std::string& rows) {
  flags->String(
      "calibration", "PATH[,PATH]",
      absl::StrCat("The camera of the images, which are raw unless --rectified says otherwise: a file or a folder "
                   "of any format that glint calibration reads. ",
                   rows,
                   " then have the ray that each keypoint sees: a unit vector in camera coordinates (x to "
                   "the right, y down, z ahead) with the lens undone, 0,0,0 where the lens has none."),
      &paths_);
  flags->String("camera", "NAME[,NAME]", "Name of the camera in it (default: its first one).", &names_);
  flags->Bool(
      "rectified",
      "With --calibration: the images are rectified, and their camera is the projection that the file has beside "
      "the lens.",
      &rectified_);
}

absl::Status CameraFlags::Validate() const {
  if (given()) return absl::OkStatus();
  if (!names_.empty()) return absl::InvalidArgumentError("option '--camera': needs --calibration");
  if (rectified_) return absl::InvalidArgumentError("option '--rectified': needs --calibration");
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Camera>> CameraFlags::Read(absl::Span<const Shape> images,
                                                      std::vector<std::string>* notes) const {
  const std::vector<std::string> names = absl::StrSplit(names_, ',', absl::SkipEmpty());
  if (!names.empty() && names.size() != images.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--camera': '", names_, "' is not one name for each of ", images.size(), " cameras"));
  }
  GLINT_ASSIGN_OR_RETURN(const calibration::Calibration calibration,
                         calibration::ReadCalibration(PathsIn(paths_), {images.front(), names_}));
  const Rig& rig = calibration.rig;
  if (rig.cameras.size() < images.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(paths_, ": has ", rig.cameras.size(), " of ", images.size(), " cameras"));
  }
  std::vector<Camera> cameras;
  calibration::Calibration one = calibration;
  one.rig.imu.reset();
  for (size_t i = 0; i < images.size(); ++i) {
    one.rig.cameras = {rig.cameras[i]};
    GLINT_ASSIGN_OR_RETURN(const std::vector<std::string> warnings, calibration::WarningsOf(one, images[i]));
    for (const std::string& warning : warnings) notes->push_back("warning: " + warning);
    one.warnings.clear();  // of the files: once
    if (rectified_) {
      GLINT_ASSIGN_OR_RETURN(const Camera rectified, RectifiedCameraOf(rig.cameras[i], paths_));
      cameras.push_back(rectified);
    } else {
      cameras.push_back(rig.cameras[i].camera);
    }
    if (cameras.back().image.width == 0) cameras.back().image = images[i];
  }
  return cameras;
}

absl::StatusOr<Camera> CameraFlags::ReadFor(const Picture& picture, const char* command) const {
  const cv::Mat canvas = picture.Canvas();
  std::vector<std::string> notes;
  const auto cameras = Read({Shape{canvas.cols, canvas.rows}}, &notes);
  if (!cameras.ok()) return absl::InvalidArgumentError(cameras.status().message());
  for (const std::string& note : notes) Complain(command, note);
  return cameras->front();
}

}  // namespace glint::cli
