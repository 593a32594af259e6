// Whole names of the topics that come in.
#ifndef GLINT_ROS2_INPUT_TOPICS_H_
#define GLINT_ROS2_INPUT_TOPICS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "ros2/config/config.h"

namespace glint::ros2 {

// Empty: there is none.
struct Topics {
  std::string left, right, depth;     // of images; compressed ones with "/compressed"
  std::string left_info, right_info;  // of CameraInfo, where calibrations are not files; of depths, right_info
  std::string imu;
  std::string transforms;         // "/tf_static", which is always there
  std::optional<bool> rectified;  // whether the images are; nothing: as their calibration says

  bool has_pairs() const { return !right.empty() || !depth.empty(); }
  const std::string& second() const { return right.empty() ? depth : right; }
};

// Of a configuration that CheckConfig() takes. INVALID_ARGUMENT names the key: a topic twice, a transport that is not
// read, images of which one is rectified by its name and the other is not.
absl::StatusOr<Topics> TopicsOf(const Config& config);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_INPUT_TOPICS_H_
