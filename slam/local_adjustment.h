// Bundle adjustment of the local map: keyframes, points and, if asked, the rotation of the rig.
#ifndef GLINT_SLAM_LOCAL_ADJUSTMENT_H_
#define GLINT_SLAM_LOCAL_ADJUSTMENT_H_

#include "slam/local_map.h"
#include "slam/stereo_camera.h"

namespace glint::slam {

struct AdjustmentOptions {
  int fixed_keyframes = 1;   // the oldest ones, at least 1
  bool refine_rig = false;   // camera.rig_rotation is estimated, too
  double rig_prior = 0.002;  // radians: its standard deviation about 0 before anything is seen
  int iterations = 10;
};

// Levenberg-Marquardt with the Schur complement (Ceres, one thread, so that every sum has one order), Huber's loss.
// Sights beyond LargestSquaredError afterwards leave the map.
void AdjustLocally(const AdjustmentOptions& options, StereoCamera* camera, LocalMap* map);

}  // namespace glint::slam

#endif  // GLINT_SLAM_LOCAL_ADJUSTMENT_H_
