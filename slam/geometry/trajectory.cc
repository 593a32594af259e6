#include "slam/geometry/trajectory.h"

#include <Eigen/Geometry>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/error.h"

namespace glint::slam {
namespace {

Eigen::Matrix3Xd PositionsOf(const std::vector<Pose>& path) {
  Eigen::Matrix3Xd positions(3, static_cast<Eigen::Index>(path.size()));
  for (size_t i = 0; i < path.size(); ++i) positions.col(static_cast<Eigen::Index>(i)) = path[i].translation;
  return positions;
}

}  // namespace

PathErrors ComparePaths(const std::vector<Pose>& path, const std::vector<Pose>& truth) {
  PathErrors errors;
  const size_t last = truth.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    errors.length += (truth[i + 1].translation - truth[i].translation).norm();
    const Pose step = path[i].Inverse() * path[i + 1];
    const Pose true_step = truth[i].Inverse() * truth[i + 1];
    const Pose difference = true_step.Inverse() * step;
    errors.relative += difference.translation.squaredNorm();
    errors.relative_angle += std::pow(AngleOf(difference.rotation), 2);
  }
  errors.relative = std::sqrt(errors.relative / static_cast<double>(last));
  errors.relative_angle = std::sqrt(errors.relative_angle / static_cast<double>(last));
  errors.end = ((path[0].Inverse() * path[last]).translation - (truth[0].Inverse() * truth[last]).translation).norm();
  const Eigen::Matrix3Xd from = PositionsOf(path);
  const Eigen::Matrix3Xd to = PositionsOf(truth);
  const Eigen::Matrix4d motion = Eigen::umeyama(from, to, false);
  const Eigen::Matrix3Xd left = ((motion.topLeftCorner<3, 3>() * from).colwise() + motion.topRightCorner<3, 1>()) - to;
  errors.absolute = std::sqrt(left.squaredNorm() / static_cast<double>(path.size()));
  return errors;
}

absl::StatusOr<std::vector<Pose>> ReadKittiPoses(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat(Echo(path), ": cannot be read"));
  std::vector<Pose> poses;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream values(line);
    Eigen::Matrix<double, 3, 4, Eigen::RowMajor> matrix;
    for (int i = 0; i < 12; ++i) values >> matrix.data()[i];
    const Eigen::Matrix3d rotation = matrix.leftCols<3>();
    std::string rest;
    if (!values || values >> rest || !matrix.allFinite() || !rotation.isUnitary(1e-3)) {
      return absl::InvalidArgumentError(
          absl::StrCat(Echo(path), ": line ", number, " is not 12 numbers of a rotation and a position"));
    }
    poses.push_back({Eigen::Quaterniond(rotation).normalized(), matrix.col(3)});
  }
  return poses;
}

std::string KittiLine(const Pose& pose) {
  const Eigen::Matrix3d r = pose.rotation.toRotationMatrix();
  const Eigen::Vector3d& t = pose.translation;
  return absl::StrFormat("%.9e %.9e %.9e %.9e %.9e %.9e %.9e %.9e %.9e %.9e %.9e %.9e\n", r(0, 0), r(0, 1), r(0, 2),
                         t(0), r(1, 0), r(1, 1), r(1, 2), t(1), r(2, 0), r(2, 1), r(2, 2), t(2));
}

}  // namespace glint::slam
