// What a preintegrated measurement says of the states at its two ends.
#ifndef GLINT_SLAM_INERTIAL_INERTIAL_FACTOR_H_
#define GLINT_SLAM_INERTIAL_INERTIAL_FACTOR_H_

#include <Eigen/Core>

#include "slam/geometry/pose.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/preintegration.h"

namespace glint::slam {

// A camera and the sensor that is fixed to it, at one time.
struct InertialState {
  Pose camera_from_world;
  ImuMotion motion;
};

// The residual, whitened: rotation, velocity, position (9, by the square root of the information of the measurement
// with `pose_sigmas` added) and the change of both biases (6, by their random walks over the time). No units.
//
// Jacobians are by increments of a state, in this order: rotation and translation of a left increment of
// camera_from_world, Pose{RotationOf(x), t} * pose (radians, metres, in camera coordinates); velocity (m/s, world);
// gyroscope's bias (rad/s); accelerometer's bias (m/s^2). by_gravity: of an increment of the vector.
struct InertialResidual {
  using Vector15 = Eigen::Matrix<double, 15, 1>;
  using Matrix15 = Eigen::Matrix<double, 15, 15>;
  Vector15 error;
  Matrix15 by_from, by_to;
  Eigen::Matrix<double, 15, 3> by_gravity;
};

class InertialFactor {
 public:
  // Uncertainty that poses have beside their relative one in the adjustment: 0 in an adjustment that estimates them.
  struct PoseSigmas {
    double rotation = 0;  // radians
    double position = 0;  // metres
  };

  // `measured` must outlive it and cover more than 0 seconds. Errors follow it when it is integrated again; the weights
  // stay those of its covariance at construction, to which 1e-6 (rad, m/s, m) and 1e-9 of each variance are added.
  InertialFactor(const ImuModel& model, const Preintegration* measured) : InertialFactor(model, measured, {}) {}
  InertialFactor(const ImuModel& model, const Preintegration* measured, const PoseSigmas& sigmas);

  InertialResidual::Vector15 Error(const InertialState& from, const InertialState& to,
                                   const Eigen::Vector3d& gravity) const;
  void Linearize(const InertialState& from, const InertialState& to, const Eigen::Vector3d& gravity,
                 InertialResidual* residual) const;

 private:
  Pose camera_from_imu_;
  const Preintegration* measured_;
  Eigen::Matrix<double, 9, 9> root_;  // lower triangular: root^T root is the information
  double bias_weight_[2];             // of the gyroscope's and the accelerometer's change
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_INERTIAL_FACTOR_H_
