// The part of the map that odometry keeps: the last keyframes and the points that they observe.
#ifndef GLINT_SLAM_ESTIMATE_LOCAL_MAP_H_
#define GLINT_SLAM_ESTIMATE_LOCAL_MAP_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "slam/front_end/front_end.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/preintegration.h"

namespace glint::slam {

// Noise of measurements: standard deviations in pixels.
struct NoiseModel {
  double corner = 0.7;               // of a keypoint, times the scale of its level: corners are whole pixels there
  double followed = 0.15;            // of a patch that was followed from the keyframe before
  double disparity = 0.15;           // of a patch that was followed from the left image to the right one
  double vertical_disparity = 0.25;  // of the same patches, with what rectification leaves
};

// Measurement of a point in one pair, pixels of the left image.
struct Observation {
  StereoPixel pixel;          // disparities: only if is_stereo
  bool is_stereo = false;     // seen by both cameras
  double position_sigma = 1;  // standard deviations, pixels
  double disparity_sigma = 1;
  double vertical_disparity_sigma = 1;
};

// 2D-3D correspondence: a point in world coordinates and its observation.
struct Correspondence {
  Eigen::Vector3d point;
  Observation observation;
};

// The observation of a frame's keypoint.
Observation ObservationOf(const StereoFrame& frame, size_t keypoint, const NoiseModel& noise);

// A point of the local map.
struct Landmark {
  struct KeyframeObservation {
    int64_t keyframe;
    int32_t keypoint;  // of the keyframe's StereoFrame
    Observation observation;
  };
  int64_t id = 0;
  Eigen::Vector3d position;                       // world, metres
  std::vector<uint8_t> descriptor;                // of the last observation
  int octave = 0;                                 // of the last observation
  double distance = 0;                            // from the camera, at the last observation, metres
  std::vector<KeyframeObservation> observations;  // in the order of keyframes
};

struct Keyframe {
  // With an inertial sensor, once it is initialised.
  struct Inertial {
    ImuMotion motion;
    // What it was when the keyframe was the newest, and the standard deviations of its fields: a prior for adjustments
    // in which what told of it is no longer.
    ImuMotion prior;
    Eigen::Matrix<double, 9, 1> prior_sigma = Eigen::Matrix<double, 9, 1>::Ones();
    Preintegration since_last;  // from the keyframe before; of 0 seconds: nothing is known of that time
  };
  int64_t id = 0;
  Pose camera_from_world;
  std::optional<Inertial> inertial = std::nullopt;
};

struct LocalMap {
  std::deque<Keyframe> keyframes;  // by id
  std::vector<Landmark> points;    // by id

  // Index of the keyframe with this id, which must be in the map.
  size_t IndexOf(int64_t id) const;
  // Drops the oldest keyframe with its observations, and the points without any other.
  void DropOldest();
  // Drops points without observations; the order stays.
  void DropUnobserved();
};

// Two keyframes that follow each other, and what both have seen with both cameras, outliers included.
struct KeyframeStep {
  struct Point {
    Observation older, newer;
  };
  Pose newer_from_older;
  std::vector<Point> points;
};

// The correction (new world from old) of a keyframe: its own, else that of the nearest earlier one, else the first.
// `corrections` must not be empty.
const Pose& CorrectionOf(const std::map<int64_t, Pose>& corrections, int64_t keyframe);

// Squared norm of the whitened residual: expected about 2, or 4 for a stereo observation.
double SquaredResidual(const StereoPixel& projected, const Observation& observation);
// Observations with a larger squared residual are outliers; 5 % of true ones are (chi-squared with 2 or 4 degrees of
// freedom).
inline double MaxSquaredResidual(const Observation& observation) { return observation.is_stereo ? 9.488 : 5.991; }

}  // namespace glint::slam

#endif  // GLINT_SLAM_ESTIMATE_LOCAL_MAP_H_
