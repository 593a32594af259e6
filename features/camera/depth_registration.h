// Registration of depth: which pixels of a camera without lens see what a depth sensor beside it has measured.
#ifndef GLINT_FEATURES_CAMERA_DEPTH_REGISTRATION_H_
#define GLINT_FEATURES_CAMERA_DEPTH_REGISTRATION_H_

#include "absl/status/statusor.h"
#include "features/camera/camera.h"
#include "features/camera/depth_table.h"
#include "features/camera/rectification.h"
#include "features/camera/rgbd_camera.h"
#include "features/camera/rig.h"

namespace glint {

// The camera that the images become, UndistortCamera(), with the nominal baseline. INVALID_ARGUMENT names what cannot
// be: the baseline, camera and options as there, and a depth camera with pixels of more than half of
// DepthTable::kMostPixels.
absl::StatusOr<RectifiedPair> UndistortRgbd(const RgbdCamera& rgbd);

// The table for the pixels of `depth_camera`, which is valid, in the image of a pinhole camera (`to`). Thread-safe.
DepthTable MakeDepthTable(const Camera& depth_camera, const RigidTransform& to_from_depth, const Camera& to);

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_DEPTH_REGISTRATION_H_
