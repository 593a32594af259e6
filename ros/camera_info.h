// CameraInfo: where it is beside images, and as the calibration file that ROS's camera_calibration writes. Pure
// functions.
#ifndef GLINT_ROS_CAMERA_INFO_H_
#define GLINT_ROS_CAMERA_INFO_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ros/sensor_messages.h"

namespace glint::ros {

// For calibration/, which judges its numbers. `name` is the camera's there, so far as it is UTF-8 of at most 100 bytes.
// INVALID_ARGUMENT: the images are not what was calibrated, but binned, or a part of it (`binning_x`, `roi`...).
absl::StatusOr<std::string> CalibrationYaml(const CameraInfo& info, absl::string_view name);

// Where the calibration of a topic of images is: "/cam0/camera_info" of "/cam0/image_raw" and of
// "/cam0/image_raw/compressed".
std::string CameraInfoTopic(absl::string_view images);
// Whether a topic's images are rectified, by its name: the last word, transport aside, begins with "image_rect".
bool IsRectified(absl::string_view images);

// Whether images of both have the same pixels, as those of a camera and of depths registered to it.
bool HaveOnePixelGrid(const CameraInfo& a, const CameraInfo& b);

}  // namespace glint::ros

#endif  // GLINT_ROS_CAMERA_INFO_H_
