#include "tests/slam/reprojection_cost.h"

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "slam/estimate/reprojection_model.h"

namespace glint::slam {
namespace {

using Rows = Eigen::Matrix<double, 2, 3>;

constexpr double kNearest = 0.01;  // metres

Eigen::Map<const Eigen::Quaterniond> RotationIn(double const* const* parameters) {
  return Eigen::Map<const Eigen::Quaterniond>(parameters[0]);
}
Eigen::Map<const Eigen::Vector3d> VectorIn(double const* const* parameters, int i) {
  return Eigen::Map<const Eigen::Vector3d>(parameters[i]);
}

// Of q * p = p + 2 w (v x p) + 2 v x (v x p), by v and w.
Eigen::Matrix<double, 3, 4> ByQuaternion(const Eigen::Quaterniond& q, const Eigen::Vector3d& p) {
  const Eigen::Vector3d v = q.vec();
  Eigen::Matrix<double, 3, 4> j;
  j.leftCols<3>() = 2 * (v.dot(p) * Eigen::Matrix3d::Identity() + v * p.transpose() - 2 * p * v.transpose()) -
                    2 * q.w() * CrossMatrix(p);
  j.col(3) = 2 * v.cross(p);
  return j;
}

// Where Ceres wants it; nowhere if that is null.
template <int kColumns>
void Put(const Eigen::Matrix<double, 2, kColumns>& jacobian, double* to) {
  if (to != nullptr) Eigen::Map<Eigen::Matrix<double, 2, kColumns, Eigen::RowMajor>>{to} = jacobian;
}

// Of rotation, translation and point, from that of the point before the camera.
void PutJacobians(const Rows& by_seen, double const* const* parameters, double** jacobians) {
  const Eigen::Quaterniond rotation = RotationIn(parameters);
  Put<4>(by_seen * ByQuaternion(rotation, VectorIn(parameters, 2)), jacobians[0]);
  Put<3>(by_seen, jacobians[1]);
  Put<3>(by_seen * rotation.toRotationMatrix(), jacobians[2]);
}

}  // namespace

bool PositionCost::Evaluate(double const* const* parameters, double* residuals, double** jacobians) const {
  const Eigen::Vector3d p = RotationIn(parameters) * VectorIn(parameters, 2) + VectorIn(parameters, 1);
  if (p.z() < kNearest) return false;
  const double weight = 1 / observation_->position_sigma;
  residuals[0] = weight * (camera_->focal_length * p.x() / p.z() + camera_->centre_x - observation_->pixel.left.x());
  residuals[1] = weight * (camera_->focal_length * p.y() / p.z() + camera_->centre_y - observation_->pixel.left.y());
  if (jacobians != nullptr) PutJacobians(weight * ProjectionJacobian(camera_->focal_length, p), parameters, jacobians);
  return true;
}

bool DisparityCost::Evaluate(double const* const* parameters, double* residuals, double** jacobians) const {
  const Eigen::Vector3d p = RotationIn(parameters) * VectorIn(parameters, 2) + VectorIn(parameters, 1);
  const Eigen::Vector3d turn = VectorIn(parameters, 3);
  const Eigen::Matrix3d rig = RotationOf(turn).toRotationMatrix();
  const Eigen::Vector3d q = rig * (p - Eigen::Vector3d(camera_->baseline, 0, 0));
  if (p.z() < kNearest || q.z() < kNearest) return false;
  const double focal = camera_->focal_length;
  const Eigen::Vector2d weight(1 / observation_->disparity_sigma, 1 / observation_->vertical_disparity_sigma);
  residuals[0] = weight.x() * (focal * (p.x() / p.z() - q.x() / q.z()) - observation_->pixel.disparity);
  residuals[1] = weight.y() * (focal * (p.y() / p.z() - q.y() / q.z()) - observation_->pixel.vertical_disparity);
  if (jacobians == nullptr) return true;
  const Rows by_right = ProjectionJacobian(focal, q);
  PutJacobians(weight.asDiagonal() * (ProjectionJacobian(focal, p) - by_right * rig), parameters, jacobians);
  if (jacobians[3] == nullptr) return true;
  // A longer rotation vector is a further turn by the left Jacobian of SO(3), here to the second order: angles are
  // below 0.02.
  const Eigen::Matrix3d cross = CrossMatrix(turn);
  const Eigen::Matrix3d left = Eigen::Matrix3d::Identity() + cross / 2 + cross * cross / 6;
  Put<3>(weight.asDiagonal() * by_right * CrossMatrix(q) * left, jacobians[3]);
  return true;
}

}  // namespace glint::slam
