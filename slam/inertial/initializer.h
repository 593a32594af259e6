// Gravity, velocities and biases of a sensor from poses that are known and what was measured between them.
#ifndef GLINT_SLAM_INERTIAL_INITIALIZER_H_
#define GLINT_SLAM_INERTIAL_INITIALIZER_H_

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "slam/geometry/pose.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/preintegration.h"

namespace glint::slam {

// A pose and the measurement since the one before (the first one's is not used).
struct PosedMeasurement {
  Pose camera_from_world;
  Preintegration since_last;
};

struct InertialEstimate {
  Eigen::Vector3d gravity = Eigen::Vector3d::Zero();  // in the world, of the model's length
  ImuBias bias;
  std::vector<Eigen::Vector3d> velocity;  // of the sensor in the world, of each pose
  // Standard deviations: of the direction of gravity (radians, the larger of two axes), of the biases (largest axis)
  // and of the last velocity.
  double gravity_sigma = 0;
  double gyroscope_sigma = 0;
  double accelerometer_sigma = 0;
  double velocity_sigma = 0;
  // Squared whitened residuals of the measurements per degree of freedom that the unknowns leave them: about 1 where
  // noise is what the model and the options say, less where it is less, far above where poses and sensor contradict.
  double normalized_error = 0;
  // The same of the priors of gravity and of the accelerometer's bias: at most 5 on average. Far above, they contradict
  // the measurements, each of which a tilt shows in.
  double prior_error = 0;
};

struct GravityPrior {
  Eigen::Vector3d direction = Eigen::Vector3d::Zero();  // in the world, of length 1
  double sigma = 0;                                     // radians above 0, of each of two axes
};

struct InitializerOptions {
  // Standard deviations of a pose relative to the one before.
  double rotation_sigma = 0.001;  // radians
  double position_sigma = 0.005;  // metres
  // What is known before.
  BiasEstimate biases = {};
  std::optional<GravityPrior> gravity = {};
};

// The estimate that agrees best with at least 4 poses, which are held, one bias for all of them, and what is known
// before: the gyroscope's bias from rotations; without a prior of gravity a linear solution with gravity of any length;
// then Gauss-Newton on all unknowns with gravity of the model's length. At rest, gravity is the mean of what was
// measured.
//
// False, and `estimate` as it was: too few poses, a measurement of 0 seconds, gravity without a direction, no finite
// solution, or one that does not converge. Time grows with the number of poses, and with the samples that have to be
// integrated again, about another bias of the gyroscope. Pure: thread-safe. The order of sums is fixed.
bool EstimateInertial(const ImuModel& model, const InitializerOptions& options,
                      absl::Span<const PosedMeasurement> poses, InertialEstimate* estimate);

// World from a world whose gravity points along `gravity`: turns it so that z points up; x is what was ahead of the
// camera `camera_from_world`, made horizontal (its upward axis if it looks up or down), and the position of that camera
// stays where it was. Of a world that is level to 5 degrees already: the smallest rotation that makes z up, about the
// origin.
Pose LevelWorld(const Eigen::Vector3d& gravity, const Pose& camera_from_world);

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_INITIALIZER_H_
