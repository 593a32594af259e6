#include "ros2/dds/environment.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "features/error.h"

namespace glint::ros2 {
namespace {

constexpr int kMaxDomain = 232;  // ports end there
constexpr size_t kMaxPeers = 64;
constexpr size_t kMaxHostBytes = 256;

std::string Get(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

absl::StatusOr<Environment> ReadEnvironment() {
  Environment environment;
  const std::string domain = Get("ROS_DOMAIN_ID");
  if (!domain.empty() &&
      (!absl::SimpleAtoi(domain, &environment.domain) || environment.domain < 0 || environment.domain > kMaxDomain)) {
    return OutOfRangeError("ROS_DOMAIN_ID", Echo(domain), 0, kMaxDomain);
  }
  environment.profiles = Get("FASTRTPS_DEFAULT_PROFILES_FILE");

  const std::string localhost = Get("ROS_LOCALHOST_ONLY");
  if (!localhost.empty() && localhost != "0" && localhost != "1") {
    return NotOneOfError("ROS_LOCALHOST_ONLY", localhost, "0, 1");
  }
  const std::string range = Get("ROS_AUTOMATIC_DISCOVERY_RANGE");
  if (range == "OFF") {
    environment.range = DiscoveryRange::kOff;
  } else if (range == "LOCALHOST") {
    environment.range = DiscoveryRange::kLocalhost;
  } else if (range == "SYSTEM_DEFAULT") {
    environment.range = DiscoveryRange::kSystemDefault;
  } else if (!range.empty() && range != "SUBNET") {
    return NotOneOfError("ROS_AUTOMATIC_DISCOVERY_RANGE", range, "OFF, LOCALHOST, SUBNET, SYSTEM_DEFAULT");
  }
  environment.peers = absl::StrSplit(Get("ROS_STATIC_PEERS"), ';', absl::SkipWhitespace());
  if (environment.peers.size() > kMaxPeers) {
    return OutOfRangeError("ROS_STATIC_PEERS", environment.peers.size(), size_t{0}, kMaxPeers);
  }
  for (const std::string& peer : environment.peers) {
    if (peer.size() > kMaxHostBytes) return TooLargeError("ROS_STATIC_PEERS", peer.size(), kMaxHostBytes);
  }
  if (localhost == "1") {
    environment.range = DiscoveryRange::kLocalhost;
    environment.peers.clear();
  }
  return environment;
}

}  // namespace glint::ros2
