// Where the camera is: poses and a map of the server, as odometry and transforms of ROS.
#ifndef GLINT_ROS2_OPERATIONS_LOCALIZE_LOCALIZE_H_
#define GLINT_ROS2_OPERATIONS_LOCALIZE_LOCALIZE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "ros2/operations/context.h"
#include "ros2/operations/operation.h"

namespace glint::ros2 {

// Frames that it has at most: those that wait, that are written, and that are with the server.
int LocalizeFrames(const LocalizeConfig& config);

// Publishes odometry, pose, path, map_points, /tf and /tf_static; serves ~/reset, ~/save_map and ~/load_map
// (std_srvs/srv/Trigger), and takes names of maps on ~/save_map_as and ~/load_map_from (std_msgs/msg/String).
// Errors of Participant, or RESOURCE_EXHAUSTED for want of a thread.
absl::StatusOr<std::unique_ptr<Operation>> MakeLocalize(const Context& context);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LOCALIZE_LOCALIZE_H_
