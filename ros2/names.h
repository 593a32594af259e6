// Names of ROS 2: what is allowed, whole names of short ones, remapping, and what DDS calls them. Pure functions.
// https://design.ros2.org/articles/topic_and_service_names.html
#ifndef GLINT_ROS2_NAMES_H_
#define GLINT_ROS2_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint::ros2 {

// INVALID_ARGUMENT says what is wrong. A node's name: letters, digits, '_', not a digit first. A namespace: "/", or
// words of this kind with a '/' before each.
absl::Status CheckNodeName(absl::string_view name);
absl::Status CheckNamespace(absl::string_view name);

// The whole name of a topic or service: "x" is NAMESPACE/x, "~/x" is NAMESPACE/NODE/x, "/x" is itself.
// INVALID_ARGUMENT: it is none, or has more than 247 characters; substitutions ("{node}") are not supported.
absl::StatusOr<std::string> WholeName(absl::string_view name, absl::string_view node_namespace, absl::string_view node);

struct Remap {
  std::string from, to;  // as given: short or whole
  std::string node;      // only in the node of this name; empty: in any
};
// `name` after the first of the remaps for this node whose `from` is the same topic; whole.
absl::StatusOr<std::string> Remapped(absl::string_view name, const std::vector<Remap>& remaps,
                                     absl::string_view node_namespace, absl::string_view node);

// "rt/x" of "/x"; "rq/xRequest" and "rr/xReply" of a service.
std::string DdsTopic(absl::string_view topic);
std::string DdsRequestTopic(absl::string_view service);
std::string DdsReplyTopic(absl::string_view service);
// "sensor_msgs::msg::dds_::Image_" of "sensor_msgs/msg/Image"; likewise of "std_srvs/srv/Trigger_Request".
std::string DdsType(absl::string_view type);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_NAMES_H_
