// cv::FileStorage in YAML: K, D, R, T and their like.
#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/writers.h"
#include "features/camera/camera.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

absl::StatusOr<std::string> OpenCvLensText(const RigCamera& camera, absl::string_view suffix) {
  const Camera& c = camera.camera;
  Eigen::Matrix3d k;
  k << c.fx, 0, c.cx, 0, c.fy, c.cy, 0, 0, 1;
  int count = 5;
  if (c.model == CameraModel::kRational) count = 8;
  if (c.model == CameraModel::kThinPrism) count = c.lens[12] == 0 && c.lens[13] == 0 ? 12 : 14;
  if (c.model == CameraModel::kKannalaBrandt || c.model == CameraModel::kOmni) count = 4;
  if (c.model == CameraModel::kDoubleSphere || c.model == CameraModel::kEucm || c.model == CameraModel::kFov) {
    return absl::InvalidArgumentError(absl::StrCat("lens of ", camera.name, ": OpenCV has no model ", NameOf(c.model)));
  }
  const bool is_omni = c.model == CameraModel::kOmni;
  const Eigen::MatrixXd d = Eigen::Map<const Eigen::RowVectorXd>(c.lens.data() + (is_omni ? 1 : 0), count);
  std::string text = absl::StrCat(MatrixText(absl::StrCat("K", suffix), k), MatrixText(absl::StrCat("D", suffix), d));
  if (is_omni) absl::StrAppend(&text, "xi", suffix, ": ", NumbersText(c.lens.data(), 1), "\n");
  if (c.image.width > 0) {
    absl::StrAppend(&text, "imageSize", suffix, ": [ ", c.image.width, ", ", c.image.height, " ]\n");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::vector<NamedText>> WriteOpenCv(const Calibration& calibration) {
  const auto& cameras = calibration.rig.cameras;
  const auto is_fisheye = [](const RigCamera& c) { return c.camera.model == CameraModel::kKannalaBrandt; };
  const auto fisheyes = std::count_if(cameras.begin(), cameras.end(), is_fisheye);
  const bool is_pair = cameras.size() == 2;
  if (cameras.empty() || cameras.size() > 2 || (fisheyes != 0 && fisheyes != static_cast<int>(cameras.size()))) {
    return absl::InvalidArgumentError("cameras: OpenCV's file takes one or two of one kind");
  }
  std::string text = "%YAML:1.0\n---\n";
  if (fisheyes != 0) absl::StrAppend(&text, "fisheye_model: 1\n");
  for (size_t eye = 0; eye < cameras.size(); ++eye) {
    const std::string suffix = is_pair ? absl::StrCat(eye + 1) : "";
    GLINT_ASSIGN_OR_RETURN(const std::string lens, OpenCvLensText(cameras[eye], suffix));
    absl::StrAppend(&text, lens);
    if (!cameras[eye].projection.has_value() || !cameras[eye].rectified_from_camera.has_value()) continue;
    absl::StrAppend(&text,
                    MatrixText(is_pair ? absl::StrCat("R", suffix) : "R_rect", *cameras[eye].rectified_from_camera),
                    MatrixText(absl::StrCat("P", suffix), *cameras[eye].projection));
  }
  if (is_pair) {
    const RigidTransform right_from_left = RightFromLeft(calibration.rig);
    absl::StrAppend(&text, MatrixText("R", right_from_left.rotation), MatrixText("T", right_from_left.translation));
  }
  return std::vector<NamedText>{{"stereo.yml", text}};
}

}  // namespace glint::calibration
