// Prediction of the next frame's pose: constant velocity.
#ifndef GLINT_SLAM_ODOMETRY_MOTION_MODEL_H_
#define GLINT_SLAM_ODOMETRY_MOTION_MODEL_H_

#include "slam/geometry/pose.h"

namespace glint::slam {

// Where a frame is expected before its keypoints are matched.
struct PosePrediction {
  Pose camera_from_world;
  bool is_known = false;   // otherwise it is the last pose, which may be anywhere
  double uncertainty = 1;  // factor of the search radius, above 0; 1: that of the next frame at the measured interval
};

// Not thread-safe.
class MotionModel {
 public:
  // Forgets the velocity.
  void Reset() { is_known_ = false; }
  bool is_known() const { return is_known_; }
  // Measures the velocity between two located frames, `seconds` > 0 apart.
  void Update(const Pose& from, const Pose& to, double seconds);
  // The pose `seconds` after `last`, where the last `skipped` frames were not located.
  PosePrediction Predict(const Pose& last, double seconds, int skipped) const;

 private:
  Pose velocity_;        // camera now from camera a second ago
  double interval_ = 0;  // seconds between the two frames that it was measured from
  bool is_known_ = false;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ODOMETRY_MOTION_MODEL_H_
