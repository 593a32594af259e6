// What the server is told of a stream: cameras, inertial sensor, detector.
#ifndef GLINT_ROS2_OPERATIONS_LOCALIZE_STREAM_OPTIONS_H_
#define GLINT_ROS2_OPERATIONS_LOCALIZE_STREAM_OPTIONS_H_

#include "absl/status/statusor.h"
#include "client/localization.h"
#include "ros2/config/config.h"
#include "ros2/input/input.h"

namespace glint::ros2 {

// Frames that are with the server at most.
int LocalizeWindow(const LocalizeConfig& config);

// INVALID_ARGUMENT: the detector, or there is neither a pair of cameras nor one with depth. FAILED_PRECONDITION: an
// inertial sensor is configured, and where it sits is not known.
absl::StatusOr<client::LocalizeStreamOptions> LocalizeOptionsOf(const Config& config, const Cameras& cameras);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LOCALIZE_STREAM_OPTIONS_H_
