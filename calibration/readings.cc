#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "calibration/check.h"
#include "calibration/other_lenses.h"
#include "features/camera/camera.h"

namespace glint::calibration {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr size_t kFewestMatches = 16;
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Pair {
  Camera left, right;
  RigidTransform right_from_left;
};

// Pixels a radian at the centre, where the lens is straight.
double FocalLength(const Camera& camera) {
  Vector2d pixel;
  PixelByPoint by_point;
  return Project(camera, Vector3d::UnitZ(), &pixel, &by_point) ? by_point(0, 0) : camera.fx;
}

// Sampson's distance of rays to the epipolar geometry, on the unit sphere: radians. `t` is a unit vector.
double Sampson(const RigidTransform& right_from_left, const Vector3d& t, const Vector3d& left, const Vector3d& right) {
  const Vector3d in_right = t.cross(right_from_left.rotation * left), in_left = t.cross(right);
  const double error = right.dot(in_right);
  const double slope = in_right.squaredNorm() + in_left.squaredNorm() - 2 * error * error;
  return slope > 0 ? std::abs(error) / std::sqrt(slope) : 0;
}

// Whether the rays meet in front of both cameras: of `left` turned to the right camera.
bool MeetInFront(const Vector3d& t, const Vector3d& left, const Vector3d& right) {
  const Vector3d across = left.cross(right);
  return t.cross(right).dot(across) < 0 && t.cross(left).dot(across) < 0;
}

Reading Measure(std::string name, const Pair& pair, absl::Span<const MatchedPixels> matches) {
  Reading reading = {std::move(name), kNever, 0};
  const Vector3d t = pair.right_from_left.translation.normalized();
  const double f = (FocalLength(pair.left) + FocalLength(pair.right)) / 2;
  std::vector<double> errors;
  int apart = 0, in_front = 0;
  for (const MatchedPixels& match : matches) {
    Vector3d left, right;
    if (!Unproject(pair.left, match.left, &left) || !Unproject(pair.right, match.right, &right)) continue;
    errors.push_back(f * Sampson(pair.right_from_left, t, left, right));
    const Vector3d turned = pair.right_from_left.rotation * left;
    if (f * turned.cross(right).norm() < 1) continue;
    ++apart;
    in_front += MeetInFront(t, turned, right) ? 1 : 0;
  }
  if (errors.size() * 2 < matches.size() || !(t.norm() > 0.5)) return reading;
  const auto median = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), median, errors.end());
  reading.median_error = *median;
  reading.in_front = apart > 0 ? static_cast<double>(in_front) / apart : 1;
  return reading;
}

// As if the images were rectified already.
Pair Rectified(const RigCamera& left, const RigCamera& right, const Pair& pair) {
  const auto pinhole = [](const RigCamera& from) {
    Camera camera = from.camera;
    camera.model = CameraModel::kPinhole;
    camera.lens = {};
    if (!from.projection.has_value()) return camera;
    const auto& p = *from.projection;
    camera.fx = p(0, 0), camera.fy = p(1, 1), camera.cx = p(0, 2), camera.cy = p(1, 2);
    return camera;
  };
  Pair rectified = {pinhole(left), pinhole(right), {}};
  if (!right.projection.has_value()) rectified.right = rectified.left;
  rectified.right_from_left.translation = {pair.right_from_left.translation.x() > 0 ? 1.0 : -1.0, 0, 0};
  return rectified;
}

}  // namespace

std::vector<Reading> ReadByMatches(const Calibration& calibration, absl::Span<const MatchedPixels> matches) {
  if (calibration.rig.cameras.size() < 2 || matches.size() < kFewestMatches) return {};
  const RigCamera &left = calibration.rig.cameras[0], &right = calibration.rig.cameras[1];
  const RigidTransform right_from_left = right.rig_from_camera.Inverse() * left.rig_from_camera;
  const Pair pair = {left.camera, right.camera, right_from_left};
  std::vector<Reading> readings;
  const auto add = [&](std::string name, const Pair& read) {
    readings.push_back(Measure(std::move(name), read, matches));
  };
  add("as it stands", pair);
  if (!calibration.rectified) add("images that are rectified already", Rectified(left, right, pair));
  add(absl::StrCat("the pose of ", right.name, " to ", left.name, " inverted"),
      {left.camera, right.camera, right_from_left.Inverse()});
  if (!left.rig_from_camera.rotation.isIdentity(1e-9)) {
    add("the poses of both cameras inverted",
        {left.camera, right.camera, right.rig_from_camera * left.rig_from_camera.Inverse()});
  }
  add("the cameras exchanged", {right.camera, left.camera, right_from_left.Inverse()});
  const bool of_cuvslam = calibration.format == "edex";
  const auto lefts = OtherLenses(left.camera, of_cuvslam), rights = OtherLenses(right.camera, of_cuvslam);
  for (size_t i = 0; i < std::min(lefts.size(), rights.size()); ++i) {
    if (lefts[i].name == rights[i].name) add(lefts[i].name, {lefts[i].camera, rights[i].camera, right_from_left});
  }
  return readings;
}

std::vector<Finding> Judge(absl::Span<const Reading> readings) {
  if (readings.empty()) return {};
  const Reading& as_it_stands = readings.front();
  const bool lies_behind = as_it_stands.in_front < 0.3;
  double best = kNever;
  const auto can_be = [](const Reading& reading) { return reading.in_front >= 0.7; };
  for (const Reading& other : readings.subspan(1)) {
    if (can_be(other)) best = std::min(best, other.median_error);
  }
  const bool is_better =
      best < 1 && (lies_behind || (best < as_it_stands.median_error / 2 && as_it_stands.median_error > 0.5));
  const std::string found =
      absl::StrFormat("images: the median error of matches to the epipolar lines is %.2f px as it stands%s",
                      as_it_stands.median_error, lies_behind ? ", with the points behind the cameras" : "");
  if (is_better) {
    std::vector<std::string> names;
    for (const Reading& other : readings.subspan(1)) {
      if (can_be(other) && other.median_error <= 1.1 * best + 0.02) names.push_back(other.name);
    }
    std::string text = absl::StrFormat("%s, and %.2f px with ", found, best);
    for (size_t i = 0; i < names.size(); ++i) absl::StrAppend(&text, i == 0 ? "" : ", or ", names[i]);
    return {{Finding::Severity::kError, text + ": mend the calibration accordingly"}};
  }
  if (as_it_stands.median_error <= 3 && !lies_behind) return {};
  return {{Finding::Severity::kWarning,
           absl::StrCat(found,
                        ", and no other reading agrees: the calibration is of another camera, image size or "
                        "focus, or the images are not of one moment")}};
}

}  // namespace glint::calibration
