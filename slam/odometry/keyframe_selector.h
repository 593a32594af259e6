// When odometry takes a keyframe.
#ifndef GLINT_SLAM_ODOMETRY_KEYFRAME_SELECTOR_H_
#define GLINT_SLAM_ODOMETRY_KEYFRAME_SELECTOR_H_

#include <cstdint>

#include "slam/odometry/pose_finder.h"

namespace glint::slam {

// Not thread-safe.
class KeyframeSelector {
 public:
  // OdometryOptions::keyframe_share and max_keyframe_gap.
  KeyframeSelector(double share, int max_gap) : share_(share), max_gap_(max_gap) {}

  // Counts a frame, located or not; before IsDue().
  void CountFrame() { ++frames_; }
  // Whether a located frame, with at least one inlier, is to be the keyframe `next` of its map, counted from 0.
  // `measured`: points that the frame itself measures. `is_late`: as many frames as max_keyframe_gap count as passed.
  bool IsDue(const LocalMap& map, int64_t reference_keyframe, int64_t next, size_t measured,
             const FrameMatches& matches, bool is_late = false);
  // Whether so few inliers may be too few for the next frame.
  static bool IsFew(int inliers, size_t measured);
  // Starts over, at a keyframe.
  void Reset() { frames_ = first_inliers_ = 0; }

 private:
  const double share_;
  const int max_gap_;
  int frames_ = 0;         // since the last keyframe
  int first_inliers_ = 0;  // of the first located frame after it; 0: none yet
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ODOMETRY_KEYFRAME_SELECTOR_H_
