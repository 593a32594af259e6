// Preintegrated measurements of an inertial sensor between two times: Forster, Carlone, Dellaert and Scaramuzza,
// "On-Manifold Preintegration for Real-Time Visual-Inertial Odometry" (2017).
#ifndef GLINT_SLAM_INERTIAL_PREINTEGRATION_H_
#define GLINT_SLAM_INERTIAL_PREINTEGRATION_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "slam/inertial/imu.h"

namespace glint::slam {

// A sensor's pose and motion.
struct NavState {
  Pose world_from_imu;
  ImuMotion motion;
};

// A plain value: thread-compatible. Keeps up to kMaxSamples samples to integrate them again about another bias; beyond,
// the first-order correction alone serves.
class Preintegration {
 public:
  static constexpr size_t kMaxSamples = 1024;

  Preintegration() = default;
  // Nothing yet, about `bias`.
  Preintegration(const ImuModel& model, const ImuBias& bias) : model_(model), bias_(bias) {}

  // Goes on with samples in the order of their times, the first of which has the time of the last one so far: midpoints
  // between neighbours.
  void Add(absl::Span<const ImuSample> samples);
  // The same as if it had been made about `bias` from the beginning, if it differs from this bias by over 0.01 rad/s or
  // 0.1 m/s^2 and the samples are still there.
  void Relinearize(const ImuBias& bias);

  double seconds() const { return seconds_; }
  const ImuBias& bias() const { return bias_; }  // that it was integrated about
  // In the axes of the sensor at the beginning, without gravity, corrected to first order for `bias`.
  Eigen::Quaterniond DeltaRotation(const ImuBias& bias) const;
  Eigen::Vector3d DeltaVelocity(const ImuBias& bias) const;
  Eigen::Vector3d DeltaPosition(const ImuBias& bias) const;
  // Rows of covariance and Jacobians: rotation (right increment of DeltaRotation), velocity, position. Columns of the
  // latter: gyroscope's bias, accelerometer's.
  const Eigen::Matrix<double, 9, 9>& covariance() const { return covariance_; }
  const Eigen::Matrix<double, 9, 6>& by_bias() const { return by_bias_; }

  // Where a state leads, with `gravity` in the world (m/s^2, downwards). The biases stay.
  NavState Predict(const NavState& from, const Eigen::Vector3d& gravity) const;

 private:
  void Integrate(const ImuSample& from, const ImuSample& to);

  ImuModel model_;
  ImuBias bias_;
  double seconds_ = 0;
  Eigen::Quaterniond rotation_ = Eigen::Quaterniond::Identity();
  Eigen::Vector3d velocity_ = Eigen::Vector3d::Zero(), position_ = Eigen::Vector3d::Zero();
  Eigen::Matrix<double, 9, 9> covariance_ = Eigen::Matrix<double, 9, 9>::Zero();
  Eigen::Matrix<double, 9, 6> by_bias_ = Eigen::Matrix<double, 9, 6>::Zero();
  std::vector<ImuSample> samples_;
  bool is_complete_ = true;  // all samples are in samples_
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_PREINTEGRATION_H_
