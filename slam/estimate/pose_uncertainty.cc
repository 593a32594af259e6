#include "slam/estimate/pose_uncertainty.h"

#include <algorithm>
#include <cmath>

namespace glint::slam {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

constexpr double kRigCommon = 2;  // times the adjusted rig's standard deviations, for the reason of kCommonErrors
// Pixels, at the focal length: of disparities, what no adjustment of a rotation takes away.
constexpr double kLeastRigPx = 0.03;

// What a gradient by the point at p is by a left increment of the pose.
Vector6 ByPose(const Eigen::Vector3d& p, const Eigen::Vector3d& by_point) {
  Vector6 by_pose;
  by_pose << p.cross(by_point), by_point;
  return by_pose;
}

}  // namespace

PoseUncertainty PoseUncertainty::Then(const Pose& b_from_a, const PoseUncertainty& step) const {
  const Matrix6 by_a = AdjointOf(b_from_a);
  return {by_a * covariance * by_a.transpose() + step.covariance, by_a * by_rig + step.by_rig};
}

PoseUncertainty PoseUncertainty::Inverse(const Pose& b_from_a) const {
  const PoseUncertainty at_a = Then(b_from_a.Inverse(), {});
  return {at_a.covariance, -at_a.by_rig};
}

Matrix6 PoseUncertainty::Total(const Eigen::Vector3d& rig_sigma) const {
  const Eigen::Matrix<double, 6, 3> of_rig = by_rig * rig_sigma.asDiagonal();
  return covariance + of_rig * of_rig.transpose();
}

PackedUncertainty::PackedUncertainty(const PoseUncertainty& of) {
  size_t at = 0;
  for (Eigen::Index row = 0; row < 6; ++row) {
    for (Eigen::Index column = row; column < 6; ++column) {
      covariance[at++] = static_cast<float>(of.covariance(row, column));
    }
  }
  using Rows = Eigen::Matrix<float, 6, 3, Eigen::RowMajor>;
  Eigen::Map<Rows>(by_rig.data()) = of.by_rig.cast<float>();
}

PoseUncertainty PackedUncertainty::Unpacked() const {
  PoseUncertainty to;
  size_t at = 0;
  for (Eigen::Index row = 0; row < 6; ++row) {
    for (Eigen::Index column = row; column < 6; ++column) {
      to.covariance(row, column) = to.covariance(column, row) = static_cast<double>(covariance[at++]);
    }
  }
  using Rows = Eigen::Matrix<float, 6, 3, Eigen::RowMajor>;
  to.by_rig = Eigen::Map<const Rows>(by_rig.data()).cast<double>();
  return to;
}

Eigen::Vector3d RigSigma(const Eigen::Vector3d& adjusted, double prior, double focal_length) {
  const double least = kLeastRigPx / focal_length;
  const Eigen::Array3d sigma = (kRigCommon * adjusted.array()).min(prior);
  return (sigma * sigma + least * least).sqrt();
}

double DepthSigma(const StereoCamera& camera, double disparity_sigma, double depth, size_t times) {
  return disparity_sigma * depth / (camera.focal_length * camera.baseline * std::sqrt(static_cast<double>(times)));
}

FitErrors::FitErrors(const StereoCamera& camera, const Pose& camera_from_world)
    : model_(camera), disparity_at_1m_(camera.focal_length * camera.baseline), camera_from_world_(camera_from_world) {}

void FitErrors::Add(const Correspondence& correspondence, const Pose& keyframe_from_world, double depth_sigma) {
  const Observation& observation = correspondence.observation;
  const Eigen::Vector3d p = camera_from_world_ * correspondence.point;
  const Eigen::Vector3d seen = keyframe_from_world * correspondence.point;
  if (p.z() < kNearestPoint || seen.z() < kNearestPoint) return;
  const Rows43 by_point = model_.JacobianByPoint(p, observation);
  const Eigen::Matrix3d information = by_point.transpose() * by_point;
  const Eigen::Matrix3d cross = CrossMatrix(p), by_both = cross * information;  // as MotionNormal has them
  of_turning_ -= by_both * cross;
  of_both_ += by_both;
  of_moving_ += information;
  squares_ += model_.Residual(p, observation).squaredNorm();
  freedom_ += observation.is_stereo ? 4 : 2;
  ++count_;
  const Eigen::Vector3d ray = camera_from_world_.rotation * (keyframe_from_world.rotation.conjugate() * seen);
  const Vector6 by_depth = ByPose(p, information * ray);
  of_depths_ += depth_sigma * depth_sigma * (by_depth * by_depth.transpose());
  // The depth is of a disparity that the rig's rotation is a part of; and so is the disparity that is seen now.
  const double disparity = disparity_at_1m_ / seen.z();
  of_rig_ += by_depth * (model_.DisparityByExtrinsics(seen) / disparity);
  if (!observation.is_stereo) return;
  const Eigen::Matrix3d pull = by_point.bottomRows<2>().transpose() * model_.JacobianByExtrinsics(p, observation);
  for (Eigen::Index axis = 0; axis < 3; ++axis) of_rig_.col(axis) += ByPose(p, pull.col(axis));
}

PoseUncertainty FitErrors::Of(const Matrix6& covariance, size_t matches) const {
  if (count_ == 0) return {covariance, Eigen::Matrix<double, 6, 3>::Zero()};
  // Those that do not agree are left out of the squares, but tell of larger errors, too.
  const double share = static_cast<double>(count_) / static_cast<double>(std::max(matches, count_));
  const double wider = kCommonErrors * squares_ / (std::max(freedom_, 1.0) * share * share);
  Matrix6 of_noise;
  of_noise << of_turning_, of_both_, of_both_.transpose(), of_moving_;
  return {covariance + covariance * ((wider - 1) * of_noise + wider * of_depths_) * covariance, -covariance * of_rig_};
}

}  // namespace glint::slam
