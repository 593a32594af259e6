// Rigid corrections. Plain values: thread-safe.
#ifndef GLINT_SLAM_GEOMETRY_POSE_H_
#define GLINT_SLAM_GEOMETRY_POSE_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>

#include "features/trigonometry.h"

namespace glint::slam {

// a_from_b: takes a point's coordinates in frame b to those in frame a.
struct Pose {
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();  // of length 1
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();         // metres

  Eigen::Vector3d operator*(const Eigen::Vector3d& point) const { return rotation * point + translation; }
  Pose operator*(const Pose& b) const {
    return {(rotation * b.rotation).normalized(), rotation * b.translation + translation};
  }
  Pose Inverse() const { return {rotation.conjugate(), rotation.conjugate() * -translation}; }
};

// The matrix that multiplies a vector from the left as a cross product with `v` does.
inline Eigen::Matrix3d CrossMatrix(const Eigen::Vector3d& v) {
  Eigen::Matrix3d m;
  m << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return m;
}

// Takes a left increment (rotation, translation) of a pose b_from_c to that of a_from_b * b_from_c.
inline Eigen::Matrix<double, 6, 6> AdjointOf(const Pose& a_from_b) {
  const Eigen::Matrix3d rotation = a_from_b.rotation.toRotationMatrix();
  Eigen::Matrix<double, 6, 6> adjoint = Eigen::Matrix<double, 6, 6>::Zero();
  adjoint.topLeftCorner<3, 3>() = adjoint.bottomRightCorner<3, 3>() = rotation;
  for (Eigen::Index i = 0; i < 3; ++i) adjoint.block<3, 1>(3, i) = a_from_b.translation.cross(rotation.col(i));
  return adjoint;
}

// The rotation about `axis` by its length, radians.
inline Eigen::Quaterniond RotationOf(const Eigen::Vector3d& axis) {
  const double angle = axis.norm();
  // sin(x/2)/x near 0 is 1/2 - x^2/48: exact in doubles below this angle.
  const SineCosine half = SineCosineOf(angle / 2);
  const double scale = angle < 1e-4 ? 0.5 - angle * angle / 48 : half.sine / angle;
  return Eigen::Quaterniond(half.cosine, scale * axis.x(), scale * axis.y(), scale * axis.z()).normalized();
}

// The angle of a rotation, 0..pi radians.
inline double AngleOf(const Eigen::Quaterniond& q) { return 2 * AngleOfPoint(q.vec().norm(), std::abs(q.w())); }

}  // namespace glint::slam

#endif  // GLINT_SLAM_GEOMETRY_POSE_H_
