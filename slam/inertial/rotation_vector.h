// Rotation vectors: the logarithm of rotations and its derivatives; RotationOf() is the exponential. Pure: thread-safe.
// Formulas: Forster et al. (2017), section III-A.
#ifndef GLINT_SLAM_INERTIAL_ROTATION_VECTOR_H_
#define GLINT_SLAM_INERTIAL_ROTATION_VECTOR_H_

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "features/trigonometry.h"
#include "slam/geometry/pose.h"

namespace glint::slam {

// Axis times angle, 0..pi radians, of a rotation.
inline Eigen::Vector3d RotationVectorOf(const Eigen::Quaterniond& q) {
  const double sign = q.w() < 0 ? -1 : 1;
  const double w = sign * q.w();
  const double sine = q.vec().norm();
  // atan(x)/x near 0 is 1 - x^2/3: exact in doubles below this sine.
  const double scale = sine < 1e-4 ? 2 / w * (1 - sine * sine / (3 * w * w)) : 2 * AngleOfPoint(sine, w) / sine;
  return sign * scale * q.vec();
}

// J of RotationOf(v + d) = RotationOf(v) RotationOf(J d), to first order in d.
inline Eigen::Matrix3d RightJacobian(const Eigen::Vector3d& v) {
  const double angle = v.norm();
  const double half_sine = SineCosineOf(angle / 2).sine;
  const double first = angle < 1e-3 ? 0.5 - angle * angle / 24 : 2 * half_sine * half_sine / (angle * angle);
  const double second =
      angle < 1e-3 ? 1. / 6 - angle * angle / 120 : (angle - SineCosineOf(angle).sine) / (angle * angle * angle);
  const Eigen::Matrix3d cross = CrossMatrix(v);
  return Eigen::Matrix3d::Identity() - first * cross + second * cross * cross;
}

// Its inverse; `v` is shorter than 2 pi.
inline Eigen::Matrix3d InverseRightJacobian(const Eigen::Vector3d& v) {
  const double angle = v.norm();
  const SineCosine half = SineCosineOf(angle / 2);
  const double second =
      angle < 1e-3 ? 1. / 12 + angle * angle / 720 : 1 / (angle * angle) - half.cosine / (2 * angle * half.sine);
  const Eigen::Matrix3d cross = CrossMatrix(v);
  return Eigen::Matrix3d::Identity() + 0.5 * cross + second * cross * cross;
}

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_ROTATION_VECTOR_H_
