// CameraInfo as the calibration file that ROS's camera_calibration writes.
#ifndef GLINT_ROS_CAMERA_INFO_H_
#define GLINT_ROS_CAMERA_INFO_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ros/sensor_messages.h"

namespace glint::ros {

// For calibration/, which judges its numbers. `name` is the camera's there, so far as it is UTF-8 of at most 100 bytes.
// INVALID_ARGUMENT: the images are not what was calibrated, but binned, or a part of it (`binning_x`, `roi`...). Pure.
absl::StatusOr<std::string> CalibrationYaml(const CameraInfo& info, absl::string_view name);

}  // namespace glint::ros

#endif  // GLINT_ROS_CAMERA_INFO_H_
