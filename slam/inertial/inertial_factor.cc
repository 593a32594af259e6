#include "slam/inertial/inertial_factor.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <cmath>

#include "slam/geometry/pose.h"
#include "slam/inertial/rotation_vector.h"

namespace glint::slam {
namespace {

using Matrix9 = Eigen::Matrix<double, 9, 9>;
using Vector9 = Eigen::Matrix<double, 9, 1>;

// Standard deviation that measurements have at least, of each row (rad, m/s, m): errors of the integration itself.
constexpr double kLeastSigma = 1e-6;
// Share of its variance that is added to each row, for what is nearly a combination of others.
constexpr double kLeastShare = 1e-9;

// L^-1 of covariance = L L^T.
Matrix9 RootOfInformation(Matrix9 covariance) {
  covariance.diagonal().array() += kLeastSigma * kLeastSigma;
  const Vector9 scale = covariance.diagonal().cwiseSqrt().cwiseInverse();
  Matrix9 correlation = scale.asDiagonal() * covariance * scale.asDiagonal();
  correlation.diagonal().array() += kLeastShare;
  Matrix9 root = Matrix9::Identity();
  correlation.llt().matrixL().solveInPlace(root);
  return root * scale.asDiagonal();
}

// The end states in the sensor's terms, and differences in the axes of its beginning.
struct Differences {
  Differences(const Pose& camera_from_imu, double seconds, const InertialState& from, const InertialState& to,
              const Eigen::Vector3d& gravity)
      : world_from_begin(from.camera_from_world.Inverse() * camera_from_imu),
        world_from_end(to.camera_from_world.Inverse() * camera_from_imu),
        begin_from_end(world_from_begin.rotation.conjugate() * world_from_end.rotation),
        velocity(world_from_begin.rotation.conjugate() *
                 (to.motion.velocity - from.motion.velocity - seconds * gravity)),
        position(world_from_begin.rotation.conjugate() *
                 (world_from_end.translation - world_from_begin.translation - seconds * from.motion.velocity -
                  0.5 * seconds * seconds * gravity)) {}

  Pose world_from_begin, world_from_end;
  Eigen::Quaterniond begin_from_end;
  Eigen::Vector3d velocity, position;
};

}  // namespace

InertialFactor::InertialFactor(const ImuModel& model, const Preintegration* measured, const PoseSigmas& sigmas)
    : camera_from_imu_(model.camera_from_imu), measured_(measured) {
  Matrix9 covariance = measured->covariance();
  covariance.diagonal().head<3>().array() += sigmas.rotation * sigmas.rotation;
  covariance.diagonal().tail<3>().array() += sigmas.position * sigmas.position;
  root_ = RootOfInformation(covariance);
  const double root_seconds = std::sqrt(measured->seconds());
  bias_weight_[0] = 1 / (model.gyroscope_random_walk * root_seconds);
  bias_weight_[1] = 1 / (model.accelerometer_random_walk * root_seconds);
}

InertialResidual::Vector15 InertialFactor::Error(const InertialState& from, const InertialState& to,
                                                 const Eigen::Vector3d& gravity) const {
  const Differences d(camera_from_imu_, measured_->seconds(), from, to, gravity);
  const ImuBias& bias = from.motion.bias;
  Vector9 navigation;
  navigation << RotationVectorOf(measured_->DeltaRotation(bias).conjugate() * d.begin_from_end),
      d.velocity - measured_->DeltaVelocity(bias), d.position - measured_->DeltaPosition(bias);
  InertialResidual::Vector15 error;
  error << root_.triangularView<Eigen::Lower>() * navigation,
      bias_weight_[0] * (to.motion.bias.gyroscope - bias.gyroscope),
      bias_weight_[1] * (to.motion.bias.accelerometer - bias.accelerometer);
  return error;
}

void InertialFactor::Linearize(const InertialState& from, const InertialState& to, const Eigen::Vector3d& gravity,
                               InertialResidual* residual) const {
  residual->error = Error(from, to, gravity);
  const double seconds = measured_->seconds();
  const Differences d(camera_from_imu_, seconds, from, to, gravity);
  const ImuBias& bias = from.motion.bias;
  const Eigen::Matrix<double, 9, 6>& by_bias = measured_->by_bias();
  const Eigen::Quaterniond difference = measured_->DeltaRotation(bias).conjugate() * d.begin_from_end;
  const Eigen::Matrix3d inverse = InverseRightJacobian(RotationVectorOf(difference));
  const Eigen::Matrix3d begin_from_world = d.world_from_begin.rotation.toRotationMatrix().transpose();
  const Eigen::Matrix3d imu_from_camera = camera_from_imu_.rotation.toRotationMatrix().transpose();
  const Eigen::Matrix3d begin_from_end = d.begin_from_end.toRotationMatrix();
  const Eigen::Matrix3d lever = CrossMatrix(camera_from_imu_.translation);

  // A left increment (x, t) of camera_from_world turns the sensor by -imu_from_camera x, in its axes, and moves it by
  // imu_from_camera ([camera_from_imu.translation] x - t).
  Eigen::Matrix<double, 9, 15> by_from = Eigen::Matrix<double, 9, 15>::Zero();
  by_from.block<3, 3>(0, 0) = inverse * begin_from_end.transpose() * imu_from_camera;
  by_from.block<3, 3>(3, 0) = -CrossMatrix(d.velocity) * imu_from_camera;
  by_from.block<3, 3>(6, 0) = -CrossMatrix(d.position) * imu_from_camera - imu_from_camera * lever;
  by_from.block<3, 3>(6, 3) = imu_from_camera;
  by_from.block<3, 3>(3, 6) = -begin_from_world;
  by_from.block<3, 3>(6, 6) = -seconds * begin_from_world;
  const Eigen::Matrix3d rotation_by_bias = by_bias.topLeftCorner<3, 3>();
  by_from.block<3, 3>(0, 9) = -inverse * difference.toRotationMatrix().transpose() *
                              RightJacobian(rotation_by_bias * (bias.gyroscope - measured_->bias().gyroscope)) *
                              rotation_by_bias;
  by_from.block<6, 6>(3, 9) = -by_bias.bottomRows<6>();

  Eigen::Matrix<double, 9, 15> by_to = Eigen::Matrix<double, 9, 15>::Zero();
  by_to.block<3, 3>(0, 0) = -inverse * imu_from_camera;
  by_to.block<3, 3>(6, 0) = begin_from_end * imu_from_camera * lever;
  by_to.block<3, 3>(6, 3) = -begin_from_end * imu_from_camera;
  by_to.block<3, 3>(3, 6) = begin_from_world;

  Eigen::Matrix<double, 9, 3> by_gravity;
  by_gravity << Eigen::Matrix3d::Zero(), -seconds * begin_from_world, -0.5 * seconds * seconds * begin_from_world;

  residual->by_from.setZero();
  residual->by_to.setZero();
  residual->by_gravity.setZero();
  residual->by_from.topRows<9>() = root_.triangularView<Eigen::Lower>() * by_from;
  residual->by_to.topRows<9>() = root_.triangularView<Eigen::Lower>() * by_to;
  residual->by_gravity.topRows<9>() = root_.triangularView<Eigen::Lower>() * by_gravity;
  for (Eigen::Index i = 9; i < 15; ++i) {
    residual->by_to(i, i) = bias_weight_[i < 12 ? 0 : 1];
    residual->by_from(i, i) = -residual->by_to(i, i);
  }
}

}  // namespace glint::slam
