#include "calibration/check.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibration/other_lenses.h"
#include "features/camera/camera.h"

namespace glint::calibration {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kDegrees = 57.29577951308232;
constexpr double kNearestBaseline = 0.005, kWidestBaseline = 2;  // metres
constexpr double kPairAngle = 60, kRollAngle = 75;               // degrees between cameras of a stereo pair
constexpr double kMostAspect = 1.25;                             // of pixels, 720x576 of old video included
constexpr double kLargeTangential = 0.02, kUsualTangential = 0.01, kHopelessTangential = 0.1;

bool IsPlausible(double baseline) { return baseline >= kNearestBaseline && baseline <= kWidestBaseline; }

class Checker {
 public:
  Checker(const Calibration& calibration, const Shape& image) : calibration_(calibration), image_(image) {}

  std::vector<Finding> Run() {
    const Rig& rig = calibration_.rig;
    for (const RigCamera& camera : rig.cameras) CheckCamera(camera);
    if (rig.cameras.size() >= 2) CheckPair(rig.cameras[0], rig.cameras[1]);
    if (rig.imu.has_value() && !rig.cameras.empty()) CheckImu(rig.cameras[0], *rig.imu);
    return std::move(findings_);
  }

 private:
  using Severity = Finding::Severity;
  void Error(std::string text) { findings_.push_back({Severity::kError, std::move(text)}); }
  void Warn(std::string text) { findings_.push_back({Severity::kWarning, std::move(text)}); }

  // The image's size, as far as it is known: the file's, else the images'.
  Shape ShapeOf(const Camera& camera) const { return camera.image.width > 0 ? camera.image : image_; }

  void CheckCamera(const RigCamera& rig_camera) {
    const std::string& name = rig_camera.name;
    const Camera& camera = rig_camera.camera;
    for (const auto& [field, f] : {std::pair("fx", camera.fx), std::pair("fy", camera.fy)}) {
      if (f > 0) continue;
      Error(absl::StrFormat("%s: %s %g is not above 0: this is no result of a calibration; calibrate again", name,
                            field, f));
      return;
    }
    CheckFocalLengths(name, camera);
    if (!CheckSize(name, camera)) return;
    CheckCentre(name, camera);
    CheckLens(name, camera);
  }

  void CheckFocalLengths(const std::string& name, const Camera& camera) {
    const int width = ShapeOf(camera).width;
    if (width > 0 && (camera.fx < 0.1 * width || camera.fx > 10 * width)) {
      Error(absl::StrFormat("%s: fx %g is not 0.1 to 10 times the width of %d pixels: %s", name, camera.fx, width,
                            camera.fx < 0.1 * width ? "millimetres, or a share of the width? Give pixels"
                                                    : "of another image size? Calibrate again"));
    }
    const double ratio = camera.fx / camera.fy;
    if (ratio > kMostAspect || ratio < 1 / kMostAspect) {
      Warn(absl::StrFormat(
          "%s: fx %g and fy %g differ by over a quarter: pixels that are not square, or a slip in one of "
          "them",
          name, camera.fx, camera.fy));
    }
  }

  // Whether file and images agree, so that more can be said.
  bool CheckSize(const std::string& name, const Camera& camera) {
    const Shape at = camera.image;
    if (at.width <= 0 || image_.width <= 0 || at == image_) return true;
    const double scale = static_cast<double>(image_.width) / at.width;
    const bool scaled = std::abs(scale * at.height - image_.height) <= 1;
    Error(absl::StrFormat("%s: the calibration is of images of %dx%d, and the images have %dx%d: %s", name, at.width,
                          at.height, image_.width, image_.height,
                          scaled ? absl::StrFormat("if they were scaled, multiply fx, fy, cx and cy by %g", scale)
                                 : "calibrate with images of this size"));
    return false;
  }

  void CheckCentre(const std::string& name, const Camera& camera) {
    const Shape at = ShapeOf(camera);
    if (at.width <= 0) return;
    const double x = camera.cx / at.width, y = camera.cy / at.height;  // 0.5: the middle
    const auto off = [](double share) { return std::abs(share - 0.5); };
    const std::string what = absl::StrFormat("%s: the centre (%.6g, %.6g) in an image of %dx%d", name, camera.cx,
                                             camera.cy, at.width, at.height);
    const double exchanged = std::max(off(camera.cx / at.height), off(camera.cy / at.width));
    if (off(x) > 0.1 && off(y) > 0.1 && exchanged < 0.14 && 2 * exchanged < off(x) + off(y)) {
      Warn(what + ": the size was probably written as height, width; exchange the two numbers");
    } else if (std::abs(x - y) < 0.05 * (x + y) && (x < 0.35 || x > 0.7)) {
      Warn(
          absl::StrFormat("%s: these are probably numbers of images of about %.0fx%.0f; multiply fx, fy, cx and cy by "
                          "%.3g",
                          what, 2 * camera.cx, 2 * camera.cy, 0.5 / x));
    } else if (x < 0 || y < 0 || x > 1 || y > 1) {
      Error(what + " lies outside: numbers of another image size, or of another camera");
    } else if (off(x) > 0.25 || off(y) > 0.25) {
      Warn(what + " is far from the middle, as of images that were cut or have another size");
    }
  }

  void CheckLens(const std::string& name, const Camera& camera) {
    const Camera sized = WithSize(camera, ShapeOf(camera));
    const bool is_polynomial = camera.model == CameraModel::kRadialTangential ||
                               camera.model == CameraModel::kRational || camera.model == CameraModel::kThinPrism;
    const double folds = is_polynomial ? 0.9 : 0.5;  // a fisheye's circle may end inside the image
    const bool is_sound = SeesTo(sized, folds) && (!is_polynomial || BendsLittle(sized));
    const std::string lens = absl::StrCat(name, ": ", LensText(camera));
    if (camera.model == CameraModel::kRadialTangential && CheckOrder(lens, sized, is_sound)) return;
    if (is_sound) return;
    std::string text = absl::StrCat(lens, " folds the image or bends it beyond what lenses do");
    Error(absl::StrCat(text,
                       ": no result of a calibration, or coefficients of another model; calibrate again with "
                       "the board in all corners, and with few coefficients"));
  }

  // Whether tangential terms show that the coefficients are in another library's order.
  bool CheckOrder(const std::string& lens, const Camera& camera, bool is_sound) {
    const auto tangential = [](const Camera& c) { return std::max(std::abs(c.lens[2]), std::abs(c.lens[3])); };
    if (tangential(camera) <= kLargeTangential && is_sound) return false;
    const OtherLens other = InOtherOrder(camera, calibration_.format == "edex");
    const bool other_is_usual = tangential(other.camera) < kUsualTangential && other.camera.lens[2] != 0 &&
                                other.camera.lens[3] != 0 && SeesTo(other.camera, 0.9) && BendsLittle(other.camera);
    if (other_is_usual && tangential(camera) > kUsualTangential) {
      Warn(absl::StrCat(lens, ": tangential terms are below 0.01; these are probably ", other.name,
                        ": write them in the order of this format"));
      return true;
    }
    if (tangential(camera) <= kHopelessTangential) return false;
    Error(absl::StrCat(lens,
                       ": tangential terms are below 0.01; these are probably a fisheye's k3 and k4, or "
                       "coefficients in another order than k1 k2 p1 p2 k3"));
    return true;
  }

  void CheckPair(const RigCamera& left, const RigCamera& right) {
    const RigidTransform left_from_right = left.rig_from_camera.Inverse() * right.rig_from_camera;
    if (kDegrees * std::acos(std::clamp(left_from_right.rotation(2, 2), -1.0, 1.0)) > kPairAngle) return;
    const std::string pair = absl::StrCat(left.name, ", ", right.name);
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
    CheckSide(pair, left, right, at);
    CheckProjections(pair, left, right, left_from_right);
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

  // `at`: the right camera in the left one's frame.
  void CheckSide(const std::string& pair, const RigCamera& left, const RigCamera& right, const Vector3d& at) {
    Eigen::Index axis = 0;
    at.cwiseAbs().maxCoeff(&axis);
    if (axis == 0 && at.x() > 0) return;
    const RigidTransform inverted = left.rig_from_camera * right.rig_from_camera.Inverse();
    Eigen::Index inverted_axis = 0;
    inverted.translation.cwiseAbs().maxCoeff(&inverted_axis);
    const bool inverse_fits = inverted_axis == 0 && inverted.translation.x() > 0;
    if (axis == 0) {
      Error(
          absl::StrFormat("%s: %s is %.4g m to the left of %s: they are exchanged (give the files, or the names of "
                          "--cameras, the other way round), or the pose is the inverse of what this format wants",
                          pair, right.name, -at.x(), left.name));
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
