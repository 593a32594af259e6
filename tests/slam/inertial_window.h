// Local maps of a stereo camera with an inertial sensor, whose truth is an analytic path.
#ifndef GLINT_TESTS_SLAM_INERTIAL_WINDOW_H_
#define GLINT_TESTS_SLAM_INERTIAL_WINDOW_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "slam/adjust/local_adjustment.h"
#include "slam/geometry/pose.h"

namespace glint::slam {

struct InertialScene {
  uint32_t seed = 1;
  size_t points = 300;
  size_t keyframes = 15;
  size_t blind = 0;       // a keyframe without observations; 0: none
  double noise = 1;       // of measurements, in their standard deviations
  double bias_error = 1;  // what the standard deviations of the prior's biases are multiplied by
  double knock = 0;       // m/s^2 that the accelerometer is off by for 50 ms before the keyframe in the middle
};

// Keyframes 0.3 s apart of someone who walks, looks around and nods; the world's z points up. Stereo observations have
// noise of 0.3 pixels, readings at 200 Hz that of the model. The oldest keyframe's pose is the true one; the others,
// points and motions of `problem` are off.
class InertialWindow {
 public:
  explicit InertialWindow(const InertialScene& scene);

  // Differences from the truth: a keyframe's velocity and biases; root mean squares of all keyframes' poses, in metres
  // and radians.
  Eigen::Matrix<double, 9, 1> MotionError(size_t keyframe) const;
  double PositionError() const;
  double RotationError() const;
  // Makes all unknowns the true ones.
  void TakeTruth();

  LocalProblem problem;
  std::vector<Pose> poses;  // the truth
  std::vector<ImuMotion> motions;
  std::vector<Eigen::Vector3d> positions;

 private:
  Eigen::Vector3d Vector(double sigma);
  Eigen::Vector3d Noise(double sigma) { return Vector(scene_.noise * sigma); }
  void AddKeyframes();
  Preintegration Measured(size_t to);
  // Points ahead of the path, each seen by up to six keyframes in a row.
  void AddPoints();

  const InertialScene scene_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_{0, 1};
};

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_INERTIAL_WINDOW_H_
