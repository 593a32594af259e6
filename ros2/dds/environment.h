// What the environment variables of ROS 2 say of the network.
#ifndef GLINT_ROS2_DDS_ENVIRONMENT_H_
#define GLINT_ROS2_DDS_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace glint::ros2 {

// Where other nodes are looked for.
enum class DiscoveryRange { kOff, kLocalhost, kSubnet, kSystemDefault };

struct Environment {
  int domain = 0;  // 0..232
  DiscoveryRange range = DiscoveryRange::kSubnet;
  std::vector<std::string> peers;  // addresses or names of hosts to ask besides
  std::string profiles;            // a file of Fast DDS; empty: none
};

// ROS_DOMAIN_ID, ROS_LOCALHOST_ONLY (which the next two give way to), ROS_AUTOMATIC_DISCOVERY_RANGE, ROS_STATIC_PEERS,
// FASTRTPS_DEFAULT_PROFILES_FILE. INVALID_ARGUMENT names the variable, its value and what is allowed.
absl::StatusOr<Environment> ReadEnvironment();

}  // namespace glint::ros2

#endif  // GLINT_ROS2_DDS_ENVIRONMENT_H_
