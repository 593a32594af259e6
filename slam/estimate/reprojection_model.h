// What both eyes see of a point, and its derivatives: for many points of one camera. The rig's rotation is a matrix
// here, made once.
#ifndef GLINT_SLAM_ESTIMATE_REPROJECTION_MODEL_H_
#define GLINT_SLAM_ESTIMATE_REPROJECTION_MODEL_H_

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "slam/estimate/local_map.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

inline constexpr double kNearestPoint = 0.05;  // metres: nearer points are behind or in the camera
inline constexpr double kHuberBound = 2;       // standard deviations; larger errors count linearly

using Rows23 = Eigen::Matrix<double, 2, 3>;
using Rows43 = Eigen::Matrix<double, 4, 3>;  // left x, left y, disparity, rise

// Of pixel coordinates (focal length * x / z, likewise y) by camera coordinates.
inline Rows23 ByPoint(double focal_length, const Eigen::Vector3d& p) {
  const double by_z = focal_length / p.z();
  Rows23 j;
  j << by_z, 0, -by_z * p.x() / p.z(),  //
      0, by_z, -by_z * p.y() / p.z();
  return j;
}

inline Eigen::Matrix3d CrossMatrix(const Eigen::Vector3d& v) {
  Eigen::Matrix3d m;
  m << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return m;
}

// Points are in left camera coordinates, before both eyes.
class SightModel {
 public:
  explicit SightModel(const StereoCamera& camera)
      : focal_length_(camera.focal_length),
        centre_(camera.centre_x, camera.centre_y),
        baseline_(camera.baseline, 0, 0),
        rig_(RotationOf(camera.rig_rotation).toRotationMatrix()) {}

  Eigen::Vector3d InRightEye(const Eigen::Vector3d& p) const { return rig_ * (p - baseline_); }

  // Projection minus sight, whitened: left x, left y, disparity, rise; the last two are 0 unless sight.is_stereo.
  Eigen::Vector4d ErrorOf(const Eigen::Vector3d& p, const Sight& sight) const {
    const Eigen::Vector2d left = focal_length_ / p.z() * p.head<2>();
    Eigen::Vector4d error = Eigen::Vector4d::Zero();
    error.head<2>() = (left + centre_ - sight.pixel.left) / sight.position_error;
    if (!sight.is_stereo) return error;
    const Eigen::Vector3d q = InRightEye(p);
    const Eigen::Vector2d shift = left - focal_length_ / q.z() * q.head<2>();
    error[2] = (shift.x() - sight.pixel.disparity) / sight.disparity_error;
    error[3] = (shift.y() - sight.pixel.rise) / sight.rise_error;
    return error;
  }

  // Of ErrorOf() by the point.
  Rows43 ByPointOf(const Eigen::Vector3d& p, const Sight& sight) const {
    Rows43 j = Rows43::Zero();
    const Rows23 by_left = ByPoint(focal_length_, p);
    j.topRows<2>() = by_left / sight.position_error;
    if (!sight.is_stereo) return j;
    const Rows23 by_both = by_left - ByPoint(focal_length_, InRightEye(p)) * rig_;
    j.row(2) = by_both.row(0) / sight.disparity_error;
    j.row(3) = by_both.row(1) / sight.rise_error;
    return j;
  }

  // Of the last two of ErrorOf() by a small turn of the right eye after the rig's; sight.is_stereo.
  Rows23 ByRigOf(const Eigen::Vector3d& p, const Sight& sight) const {
    const Eigen::Vector3d q = InRightEye(p);
    const Rows23 by_turn = ByPoint(focal_length_, q) * CrossMatrix(q);
    Rows23 j;
    j.row(0) = by_turn.row(0) / sight.disparity_error;
    j.row(1) = by_turn.row(1) / sight.rise_error;
    return j;
  }

 private:
  const double focal_length_;
  const Eigen::Vector2d centre_;
  const Eigen::Vector3d baseline_;
  const Eigen::Matrix3d rig_;
};

// Of coordinates by a small turn and shift of them: [-p]x and the identity. With the derivatives J of errors by
// coordinates, N = J^T J, J times this matrix M has M^T N M for its normal equations; these are the parts of it.
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
