// Pose, velocity and biases of an inertial sensor from frame to frame, with their covariance: an error-state Kalman
// filter that preintegrated measurements move and poses found by images correct. See Sola, "Quaternion kinematics for
// the error-state Kalman filter" (2017), sections 5 and 6.
#ifndef GLINT_SLAM_INERTIAL_INERTIAL_FILTER_H_
#define GLINT_SLAM_INERTIAL_INERTIAL_FILTER_H_

#include <Eigen/Core>

#include "slam/geometry/pose.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/preintegration.h"

namespace glint::slam {

// Squared norm of a difference, normalised by its covariance, per degree of freedom (3 each): about 1 is expected.
struct Innovation {
  double rotation = 0;
  double position = 0;
};

// A plain value: thread-compatible. There are no errors: covariances stay symmetric and finite as long as what comes in
// is finite.
class InertialFilter {
 public:
  using Matrix6 = Eigen::Matrix<double, 6, 6>;
  using Matrix18 = Eigen::Matrix<double, 18, 18>;
  // Standard deviations to begin with.
  struct Sigmas {
    double rotation = 0.001;      // radians
    double position = 0.005;      // metres
    double velocity = 0.1;        // m/s
    double gyroscope = 0.005;     // rad/s
    double accelerometer = 0.05;  // m/s^2
    double gravity = 0.1;         // m/s^2: of a direction that is known to 0.6 degrees
  };

  explicit InertialFilter(const ImuModel& model) : model_(model) {}

  void Begin(const NavState& state, const Sigmas& sigmas, const Eigen::Vector3d& gravity);
  // `measured` begins at the time of the state, about its bias.
  void Propagate(const Preintegration& measured);
  // How far a pose is from the state. `covariance`: of a left increment (rotation, translation) of camera_from_world.
  Innovation Compare(const Pose& camera_from_world, const Matrix6& covariance) const;
  void Update(const Pose& camera_from_world, const Matrix6& covariance);
  // The state and gravity in another world: new world from old.
  void Correct(const Pose& correction);
  // The pose is what others are measured by from here on: it is certain to `sigmas`.rotation and .position, and nothing
  // else depends on how it was found.
  void Anchor(const Sigmas& sigmas);

  const NavState& state() const { return state_; }
  // Where the camera is: a map that was built from images is not everywhere as level as where it began.
  const Eigen::Vector3d& gravity() const { return gravity_; }
  Pose camera_from_world() const { return model_.camera_from_imu * state_.world_from_imu.Inverse(); }
  // Of a left increment of camera_from_world.
  Matrix6 PoseCovariance() const;
  // The largest of three axes each.
  double velocity_sigma() const { return Sigma(6); }
  double gyroscope_sigma() const { return Sigma(9); }
  double accelerometer_sigma() const { return Sigma(12); }
  double gravity_sigma() const { return Sigma(15); }  // m/s^2
  // Of velocity, gyroscope's bias and accelerometer's.
  Eigen::Matrix<double, 9, 1> MotionSigmas() const { return covariance_.diagonal().segment<9>(6).cwiseSqrt(); }

 private:
  struct Difference {
    Eigen::Matrix<double, 6, 1> error;  // rotation in the sensor's axes, position in the world
    Matrix6 covariance;                 // of the measurement
  };
  Difference DifferenceOf(const Pose& camera_from_world, const Matrix6& covariance) const;
  // Increments of the state's pose by those of camera_from_world.
  Matrix6 ByCamera() const;
  double Sigma(Eigen::Index first) const { return std::sqrt(covariance_.diagonal().segment<3>(first).maxCoeff()); }

  ImuModel model_;
  NavState state_;
  Eigen::Vector3d gravity_ = Eigen::Vector3d::Zero();
  // Of: a right increment of the rotation (sensor's axes), position, velocity (world), gyroscope's bias,
  // accelerometer's, gravity (world).
  Matrix18 covariance_ = Matrix18::Zero();
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_INERTIAL_FILTER_H_
