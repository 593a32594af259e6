#include "client/cli/source/calibration.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "calibration/calibration.h"
#include "calibration/check.h"
#include "features/camera/rig.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

using calibration::Calibration;

// One path, or those between commas if there is none of the whole name.
std::vector<std::string> PathsIn(const std::string& paths) {
  std::error_code none;
  if (std::filesystem::exists(paths, none)) return {paths};
  return absl::StrSplit(paths, ',');
}

std::vector<double> RowsOf(const Eigen::Matrix<double, 3, 4>& m) {
  std::vector<double> rows;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 4; ++c) rows.push_back(m(r, c));
  }
  return rows;
}

RigidTransform RightFromLeft(const Rig& rig) {
  return rig.cameras[1].rig_from_camera.Inverse() * rig.cameras[0].rig_from_camera;
}

// Projections as they are written, if the file has them: their last bits count.
client::StereoCamera RectifiedCamera(const Rig& rig, bool of_one) {
  const RigCamera& left = rig.cameras[0];
  client::StereoCamera camera;
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
    camera.baseline = -RightFromLeft(rig).translation.x();
  }
  return camera;
}

client::StereoRig RawRig(const Rig& rig, const Shape& image) {
  client::StereoRig raw;
  raw.left = rig.cameras[0].camera;
  raw.right = rig.cameras[1].camera;
  raw.right_from_left = RightFromLeft(rig);
  for (Camera* camera : {&raw.left, &raw.right}) {
    if (camera->image.width == 0) camera->image = image;
  }
  return raw;
}

// Warnings go to `notes`. INVALID_ARGUMENT: what cannot be right.
absl::Status CheckFor(const Shape& image, const Calibration& calibration, std::vector<std::string>* notes) {
  for (const std::string& warning : calibration.warnings) notes->push_back("warning: " + warning);
  for (const calibration::Finding& finding : calibration::Check(calibration, image)) {
    if (finding.severity == calibration::Finding::Severity::kError) return absl::InvalidArgumentError(finding.text);
    notes->push_back("warning: " + finding.text);
  }
  return absl::OkStatus();
}

std::string Assumed(const Calibration& calibration, const client::StereoRig& rig, bool asked) {
  const bool may_be_rectified = !asked && calibration.rig.cameras[0].projection.has_value();
  return absl::StrFormat("camera: %s, %s, %dx%d, baseline %.3f m; the images are raw, and the server rectifies them%s",
                         calibration.format, NameOf(rig.left.model), rig.left.image.width, rig.left.image.height,
                         rig.right_from_left.translation.norm(),
                         may_be_rectified ? " (--rectified, if that was done already)" : "");
}

}  // namespace

void CalibrationFlags::AddTo(Flags* flags, bool needed) {
  flags->String("calibration", "PATH[,PATH]",
                absl::StrCat("The cameras: a file or a folder of any format that glint calibration reads, or one for "
                             "each camera, left,right.",
                             needed ? " Needed. With --depth one camera is enough." : ""),
                &paths_);
  flags->String("cameras", "LEFT,RIGHT",
                "Names of the cameras in it, or of KITTI's projections, such as P2,P3 (default: its first two).",
                &cameras_);
  flags->String("projections", "LEFT,RIGHT", "The same.", &cameras_);
  flags->Bool("rectified",
              "Whether the images are rectified, though the file has a lens or a rotation: its projections are taken "
              "(default: as the file says; if it says both, they are raw).",
              [this](bool on) { rectified_ = on; });
}

absl::StatusOr<PairCameras> CalibrationFlags::Read(const Shape& image, bool of_one) const {
  const std::vector<std::string> names = absl::StrSplit(cameras_, ',', absl::SkipEmpty());
  const size_t eyes = of_one ? 1 : 2;
  if (!names.empty() && names.size() != eyes) {
    return absl::InvalidArgumentError(absl::StrCat("option '--cameras': '", cameras_, "' is not ",
                                                   of_one ? "one camera, such as P2" : "LEFT,RIGHT, such as P2,P3"));
  }
  GLINT_ASSIGN_OR_RETURN(Calibration calibration, calibration::ReadCalibration(PathsIn(paths_), {image, cameras_}));
  Rig& rig = calibration.rig;
  if (rig.cameras.size() < eyes) {
    return absl::InvalidArgumentError(absl::StrCat(paths_, ": has ", rig.cameras.size(), " of ", eyes, " cameras"));
  }
  rig.cameras.resize(eyes);
  PairCameras cameras;
  GLINT_RETURN_IF_ERROR(CheckFor(image, calibration, &cameras.notes));
  const bool has_projections = std::all_of(rig.cameras.begin(), rig.cameras.end(),
                                           [](const RigCamera& camera) { return camera.projection.has_value(); });
  const bool rectified = rectified_.value_or(calibration.rectified);
  if (rectified && !of_one && !calibration.rectified && !has_projections) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--rectified': ", paths_, " has no projections of rectified images"));
  }
  if (of_one && rig.cameras[0].camera.model != CameraModel::kPinhole) {
    cameras.notes.push_back("warning: with --depth images are taken without distortion: the file's lens is not used");
  }
  if (rectified || of_one) {
    cameras.camera = RectifiedCamera(rig, of_one);
    cameras.camera.width = image.width;
    cameras.camera.height = image.height;
  } else {
    cameras.rig = RawRig(rig, image);
    cameras.notes.push_back(Assumed(calibration, *cameras.rig, rectified_.has_value()));
  }
  return cameras;
}

}  // namespace glint::cli
