#include "slam/inertial/inertial_filter.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>

#include "slam/inertial/rotation_vector.h"

namespace glint::slam {
namespace {

constexpr Eigen::Index kRotation = 0, kPosition = 3, kVelocity = 6, kGyroscope = 9, kAccelerometer = 12, kGravity = 15;

constexpr double kGravityWalk =
    0.01;  // m/s^2/sqrt(s): a map tilts by 0.06 degrees in a second, and by 0.6 in a hundred
// What a fit to images does not know of: errors of the map, and of correspondences that depend on each other.
constexpr double kFitInflation = 2;           // of standard deviations
constexpr double kLeastRotationSigma = 5e-4;  // radians
constexpr double kLeastPositionSigma = 2e-3;  // metres

}  // namespace

void InertialFilter::Begin(const NavState& state, const Sigmas& sigmas, const Eigen::Vector3d& gravity) {
  state_ = state;
  gravity_ = gravity;
  covariance_.setZero();
  const double of[] = {sigmas.rotation,  sigmas.position,      sigmas.velocity,
                       sigmas.gyroscope, sigmas.accelerometer, sigmas.gravity};
  for (Eigen::Index i = 0; i < 18; ++i) covariance_(i, i) = of[i / 3] * of[i / 3];
}

void InertialFilter::Propagate(const Preintegration& measured) {
  const double t = measured.seconds();
  const ImuBias& bias = state_.motion.bias;
  const Eigen::Matrix3d rotation = state_.world_from_imu.rotation.toRotationMatrix();
  // Of the measurement, in the order of the state.
  Eigen::Matrix<double, 18, 9> by_measured = Eigen::Matrix<double, 18, 9>::Zero();
  by_measured.block<3, 3>(kRotation, 0).setIdentity();
  by_measured.block<3, 3>(kVelocity, 3) = rotation;
  by_measured.block<3, 3>(kPosition, 6) = rotation;
  Matrix18 by_state = Matrix18::Identity();
  by_state.block<3, 3>(kRotation, kRotation) = measured.DeltaRotation(bias).toRotationMatrix().transpose();
  by_state.block<3, 3>(kPosition, kRotation) = -rotation * CrossMatrix(measured.DeltaPosition(bias));
  by_state.block<3, 3>(kPosition, kVelocity) = t * Eigen::Matrix3d::Identity();
  by_state.block<3, 3>(kVelocity, kRotation) = -rotation * CrossMatrix(measured.DeltaVelocity(bias));
  by_state.block<3, 3>(kPosition, kGravity) = 0.5 * t * t * Eigen::Matrix3d::Identity();
  by_state.block<3, 3>(kVelocity, kGravity) = t * Eigen::Matrix3d::Identity();
  by_state.block<9, 6>(0, kGyroscope) += (by_measured * measured.by_bias()).topRows<9>();
  covariance_ =
      by_state * covariance_ * by_state.transpose() + by_measured * measured.covariance() * by_measured.transpose();
  for (Eigen::Index i = 0; i < 3; ++i) {
    covariance_(kGyroscope + i, kGyroscope + i) += model_.gyroscope_random_walk * model_.gyroscope_random_walk * t;
    covariance_(kAccelerometer + i, kAccelerometer + i) +=
        model_.accelerometer_random_walk * model_.accelerometer_random_walk * t;
  }
  covariance_.diagonal().tail<3>().array() += kGravityWalk * kGravityWalk * t;
  state_ = measured.Predict(state_, gravity_);
}

InertialFilter::Matrix6 InertialFilter::ByCamera() const {
  const Eigen::Matrix3d imu_from_camera = model_.camera_from_imu.rotation.conjugate().toRotationMatrix();
  const Eigen::Matrix3d world_from_camera = state_.world_from_imu.rotation.toRotationMatrix() * imu_from_camera;
  Matrix6 by = Matrix6::Zero();
  by.topLeftCorner<3, 3>() = -imu_from_camera;
  by.bottomLeftCorner<3, 3>() = world_from_camera * CrossMatrix(model_.camera_from_imu.translation);
  by.bottomRightCorner<3, 3>() = -world_from_camera;
  return by;
}

InertialFilter::Matrix6 InertialFilter::PoseCovariance() const {
  // The inverse of ByCamera().
  const Eigen::Matrix3d camera_from_imu = model_.camera_from_imu.rotation.toRotationMatrix();
  const Eigen::Matrix3d camera_from_world =
      camera_from_imu * state_.world_from_imu.rotation.conjugate().toRotationMatrix();
  Matrix6 by = Matrix6::Zero();
  by.topLeftCorner<3, 3>() = -camera_from_imu;
  by.bottomLeftCorner<3, 3>() = -CrossMatrix(model_.camera_from_imu.translation) * camera_from_imu;
  by.bottomRightCorner<3, 3>() = -camera_from_world;
  return by * covariance_.topLeftCorner<6, 6>() * by.transpose();
}

InertialFilter::Difference InertialFilter::DifferenceOf(const Pose& camera_from_world,
                                                        const Matrix6& covariance) const {
  const Pose measured = camera_from_world.Inverse() * model_.camera_from_imu;
  Difference difference;
  difference.error << RotationVectorOf(state_.world_from_imu.rotation.conjugate() * measured.rotation),
      measured.translation - state_.world_from_imu.translation;
  const Matrix6 by = ByCamera();
  difference.covariance = kFitInflation * kFitInflation * by * covariance * by.transpose();
  for (Eigen::Index i = 0; i < 3; ++i) {
    difference.covariance(i, i) += kLeastRotationSigma * kLeastRotationSigma;
    difference.covariance(i + 3, i + 3) += kLeastPositionSigma * kLeastPositionSigma;
  }
  return difference;
}

Innovation InertialFilter::Compare(const Pose& camera_from_world, const Matrix6& covariance) const {
  const Difference difference = DifferenceOf(camera_from_world, covariance);
  const Matrix6 sum = covariance_.topLeftCorner<6, 6>() + difference.covariance;
  const auto squared = [&](Eigen::Index first) -> double {
    const Eigen::Vector3d error = difference.error.segment<3>(first);
    const Eigen::Matrix3d of = sum.block<3, 3>(first, first);
    return error.dot(of.ldlt().solve(error)) / 3;
  };
  return {squared(0), squared(3)};
}

void InertialFilter::Update(const Pose& camera_from_world, const Matrix6& covariance) {
  const Difference difference = DifferenceOf(camera_from_world, covariance);
  const Matrix6 sum = covariance_.topLeftCorner<6, 6>() + difference.covariance;
  const Eigen::Matrix<double, 18, 6> gain = sum.ldlt().solve(covariance_.topRows<6>()).transpose();
  const Eigen::Matrix<double, 18, 1> step = gain * difference.error;
  if (!step.allFinite()) return;
  state_.world_from_imu.rotation =
      (state_.world_from_imu.rotation * RotationOf(step.segment<3>(kRotation))).normalized();
  state_.world_from_imu.translation += step.segment<3>(kPosition);
  state_.motion.velocity += step.segment<3>(kVelocity);
  state_.motion.bias.gyroscope += step.segment<3>(kGyroscope);
  state_.motion.bias.accelerometer += step.segment<3>(kAccelerometer);
  gravity_ = (gravity_ + step.segment<3>(kGravity)).normalized() * model_.gravity;
  // Joseph's form: stays symmetric and positive.
  Matrix18 rest = Matrix18::Identity();
  rest.leftCols<6>() -= gain;
  covariance_ = rest * covariance_ * rest.transpose() + gain * difference.covariance * gain.transpose();
}

void InertialFilter::Correct(const Pose& correction) {
  state_.world_from_imu = correction * state_.world_from_imu;
  state_.motion.velocity = correction.rotation * state_.motion.velocity;
  gravity_ = correction.rotation * gravity_;
  Matrix18 turn = Matrix18::Identity();
  turn.block<3, 3>(kPosition, kPosition) = correction.rotation.toRotationMatrix();
  turn.block<3, 3>(kVelocity, kVelocity) = turn.block<3, 3>(kPosition, kPosition);
  turn.block<3, 3>(kGravity, kGravity) = turn.block<3, 3>(kPosition, kPosition);
  covariance_ = turn * covariance_ * turn.transpose();
}

void InertialFilter::Anchor(const Sigmas& sigmas) {
  covariance_.topRows<6>().setZero();
  covariance_.leftCols<6>().setZero();
  for (Eigen::Index i = 0; i < 3; ++i) {
    covariance_(kRotation + i, kRotation + i) = sigmas.rotation * sigmas.rotation;
    covariance_(kPosition + i, kPosition + i) = sigmas.position * sigmas.position;
  }
}

}  // namespace glint::slam
