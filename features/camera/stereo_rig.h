// Two cameras whose images are rectified.
#ifndef GLINT_FEATURES_CAMERA_STEREO_RIG_H_
#define GLINT_FEATURES_CAMERA_STEREO_RIG_H_

#include <string>

#include "features/camera/camera.h"
#include "features/camera/rectification.h"
#include "features/camera/rig.h"

namespace glint {

// Cameras of equal image size that are fixed to each other, and what their rectified images are to be like.
struct StereoRig {
  Camera left, right;
  RigidTransform right_from_left;
  RectifyOptions rectify;
  std::string name = {};  // of a calibration that the server has, in place of cameras and pose; empty: none
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_STEREO_RIG_H_
