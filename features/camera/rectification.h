// Rectification: maps from a lens's image to a pinhole's, and the pinhole cameras that a stereo rig becomes.
#ifndef GLINT_FEATURES_CAMERA_RECTIFICATION_H_
#define GLINT_FEATURES_CAMERA_RECTIFICATION_H_

#include <Eigen/Core>

#include "absl/status/statusor.h"
#include "features/camera/camera.h"
#include "features/camera/remap_table.h"
#include "features/camera/rig.h"
#include "features/types.h"

namespace glint {

// The table for a pinhole camera (`to`: its model must be kPinhole; its image is the table's shape) that sees what
// `from` sees, turned by `to_from_camera`. Entries are those of cv::initUndistortRectifyMap (CV_16SC2) and of
// cv::fisheye's for the models that OpenCV has. Pixels that `from` cannot see, or sees beyond 16 bits, are kNowhere.
RemapTable MakeRemapTable(const Camera& from, const Eigen::Matrix3d& to_from_camera, const Camera& to);

struct RectifyOptions {
  Shape image;  // of the rectified images; 0 x 0: the left camera's
  // Pixels. 0: the smallest that leaves no pixel without a source, within `max_field`.
  double focal_length = 0;
  double max_field = 120;  // degrees, 10..150: horizontal field of the rectified images
};

// A rectified pair of cameras; or a single one, the left, whose lens is undone: it is not turned, and the right one,
// which is not there, has a baseline of 0.
struct RectifiedPair {
  Camera camera;        // pinhole with fx = fy, of both images
  double baseline = 0;  // metres; the right camera sits at (baseline, 0, 0) of the left one
  Eigen::Matrix3d rectified_from_left, rectified_from_right;
  double uncovered = 0;  // share of pixels of both images without a source, 0..1; from every n-th of them
};

// Turns each camera by half of the rotation between them, then both to the baseline (Bouguet's method, as
// cv::stereoRectify). INVALID_ARGUMENT names what cannot be: cameras one above the other or exchanged, no baseline, a
// field that the lens does not have.
absl::StatusOr<RectifiedPair> RectifyPair(const Camera& left, const Camera& right,
                                          const RigidTransform& right_from_left, const RectifyOptions& options);

// The pinhole camera that a camera becomes without its lens, by the rules of RectifyPair(). INVALID_ARGUMENT names what
// cannot be.
absl::StatusOr<RectifiedPair> UndistortCamera(const Camera& camera, const RectifyOptions& options);

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_RECTIFICATION_H_
