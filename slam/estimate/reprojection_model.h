// Reprojection model of a stereo camera: residuals of observations and their Jacobians. The rotation between the
// cameras is made a matrix once, for many points.
#ifndef GLINT_SLAM_ESTIMATE_REPROJECTION_MODEL_H_
#define GLINT_SLAM_ESTIMATE_REPROJECTION_MODEL_H_

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "slam/estimate/local_map.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

inline constexpr double kNearestPoint = 0.05;  // metres: nearer points are behind or in the camera
inline constexpr double kHuberBound = 2;       // standard deviations; larger residuals count linearly

using Rows23 = Eigen::Matrix<double, 2, 3>;
using Rows43 = Eigen::Matrix<double, 4, 3>;  // left x, left y, disparity, vertical_disparity

// Jacobian of pixel coordinates (focal length * x / z, focal length * y / z) by camera coordinates.
inline Rows23 ProjectionJacobian(double focal_length, const Eigen::Vector3d& p) {
  const double by_z = focal_length / p.z();
  Rows23 j;
  j << by_z, 0, -by_z * p.x() / p.z(),  //
      0, by_z, -by_z * p.y() / p.z();
  return j;
}

// Points are in left camera coordinates, before both cameras. Immutable: thread-safe.
class ReprojectionModel {
 public:
  explicit ReprojectionModel(const StereoCamera& camera)
      : focal_length_(camera.focal_length),
        centre_(camera.centre_x, camera.centre_y),
        baseline_(camera.baseline, 0, 0),
        rig_(RotationOf(camera.rig_rotation).toRotationMatrix()) {}

  Eigen::Vector3d InRightCamera(const Eigen::Vector3d& p) const { return rig_ * (p - baseline_); }

  // Projection minus observation, whitened: left x, left y, disparity, vertical_disparity; the last two are 0 unless
  // observation.is_stereo.
  Eigen::Vector4d Residual(const Eigen::Vector3d& p, const Observation& observation) const {
    const Eigen::Vector2d left = focal_length_ / p.z() * p.head<2>();
    Eigen::Vector4d residual = Eigen::Vector4d::Zero();
    residual.head<2>() = (left + centre_ - observation.pixel.left) / observation.position_sigma;
    if (!observation.is_stereo) return residual;
    const Eigen::Vector3d q = InRightCamera(p);
    const Eigen::Vector2d disparity = left - focal_length_ / q.z() * q.head<2>();
    residual[2] = (disparity.x() - observation.pixel.disparity) / observation.disparity_sigma;
    residual[3] = (disparity.y() - observation.pixel.vertical_disparity) / observation.vertical_disparity_sigma;
    return residual;
  }

  // Jacobian of Residual() by the point.
  Rows43 JacobianByPoint(const Eigen::Vector3d& p, const Observation& observation) const {
    Rows43 j = Rows43::Zero();
    const Rows23 by_left = ProjectionJacobian(focal_length_, p);
    j.topRows<2>() = by_left / observation.position_sigma;
    if (!observation.is_stereo) return j;
    const Rows23 by_both = by_left - ProjectionJacobian(focal_length_, InRightCamera(p)) * rig_;
    j.row(2) = by_both.row(0) / observation.disparity_sigma;
    j.row(3) = by_both.row(1) / observation.vertical_disparity_sigma;
    return j;
  }

  // Jacobian of the disparity in pixels by a left increment of the rig's rotation.
  Eigen::RowVector3d DisparityByExtrinsics(const Eigen::Vector3d& p) const {
    const Eigen::Vector3d q = InRightCamera(p);
    const double by_z = focal_length_ / q.z(), slope = -by_z * q.x() / q.z();
    return {-slope * q.y(), slope * q.x() - by_z * q.z(), by_z * q.y()};
  }

  // Jacobian of the last two of Residual() by a left increment of the rig's rotation; observation.is_stereo.
  Rows23 JacobianByExtrinsics(const Eigen::Vector3d& p, const Observation& observation) const {
    const Eigen::Vector3d q = InRightCamera(p);
    const Rows23 by_rotation = ProjectionJacobian(focal_length_, q) * CrossMatrix(q);
    Rows23 j;
    j.row(0) = by_rotation.row(0) / observation.disparity_sigma;
    j.row(1) = by_rotation.row(1) / observation.vertical_disparity_sigma;
    return j;
  }

 private:
  const double focal_length_;
  const Eigen::Vector2d centre_;
  const Eigen::Vector3d baseline_;
  const Eigen::Matrix3d rig_;
};

// Jacobian of a point by a left increment (rotation, translation): (-[p]x, I). With the Jacobian J of residuals by the
// point, N = J^T J, J times this matrix M has M^T N M for its normal equations; these are the parts of it.
struct MotionNormal {
  MotionNormal(const Eigen::Vector3d& p, const Eigen::Matrix3d& n) : cross(CrossMatrix(p)), by_both(cross * n) {
    hessian.topLeftCorner<3, 3>() = -by_both * cross;
    hessian.topRightCorner<3, 3>() = by_both;
    hessian.bottomLeftCorner<3, 3>() = by_both.transpose();
    hessian.bottomRightCorner<3, 3>() = n;
  }
  Eigen::Matrix3d cross;
  Eigen::Matrix3d by_both;
  Eigen::Matrix<double, 6, 6> hessian;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ESTIMATE_REPROJECTION_MODEL_H_
