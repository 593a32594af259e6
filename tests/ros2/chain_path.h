// A camera on a base that goes round a curve at an even pace, and what Glint says of it.
#ifndef GLINT_TESTS_ROS2_CHAIN_PATH_H_
#define GLINT_TESTS_ROS2_CHAIN_PATH_H_

#include <Eigen/Geometry>
#include <array>
#include <cstdint>

#include "proto/location.h"

namespace glint::ros2 {

inline constexpr int64_t kPeriodNs = 50'000'000;

inline Eigen::Isometry3d Transform(const Eigen::Vector3d& turn, const Eigen::Vector3d& position) {
  Eigen::Isometry3d made = Eigen::Isometry3d::Identity();
  if (turn.norm() > 0) made.linear() = Eigen::AngleAxisd(turn.norm(), turn.normalized()).toRotationMatrix();
  made.translation() = position;
  return made;
}

// Ahead, a bit to the side and down, with some tilt.
inline Eigen::Isometry3d SomeMounting() {
  Eigen::Isometry3d optical = Eigen::Isometry3d::Identity();
  optical.linear() << 0, 0, 1, -1, 0, 0, 0, -1, 0;
  return Transform({0.1, 0.2, -0.3}, {0.4, -0.2, 0.9}) * optical;
}

// Where the base is after `seconds`, from where it was at 0: it turns by `turn` and goes by `pace` a second, both in
// its own axes. By Simpson's rule, exact to 1e-11 for a turn of a radian, which knows no formula of arcs.
inline Eigen::Isometry3d OnCurve(const Eigen::Vector3d& turn, const Eigen::Vector3d& pace, double seconds) {
  constexpr int kSteps = 64;
  const auto rotation = [&](double step) -> Eigen::Matrix3d {
    return Transform(turn * (seconds * step / kSteps), {0, 0, 0}).linear();
  };
  Eigen::Isometry3d at = Transform(turn * seconds, {0, 0, 0});
  for (int i = 0; i < kSteps; ++i) {
    const Eigen::Matrix3d mean = (rotation(i) + 4 * rotation(i + 0.5) + rotation(i + 1)) / 6;
    at.translation() += mean * pace * (seconds / kSteps);
  }
  return at;
}

inline Location LocationAt(const Eigen::Isometry3d& world_from_camera, LocationStatus status, int map_id = 0) {
  Location location;
  location.status = status;
  location.map_id = map_id;
  Eigen::Quaterniond q(world_from_camera.linear());
  if (q.w() < 0) q.coeffs() = -q.coeffs();
  const Eigen::Vector3d p = world_from_camera.translation();
  location.pose = {{q.x(), q.y(), q.z(), q.w()}, {p.x(), p.y(), p.z()}};
  return location;
}

// The upper triangle, by rows.
inline std::array<double, 21> UpperOf(const Eigen::Matrix<double, 6, 6>& covariance) {
  std::array<double, 21> values;
  size_t at = 0;
  for (int row = 0; row < 6; ++row) {
    for (int column = row; column < 6; ++column) values[at++] = covariance(row, column);
  }
  return values;
}

}  // namespace glint::ros2

#endif  // GLINT_TESTS_ROS2_CHAIN_PATH_H_
