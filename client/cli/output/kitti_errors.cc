#include "client/cli/output/kitti_errors.h"

#include <cmath>
#include <optional>

#include "absl/strings/str_format.h"
#include "slam/geometry/trajectory.h"

namespace glint::cli {

namespace {

constexpr double kDegrees = 57.29577951308232;

std::vector<slam::Pose> ToPoses(const std::vector<client::CameraPose>& path) {
  std::vector<slam::Pose> poses;
  poses.reserve(path.size());
  for (const client::CameraPose& p : path) {
    poses.push_back({Eigen::Quaterniond(p.rotation[3], p.rotation[0], p.rotation[1], p.rotation[2]).normalized(),
                     {p.position[0], p.position[1], p.position[2]}});
  }
  return poses;
}

struct KittiErrors {
  double translation = 0;  // metres a metre
  double rotation = 0;     // radians a metre
};

// As KITTI's odometry development kit (evaluate_odometry.cpp) defines them: from every tenth pose, over each of eight
// lengths of the true path, the pose that first exceeds it; the motion's error by that length; the mean of all.
std::optional<KittiErrors> ErrorsOfKitti(const std::vector<slam::Pose>& path, const std::vector<slam::Pose>& truth) {
  constexpr size_t kStep = 10;
  constexpr double kLengthStep = 100;  // metres: the shortest length
  constexpr int kLengths = 8;
  std::vector<double> travelled(truth.size(), 0);
  for (size_t i = 1; i < truth.size(); ++i) {
    travelled[i] = travelled[i - 1] + (truth[i].translation - truth[i - 1].translation).norm();
  }
  KittiErrors sum;
  int count = 0;
  for (size_t first = 0; first < truth.size(); first += kStep) {
    size_t last = first;
    for (int i = 1; i <= kLengths; ++i) {
      const double length = kLengthStep * i;
      while (last < truth.size() && travelled[last] <= travelled[first] + length) ++last;
      if (last == truth.size()) break;
      const slam::Pose expected = truth[first].Inverse() * truth[last];
      const slam::Pose error = (path[first].Inverse() * path[last]).Inverse() * expected;
      sum.translation += error.translation.norm() / length;
      sum.rotation += slam::AngleOf(error.rotation) / length;
      ++count;
    }
  }
  if (count == 0) return std::nullopt;
  return KittiErrors{sum.translation / count, sum.rotation / count};
}

}  // namespace

std::string ReportErrors(const std::vector<client::CameraPose>& path, const std::vector<client::CameraPose>& truth,
                         const std::string& compared) {
  const std::vector<slam::Pose> found = ToPoses(path), expected = ToPoses(truth);
  const slam::PathErrors e = slam::ComparePaths(found, expected);
  std::string report = absl::StrFormat(
      "truth: %d poses, %.1f m\ncompared: %s\nend: %.3f m, %.2f %%\nATE: %.3f m\n"
      "RPE of neighbours: %.4f m, %.4f degrees\n",
      found.size(), e.length, compared, e.end, e.length > 0 ? 100 * e.end / e.length : 0, e.absolute, e.relative,
      kDegrees * e.relative_angle);
  if (const auto kitti = ErrorsOfKitti(found, expected); kitti.has_value()) {
    absl::StrAppendFormat(&report, "KITTI, 100 to 800 m: t_rel %.3f %%, r_rel %.4f degrees in 100 m\n",
                          100 * kitti->translation, 100 * kDegrees * kitti->rotation);
  } else {
    report += "KITTI: none, no part of the drive has the 100 m that t_rel and r_rel are defined for\n";
  }
  return report;
}

}  // namespace glint::cli
