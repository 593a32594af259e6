// A rectified stereo camera, whose right camera may have a small residual rotation after rectification.
#ifndef GLINT_SLAM_GEOMETRY_STEREO_CAMERA_H_
#define GLINT_SLAM_GEOMETRY_STEREO_CAMERA_H_

#include <Eigen/Core>

#include "absl/status/status.h"
#include "features/types.h"
#include "slam/geometry/pose.h"

namespace glint::slam {

// The left camera looks along z, x to the right, y down; the right one sits at (baseline, 0, 0).
struct StereoCamera {
  Shape image;              // pixels of each image
  double focal_length = 0;  // pixels, of both cameras and axes
  double centre_x = 0;      // pixels
  double centre_y = 0;
  double baseline = 0;  // metres
  // right_from_left, the residual rotation of the right camera: rotation vector, radians.
  Eigen::Vector3d rig_rotation = Eigen::Vector3d::Zero();
};

Pose RightFromLeft(const StereoCamera& camera);

// OK, or INVALID_ARGUMENT that names the first bad field, its value and its range: sides 1..kMaxImageSide, focal length
// 0.1 to 10 times the width, the centre in the image, baseline 0.001..100 m, rig rotation up to 0.02 rad.
absl::Status ValidateStereoCamera(const StereoCamera& camera);

// OK, or INVALID_ARGUMENT that names that is not of the camera's shape.
absl::Status ValidatePair(const StereoCamera& camera, Shape left, Shape right);

// Projections of a point into both images, pixels.
struct StereoPixel {
  Eigen::Vector2d left;
  double disparity = 0;           // left x - right x
  double vertical_disparity = 0;  // left y - right y: 0 with a perfect rig
};

// `point` is in left camera coordinates; its z must be above 0.
StereoPixel Project(const StereoCamera& camera, const Eigen::Vector3d& point);
// Project().left.
inline Eigen::Vector2d ProjectLeft(const StereoCamera& camera, const Eigen::Vector3d& point) {
  return {camera.focal_length * (point.x() / point.z()) + camera.centre_x,
          camera.focal_length * (point.y() / point.z()) + camera.centre_y};
}

// The point, in left camera coordinates, that is seen at (x, y) with this disparity. The disparity is corrected for the
// rig's rotation first; false if what is left is not above 0.
bool Triangulate(const StereoCamera& camera, double x, double y, double disparity, Eigen::Vector3d* point);

}  // namespace glint::slam

#endif  // GLINT_SLAM_GEOMETRY_STEREO_CAMERA_H_
