#include "ros2/input/topics.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "ros/camera_info.h"

namespace glint::ros2 {
namespace {

constexpr char kCompressed[] = "/compressed";

absl::Status KeyError(absl::string_view key, absl::string_view topic, absl::string_view problem) {
  return ContradictionError(key, absl::StrCat("\"", Echo(topic), "\" ", problem));
}

// As image_transport names it: what is configured and remapped is the topic of raw images.
absl::StatusOr<std::string> ImageTopic(const Config& config, absl::string_view key, const std::string& name,
                                       Transport transport) {
  if (name.empty()) return std::string();
  std::string topic = config.Topic(name);
  if (absl::EndsWith(topic, "/compressedDepth")) {
    return KeyError(key, name,
                    "is compressedDepth, which is not read: take an Image of 16UC1 or 32FC1, as "
                    "image_transport's republish makes one");
  }
  const bool is_compressed = absl::EndsWith(topic, kCompressed);
  if (is_compressed && transport == Transport::kRaw) {
    return KeyError(key, name,
                    key == "camera.depth" ? "is compressed; depths are taken as Image"
                                          : "is compressed, and camera.transport is raw");
  }
  return is_compressed || transport == Transport::kRaw ? topic : absl::StrCat(topic, kCompressed);
}

std::string InfoTopic(const Config& config, const std::string& name, const std::string& images) {
  return name.empty() ? ros::CameraInfoTopic(images) : config.Topic(name);
}

absl::StatusOr<std::optional<bool>> RectifiedOf(const CameraConfig& camera, const Topics& topics) {
  if (camera.rectified != Rectified::kByName) return std::make_optional(camera.rectified == Rectified::kYes);
  const bool left = ros::IsRectified(topics.left);
  if (!topics.right.empty() && left != ros::IsRectified(topics.right)) {
    return ContradictionError("camera.rectified", absl::StrCat("of ", topics.left, " and ", topics.right,
                                                               " one is rectified by its name and the other is not"));
  }
  return left ? std::make_optional(true) : std::nullopt;
}

}  // namespace

absl::StatusOr<Topics> TopicsOf(const Config& config) {
  const CameraConfig& camera = config.camera;
  Topics topics;
  GLINT_ASSIGN_OR_RETURN(topics.left, ImageTopic(config, "camera.left", camera.left, camera.transport));
  GLINT_ASSIGN_OR_RETURN(topics.right, ImageTopic(config, "camera.right", camera.right, camera.transport));
  GLINT_ASSIGN_OR_RETURN(topics.depth, ImageTopic(config, "camera.depth", camera.depth, Transport::kRaw));
  if (topics.left == topics.second()) {
    return KeyError(camera.depth.empty() ? "camera.right" : "camera.depth", topics.left, "is camera.left, too");
  }
  GLINT_ASSIGN_OR_RETURN(topics.rectified, RectifiedOf(camera, topics));
  if (camera.calibration_files.empty() && topics.has_pairs()) {
    topics.left_info = InfoTopic(config, camera.left_info, topics.left);
    topics.right_info = InfoTopic(config, camera.right_info, topics.second());
    if (topics.left_info == topics.right_info && !topics.right.empty()) {
      return KeyError("camera.right_info", topics.right_info, "is that of the left camera, too: name one for each");
    }
    if (topics.left_info == topics.right_info) topics.right_info.clear();  // registered depths
  }
  if (!config.imu.topic.empty()) topics.imu = config.Topic(config.imu.topic);
  topics.transforms = config.Topic("/tf_static");
  return topics;
}

}  // namespace glint::ros2
