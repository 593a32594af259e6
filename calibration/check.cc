#include "calibration/check.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibration/check_camera.h"
#include "calibration/other_lenses.h"
#include "features/camera/camera.h"
#include "features/camera/rectification.h"

namespace glint::calibration {
namespace {

using Eigen::Vector3d;

constexpr double kDegrees = 57.29577951308232;
constexpr double kNearestBaseline = 0.005, kWidestBaseline = 2;  // metres
constexpr double kPairAngle = 60, kRollAngle = 75;               // degrees between cameras of a stereo pair

bool IsPlausible(double baseline) { return baseline >= kNearestBaseline && baseline <= kWidestBaseline; }

class Checker {
 public:
  Checker(const Calibration& calibration, const Shape& image) : calibration_(calibration), image_(image) {}

  std::vector<Finding> Run() {
    const Rig& rig = calibration_.rig;
    for (const RigCamera& camera : rig.cameras) {
      CheckCamera(camera, image_, calibration_.format == "edex", &findings_);
    }
    if (rig.cameras.size() >= 2) CheckPair(rig.cameras[0], rig.cameras[1]);
    if (rig.imu.has_value() && !rig.cameras.empty()) CheckImu(rig.cameras[0], *rig.imu);
    return std::move(findings_);
  }

 private:
  using Severity = Finding::Severity;
  void Error(std::string text) { findings_.push_back({Severity::kError, std::move(text)}); }
  void Warn(std::string text) { findings_.push_back({Severity::kWarning, std::move(text)}); }

  Shape ShapeOf(const Camera& camera) const { return KnownShape(camera, image_); }

  void CheckPair(const RigCamera& left, const RigCamera& right) {
    const RigidTransform left_from_right = left.rig_from_camera.Inverse() * right.rig_from_camera;
    const std::string pair = absl::StrCat(left.name, ", ", right.name);
    const double apart = kDegrees * std::acos(std::clamp(left_from_right.rotation(2, 2), -1.0, 1.0));
    if (apart > kPairAngle) {  // of more cameras others may be pairs
      if (calibration_.rig.cameras.size() == 2) {
        Warn(absl::StrFormat("%s: look apart by %.0f degrees: no stereo pair, which ends at %g", pair, apart,
                             kPairAngle));
      }
      return;
    }
    const Vector3d& at = left_from_right.translation;
    const double baseline = at.norm();
    if (baseline < 1e-9) return NoBaseline(pair, left, right);
    CheckBaseline(pair, baseline, left.camera.fx);
    const double angle = kDegrees * Eigen::AngleAxisd(left_from_right.rotation).angle();
    if (angle > kRollAngle) {
      Warn(
          absl::StrFormat("%s: one is rolled by %.0f degrees against the other: turn its images, or the rotation is of "
                          "another convention",
                          pair, angle));
    }
    const bool is_aside = CheckSide(pair, left, right, at);
    CheckProjections(pair, left, right, left_from_right);
    CheckLenses(pair, left.camera, right.camera);
    if (is_aside && findings_.empty() && !calibration_.rectified) CheckRectification(pair, left, right);
  }

  void NoBaseline(const std::string& pair, const RigCamera& left, const RigCamera& right) {
    const Camera &a = left.camera, &b = right.camera;
    const bool same = a.fx == b.fx && a.fy == b.fy && a.cx == b.cx && a.cy == b.cy && a.lens == b.lens;
    if (same) {
      Error(absl::StrCat(pair,
                         ": are identical, without a distance between them: the same camera's file twice? Give "
                         "the right one's, with its pose or its P"));
    } else {
      Error(absl::StrCat(pair,
                         ": have no distance between them: the file has no pose of one to the other; calibrate "
                         "them together"));
    }
  }

  void CheckBaseline(const std::string& pair, double baseline, double f) {
    if (IsPlausible(baseline)) return;
    std::vector<std::string> likely;
    const auto add = [&](double metres, absl::string_view what) {
      if (IsPlausible(metres)) likely.push_back(absl::StrFormat("%s (%.4g m)", what, metres));
    };
    if (baseline > kWidestBaseline) {
      if (baseline >= 20) add(baseline / 1000, "millimetres");
      if (baseline <= 50) add(baseline / 100, "centimetres");
      add(baseline / f, "the focal length times the baseline");
    } else {
      add(baseline * f, "the baseline given where the focal length times the baseline is wanted");
      add(baseline * 1000, "kilometres, or divided by 1000 once too often");
    }
    std::string text = absl::StrFormat("%s: a baseline of %.4g m is not 0.005 to 2 m", pair, baseline);
    for (size_t i = 0; i < likely.size(); ++i) absl::StrAppend(&text, i == 0 ? ": probably " : ", or ", likely[i]);
    if (calibration_.unit_is_unknown) absl::StrAppend(&text, "; the file does not say its unit");
    Warn(text + "; write it in the unit of the format");
  }

  // Whether the right camera lies to the right. `at`: of it in the left one's frame.
  bool CheckSide(const std::string& pair, const RigCamera& left, const RigCamera& right, const Vector3d& at) {
    Eigen::Index axis = 0;
    at.cwiseAbs().maxCoeff(&axis);
    if (axis == 0 && at.x() > 0) return true;
    const RigidTransform inverted = left.rig_from_camera * right.rig_from_camera.Inverse();
    Eigen::Index inverted_axis = 0;
    inverted.translation.cwiseAbs().maxCoeff(&inverted_axis);
    const bool inverse_fits = inverted_axis == 0 && inverted.translation.x() > 0;
    if (axis == 0) {
      Error(
          absl::StrFormat("%s: %s is %.4g m to the left of %s: they are exchanged (--cameras %s,%s, or the files in "
                          "the other order), or the pose is the inverse of what this format wants",
                          pair, right.name, -at.x(), left.name, right.name, left.name));
    } else if (inverse_fits) {
      Error(
          absl::StrFormat("%s: %s is %s %s, but to its right if their poses are inverted: they are probably given "
                          "the wrong way (body from camera, camera from body)",
                          pair, right.name, axis == 1 ? "above or below" : "before or behind", left.name));
    } else {
      Warn(absl::StrFormat("%s: %s is %.4g m %s %s: not side by side, which a stereo pair has to be", pair, right.name,
                           std::abs(at[axis]), axis == 1 ? (at.y() < 0 ? "above" : "below") : "before or behind",
                           left.name));
    }
    return false;
  }

  // Two cameras of one make, of which one has a lens and the other none.
  void CheckLenses(const std::string& pair, const Camera& left, const Camera& right) {
    const auto has_none = [](const Camera& camera) { return camera.model == CameraModel::kPinhole; };
    if (has_none(left) == has_none(right) || !(left.image == right.image)) return;
    if (std::abs(left.fx - right.fx) > 0.05 * left.fx) return;
    Warn(absl::StrFormat("%s: the %s one has no distortion, and the other has %s: the coefficients of one are missing",
                         pair, has_none(left) ? "left" : "right", LensText(has_none(left) ? right : left)));
  }

  // As a server would make rectified images of raw ones, unless something else is wrong, which may be the reason.
  void CheckRectification(const std::string& pair, const RigCamera& left, const RigCamera& right) {
    const Camera a = WithSize(left.camera, ShapeOf(left.camera)), b = WithSize(right.camera, ShapeOf(right.camera));
    if (ShapeOf(left.camera).width <= 0 || !ValidateCamera(a).ok() || !ValidateCamera(b).ok()) return;
    const auto rectified = RectifyPair(a, b, right.rig_from_camera.Inverse() * left.rig_from_camera, {});
    if (rectified.ok()) return;
    Warn(absl::StrCat(pair, ": raw images of them cannot be rectified: ", rectified.status().message()));
  }

  // Rotation and projection of the rectified images against the cameras' poses.
  void CheckProjections(const std::string& pair, const RigCamera& left, const RigCamera& right,
                        const RigidTransform& left_from_right) {
    if (left.projection.has_value() && right.projection.has_value()) {
      const auto &p = *left.projection, &q = *right.projection;
      if (std::abs(p(0, 0) - q(0, 0)) > 0.002 * std::abs(p(0, 0))) {
        Error(absl::StrFormat("%s: the projections have focal lengths of %.6g and %.6g: not of one rectified pair",
                              pair, p(0, 0), q(0, 0)));
      }
      const double projected = (p(0, 3) - q(0, 3)) / p(0, 0), baseline = left_from_right.translation.norm();
      if (projected != 0 && std::abs(std::abs(projected) - baseline) > 0.05 * baseline) {
        Warn(
            absl::StrFormat("%s: the projections say a baseline of %.4g, and the poses %.4g m: one of them is in "
                            "another unit, or of another calibration",
                            pair, projected, baseline));
      }
    }
    if (!left.rectified_from_camera.has_value() || !right.rectified_from_camera.has_value()) return;
    const Vector3d along = (*left.rectified_from_camera * left_from_right.translation).normalized();
    const double angle = kDegrees * std::acos(std::min(1.0, std::abs(along.x())));
    if (angle > 3) {
      Error(
          absl::StrFormat("%s: the rotation to rectified images leaves the baseline %.1f degrees from their rows: it "
                          "is the inverse, or of another calibration",
                          pair, angle));
    }
  }

  void CheckImu(const RigCamera& camera, const RigImu& imu) {
    const double distance = (camera.rig_from_camera.translation - imu.rig_from_imu.translation).norm();
    if (distance > 5) {
      Warn(absl::StrFormat("imu: is %.4g m from %s: millimetres or centimetres for metres?", distance, camera.name));
    }
    const RigidTransform camera_from_imu = camera.rig_from_camera.Inverse() * imu.rig_from_imu;
    if (distance == 0 && camera_from_imu.rotation.isIdentity(0)) {
      Warn(absl::StrCat("imu: has place and axes of ", camera.name, ": a pose that was filled in, not calibrated?"));
    }
    if (std::abs(imu.imu_time_minus_camera_time) > 1) {
      Warn(absl::StrFormat("imu: its clock is %.4g s from the images': milliseconds or nanoseconds for seconds?",
                           imu.imu_time_minus_camera_time));
    }
  }

  const Calibration& calibration_;
  const Shape image_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> Check(const Calibration& calibration, const Shape& image) {
  return Checker(calibration, image).Run();
}

}  // namespace glint::calibration
