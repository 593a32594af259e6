// A camera with a sensor of depth, neither of which is rectified.
#ifndef GLINT_FEATURES_CAMERA_RGBD_CAMERA_H_
#define GLINT_FEATURES_CAMERA_RGBD_CAMERA_H_

#include <optional>
#include <string>

#include "features/camera/camera.h"
#include "features/camera/rectification.h"
#include "features/camera/rig.h"

namespace glint {

// Ranges are those of glint.v1.RgbdCamera.
struct RgbdCamera {
  Camera camera;                       // of the images
  std::optional<Camera> depth_camera;  // of the depths; none: they are registered, of the camera's own pixels
  RigidTransform camera_from_depth;    // with depth_camera
  double baseline = 0.08;              // metres; nominal
  RectifyOptions rectify;              // what the images without the lens are to be like
  std::string name = {};  // of a calibration that the server has, in place of cameras and pose; empty: none
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_RGBD_CAMERA_H_
