// How an image with depths becomes what a stereo camera would have seen: the depth of a keypoint is taken as the
// disparity that a right camera at the baseline would show, focal length * baseline / depth. So the pose, the map
// and all errors are those of stereo pairs.
#ifndef GLINT_SLAM_FRONT_END_DEPTH_RULES_H_
#define GLINT_SLAM_FRONT_END_DEPTH_RULES_H_

#include "absl/status/status.h"
#include "features/camera_view.h"
#include "features/depth.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// OK, or INVALID_ARGUMENT that names the first bad field, its value and its range: unit 1e-6..1 m, nearest 0..1000 m,
// farthest 0 or from nearest to 1000 m.
absl::Status ValidateDepthSensor(const DepthSensor& sensor);

// OK, or INVALID_ARGUMENT: both images, or image and depth, and masks must have the camera's shape; with depth the
// sensor must be valid, the camera without rig_rotation, and the view without a right mask, as there is no right
// camera.
absl::Status ValidateView(const StereoCamera& camera, const CameraView& view);

// The keypoints of a valid view. Errors of the front end.
absl::Status FindIn(const CameraView& view, const StereoCamera& camera, FrontEnd* front_end, StereoFrame* frame);

// Sets is_stereo, disparity and vertical_disparity of all keypoints of frame->left, which lie within the image. The
// four pixels around a keypoint must have a depth within the sensor's limits, and disparities that differ by at most a
// pixel: a keypoint on an edge between near and far may belong to either of them. Their disparities
// are interpolated: along a plane these, and not depths, are linear in the image. Without that a keypoint is not
// stereo.
void PutDepths(const StereoCamera& camera, const DepthView& depth, StereoFrame* frame);

}  // namespace glint::slam

#endif  // GLINT_SLAM_FRONT_END_DEPTH_RULES_H_
