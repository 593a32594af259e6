// Bundle adjustment of the local map: keyframes, points and, optionally, the rotation of the rig. The problem is a copy
// of its own, so that another thread can solve it.
#ifndef GLINT_SLAM_ADJUST_LOCAL_ADJUSTMENT_H_
#define GLINT_SLAM_ADJUST_LOCAL_ADJUSTMENT_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "slam/estimate/local_map.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

struct AdjustmentOptions {
  int fixed_keyframes = 1;   // the oldest ones, at least 1
  bool refine_rig = false;   // camera.rig_rotation is estimated, too
  double rig_prior = 0.002;  // radians: its standard deviation about 0 before anything is seen
  int iterations = 10;
};

// What an inertial sensor adds: the motions of the keyframes, of which all have `inertial`, and what was measured
// between them.
struct InertialProblem {
  using Vector9 = Eigen::Matrix<double, 9, 1>;  // velocity, gyroscope's bias, accelerometer's
  ImuModel model;
  Eigen::Vector3d gravity = Eigen::Vector3d::Zero();  // in the world, held
  ImuMotion prior;                                    // of the oldest keyframe's motion
  Vector9 prior_sigma = Vector9::Ones();              // above 0
  Vector9 newest_sigma = Vector9::Ones();             // afterwards: standard deviations of the newest keyframe's motion
};

struct LocalProblem {
  using Inertial = InertialProblem;
  struct KeyframeObservation {
    size_t keyframe = 0;  // index in `keyframes`
    Observation observation;
    bool is_outlier = false;  // afterwards: beyond MaxSquaredResidual
  };
  struct Point {
    int64_t id = 0;
    Eigen::Vector3d position = Eigen::Vector3d::Zero();
    size_t first = 0;  // of its observations, one after another
    size_t count = 0;
  };
  StereoCamera camera;
  std::optional<Inertial> inertial;
  std::vector<Keyframe> keyframes;
  std::vector<Point> points;  // those of two observations and more: a single one does not constrain the pose
  std::vector<KeyframeObservation> observations;
  // Afterwards: standard deviations of camera.rig_rotation, radians; 0 unless it is estimated.
  Eigen::Vector3d rig_uncertainty = Eigen::Vector3d::Zero();
};

LocalProblem ProblemOf(const StereoCamera& camera, const LocalMap& map);

// Levenberg-Marquardt with the Schur complement (local_equations.h) and Huber's loss, on the caller's thread: at most
// `iterations` solutions, so that work is bounded by counts and not by a clock. With an inertial sensor, what was
// measured is first integrated again about the biases of the keyframes (Preintegration::Relinearize).
void Adjust(const AdjustmentOptions& options, LocalProblem* problem);

// Copies poses, motions and positions into the map; outliers leave it. Points of one observation are triangulated anew.
// Since ProblemOf(), the keyframes and observations of the map must not have changed.
void ApplySolution(const LocalProblem& solved, LocalMap* map);

}  // namespace glint::slam

#endif  // GLINT_SLAM_ADJUST_LOCAL_ADJUSTMENT_H_
