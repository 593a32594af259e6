// Cameras of rtabmap: NAME_left.yaml, NAME_right.yaml and NAME_pose.yaml, whose transform takes points of the left
// camera to the right one. local_transform, the camera's place on a robot, is not of the rig.
#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/named_lens.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

bool HasRtabmapMatrix(const Source& source, const char* key) {
  const Node* node = source.root.Find(key);
  return node != nullptr && node->Find("data") != nullptr;
}

bool IsRtabmapPose(const Source& source) {
  return HasRtabmapMatrix(source, "rotation_matrix") && HasRtabmapMatrix(source, "translation_matrix") &&
         !HasRtabmapMatrix(source, "camera_matrix");
}

// Files of cv::FileStorage whose matrices are maps, not OpenCV's.
bool IsRtabmap(const Source& source) {
  if (absl::StrContains(source.text, "opencv-matrix")) return false;
  if (!absl::StartsWith(source.text, "%YAML") && source.root.Find("local_transform") == nullptr) return false;
  return IsRtabmapPose(source) ||
         (HasRtabmapMatrix(source, "camera_matrix") && source.root.Find("camera_name") != nullptr);
}

// A fisheye's four coefficients stand where OpenCV's k1 k2 . . k3 k4 would: the tangential ones are 0.
std::vector<double> RtabmapFisheye(const std::vector<double>& d) {
  if (d.size() != 6 || d[2] != 0 || d[3] != 0) return d;
  return {d[0], d[1], d[4], d[5]};
}

absl::StatusOr<RigCamera> RtabmapCamera(const Source& source, const char* name) {
  RigCamera eye;
  eye.name = name;
  const Node& root = source.root;
  GLINT_ASSIGN_OR_RETURN(const double width, NumberOr(source, root, "image_width", 0));
  GLINT_ASSIGN_OR_RETURN(const double height, NumberOr(source, root, "image_height", 0));
  GLINT_ASSIGN_OR_RETURN(const auto k, Numbers(source, root, "camera_matrix", 9));
  GLINT_RETURN_IF_ERROR(SetIntrinsics(source, "camera_matrix", k, &eye.camera));
  if (width != 0 || height != 0) {
    GLINT_ASSIGN_OR_RETURN(eye.camera.image, ImageSize(source, "image_width", width, height));
  }
  constexpr char kLens[] = "distortion_coefficients", kModel[] = "distortion_model";
  std::vector<double> d;  // none: a depth camera's, whose images are rectified
  if (root.Find(kLens) != nullptr) {
    GLINT_ASSIGN_OR_RETURN(d, Numbers(source, root, kLens, 0));
  }
  GLINT_RETURN_IF_ERROR(SetNamedLens(source, kModel, Text(root, kModel), kLens, RtabmapFisheye(d), &eye.camera));
  if (root.Find("projection_matrix") == nullptr) return eye;
  GLINT_ASSIGN_OR_RETURN(const auto p, Numbers(source, root, "projection_matrix", 12));
  GLINT_ASSIGN_OR_RETURN(const auto r, Numbers(source, root, "rectification_matrix", 9));
  if (std::all_of(p.begin(), p.end(), [](double v) { return v == 0; })) return eye;
  GLINT_RETURN_IF_ERROR(SetRectification(source, "rectification_matrix", r, "projection_matrix", p, &eye));
  return eye;
}

// Of the pose's file if there is one, else of the rectification.
absl::Status RelateRtabmapPair(const Source* pose, const Source& last, Calibration* calibration) {
  RigCamera& left = calibration->rig.cameras[0];
  RigCamera& right = calibration->rig.cameras[1];
  RigidTransform of_rectification;
  const bool is_rectified = left.projection.has_value() && right.projection.has_value();
  if (is_rectified) of_rectification = RightFromLeft(left, right);
  const bool tells = of_rectification.translation.norm() > 0;
  RigidTransform right_from_left = of_rectification;
  if (pose != nullptr) {
    GLINT_ASSIGN_OR_RETURN(const auto r, Numbers(*pose, pose->root, "rotation_matrix", 9));
    GLINT_ASSIGN_OR_RETURN(const auto t, Numbers(*pose, pose->root, "translation_matrix", 3));
    GLINT_ASSIGN_OR_RETURN(right_from_left, Transform(*pose, "rotation_matrix", r, Eigen::Vector3d(t.data())));
    if (tells && Differ(right_from_left, of_rectification)) {
      calibration->warnings.push_back(FieldWarning(
          last, "projection_matrix",
          absl::StrCat("the rectification differs from the transform of ", pose->path, ", which is taken")));
    }
  } else if (!tells) {
    return FieldError(last, "projection_matrix", "has no translation: name NAME_pose.yaml too");
  }
  right.rig_from_camera = right_from_left.Inverse();
  return absl::OkStatus();
}

absl::StatusOr<Calibration> ReadRtabmap(absl::Span<const Source> sources, const ReadOptions& /*options*/) {
  const Source* pose = nullptr;
  std::vector<const Source*> files;
  for (const Source& source : sources) {
    if (IsRtabmapPose(source)) {
      pose = &source;
    } else {
      files.push_back(&source);
    }
  }
  if (files.empty())
    return FieldError(*pose, "camera_matrix", "is missing: name NAME_left.yaml and NAME_right.yaml too");
  if (files.size() > 2) {
    return absl::InvalidArgumentError(absl::StrCat(files[2]->path, ": a third camera: name left and right"));
  }
  Calibration calibration;
  calibration.file_for_each = true;
  Rig& rig = calibration.rig;
  const auto is = [&](size_t i, const char* side) { return absl::EndsWith(Text(files[i]->root, "camera_name"), side); };
  if (files.size() == 2 && is(0, "right") && is(1, "left")) {
    calibration.warnings.push_back(
        FieldWarning(*files[0], "camera_name", "is the right camera: the other file's, the left one, comes first"));
    std::swap(files[0], files[1]);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    const char* name = files.size() == 1 ? "camera" : i == 0 ? "left" : "right";
    GLINT_ASSIGN_OR_RETURN(const RigCamera camera, RtabmapCamera(*files[i], name));
    rig.cameras.push_back(camera);
  }
  if (files.size() == 2) GLINT_RETURN_IF_ERROR(RelateRtabmapPair(pose, *files[1], &calibration));
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kRtabmap = {"rtabmap", "rtabmap camera", IsRtabmap, ReadRtabmap, nullptr};

}  // namespace glint::calibration
