#include "slam/inertial/preintegration.h"

#include "slam/geometry/pose.h"
#include "slam/inertial/rotation_vector.h"

namespace glint::slam {
namespace {

constexpr double kGyroscopeTolerance = 0.01;     // rad/s
constexpr double kAccelerometerTolerance = 0.1;  // m/s^2

}  // namespace

void Preintegration::Add(absl::Span<const ImuSample> samples) {
  for (size_t i = 1; i < samples.size(); ++i) Integrate(samples[i - 1], samples[i]);
  if (is_complete_ && samples_.size() + samples.size() <= kMaxSamples) {
    samples_.insert(samples_.end(), samples.begin(), samples.end());
  } else {
    is_complete_ = false;
    samples_.clear();
  }
}

void Preintegration::Relinearize(const ImuBias& bias) {
  if (!is_complete_ || ((bias.gyroscope - bias_.gyroscope).norm() <= kGyroscopeTolerance &&
                        (bias.accelerometer - bias_.accelerometer).norm() <= kAccelerometerTolerance)) {
    return;
  }
  bias_ = bias;
  seconds_ = 0;
  rotation_.setIdentity();
  velocity_.setZero();
  position_.setZero();
  covariance_.setZero();
  by_bias_.setZero();
  for (size_t i = 1; i < samples_.size(); ++i) Integrate(samples_[i - 1], samples_[i]);
}

// Both measurements are constant over the step, the acceleration in the axes of its middle. The noise is white: over
// the step its variance is the squared density / dt.
void Preintegration::Integrate(const ImuSample& from, const ImuSample& to) {
  const double dt = static_cast<double>(to.time_ns - from.time_ns) * 1e-9;
  if (!(dt > 0)) return;
  const Eigen::Vector3d turn = dt * (0.5 * (from.angular_velocity + to.angular_velocity) - bias_.gyroscope);
  const Eigen::Vector3d acceleration = 0.5 * (from.acceleration + to.acceleration) - bias_.accelerometer;
  const Eigen::Quaterniond half_turn = RotationOf(0.5 * turn);
  const Eigen::Matrix3d middle = (rotation_ * half_turn).toRotationMatrix();
  const Eigen::Vector3d gain = dt * (middle * acceleration);

  // Of the velocity: by the rotation before, the turn, the acceleration. Of the position: dt/2 times that.
  const Eigen::Matrix3d by_middle = -dt * middle * CrossMatrix(acceleration);
  const Eigen::Matrix3d by_rotation = by_middle * half_turn.toRotationMatrix().transpose();
  const Eigen::Matrix3d by_turn = 0.5 * by_middle * RightJacobian(0.5 * turn);
  const Eigen::Matrix3d turn_by_rate = dt * RightJacobian(turn);
  Eigen::Matrix<double, 9, 9> by_state = Eigen::Matrix<double, 9, 9>::Identity();
  by_state.block<3, 3>(0, 0) = RotationOf(turn).toRotationMatrix().transpose();
  by_state.block<3, 3>(3, 0) = by_rotation;
  by_state.block<3, 3>(6, 0) = 0.5 * dt * by_rotation;
  by_state.block<3, 3>(6, 3) = dt * Eigen::Matrix3d::Identity();
  Eigen::Matrix<double, 9, 6> by_measurement;
  by_measurement.block<3, 3>(0, 0) = turn_by_rate;
  by_measurement.block<3, 3>(3, 0) = dt * by_turn;
  by_measurement.block<3, 3>(6, 0) = 0.5 * dt * dt * by_turn;
  by_measurement.block<3, 3>(0, 3).setZero();
  by_measurement.block<3, 3>(3, 3) = dt * middle;
  by_measurement.block<3, 3>(6, 3) = 0.5 * dt * dt * middle;

  const double gyroscope_variance = model_.gyroscope_noise() * model_.gyroscope_noise() / dt;
  const double accelerometer_variance = model_.accelerometer_noise() * model_.accelerometer_noise() / dt;
  Eigen::Matrix<double, 6, 1> variance;
  variance << Eigen::Vector3d::Constant(gyroscope_variance), Eigen::Vector3d::Constant(accelerometer_variance);
  by_bias_ = (by_state * by_bias_ - by_measurement).eval();
  covariance_ = (by_state * covariance_ * by_state.transpose()).eval();
  covariance_ += by_measurement * variance.asDiagonal() * by_measurement.transpose();
  // What noise within the step adds to the position beyond its mean: with it, dt^3/3 of the squared density.
  covariance_.diagonal().tail<3>().array() += dt * dt * dt * dt / 12 * accelerometer_variance;

  position_ += dt * velocity_ + 0.5 * dt * gain;
  velocity_ += gain;
  rotation_ = (rotation_ * RotationOf(turn)).normalized();
  seconds_ += dt;
}

Eigen::Quaterniond Preintegration::DeltaRotation(const ImuBias& bias) const {
  return (rotation_ * RotationOf(by_bias_.topLeftCorner<3, 3>() * (bias.gyroscope - bias_.gyroscope))).normalized();
}

Eigen::Vector3d Preintegration::DeltaVelocity(const ImuBias& bias) const {
  return velocity_ + by_bias_.block<3, 3>(3, 0) * (bias.gyroscope - bias_.gyroscope) +
         by_bias_.block<3, 3>(3, 3) * (bias.accelerometer - bias_.accelerometer);
}

Eigen::Vector3d Preintegration::DeltaPosition(const ImuBias& bias) const {
  return position_ + by_bias_.block<3, 3>(6, 0) * (bias.gyroscope - bias_.gyroscope) +
         by_bias_.block<3, 3>(6, 3) * (bias.accelerometer - bias_.accelerometer);
}

NavState Preintegration::Predict(const NavState& from, const Eigen::Vector3d& gravity) const {
  const Eigen::Quaterniond& rotation = from.world_from_imu.rotation;
  NavState to;
  to.world_from_imu.rotation = (rotation * DeltaRotation(from.motion.bias)).normalized();
  to.world_from_imu.translation = from.world_from_imu.translation + seconds_ * from.motion.velocity +
                                  0.5 * seconds_ * seconds_ * gravity + rotation * DeltaPosition(from.motion.bias);
  to.motion.velocity = from.motion.velocity + seconds_ * gravity + rotation * DeltaVelocity(from.motion.bias);
  to.motion.bias = from.motion.bias;
  return to;
}

}  // namespace glint::slam
