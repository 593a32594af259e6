#include "client/cli/source/bag_frames.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ros/messages.h"

namespace glint::cli {
namespace {

// From the axes of the second frame to those of the first.
using Transforms = std::map<std::pair<std::string, std::string>, RigidTransform>;

// ROS 1 also has them with a slash in front.
std::string FrameName(const std::string& name) { return std::string(absl::StripPrefix(name, "/")); }

// Of the first message of a topic; empty: there is none that can be read.
std::string FrameOf(BagFile* bag, int index) {
  const auto reader = bag->Read({index});
  bag::Message message;
  if (!reader.ok() || !(*reader)->Next(&message).ok()) return "";
  const bag::Topic& topic = bag->topic(index);
  const auto frame_in = [&](auto read) {
    return ReadMessage(topic, message.data, &read).ok() ? FrameName(read.header.frame_id) : "";
  };
  switch (KindOf(topic)) {
    case TopicKind::kImage:
      return frame_in(ros::Image());
    case TopicKind::kCompressedImage:
      return frame_in(ros::CompressedImage());
    case TopicKind::kImu:
      return frame_in(ros::Imu());
    case TopicKind::kCameraInfo:
    case TopicKind::kOther:
      break;
  }
  return "";
}

std::optional<RigidTransform> TransformOf(const ros::Transform& transform) {
  const ros::Quaternion& q = transform.rotation;
  const Eigen::Quaterniond rotation(q.w, q.x, q.y, q.z);
  const Eigen::Vector3d translation(transform.translation.x, transform.translation.y, transform.translation.z);
  if (!(std::abs(rotation.norm() - 1) < 1e-2) || !translation.allFinite()) return std::nullopt;
  return RigidTransform{rotation.normalized().toRotationMatrix(), translation};
}

// Both ways.
Transforms ReadTransforms(BagFile* bag) {
  Transforms transforms;
  for (size_t i = 0; i < bag->topics().size(); ++i) {
    const bag::Topic& topic = bag->topics()[i];
    if (topic.name != "/tf_static" || topic.type != ros::TFMessage::kName) continue;
    const auto reader = bag->Read({static_cast<int>(i)});
    bag::Message message;
    ros::TFMessage read;
    while (reader.ok() && (*reader)->Next(&message).ok()) {
      if (!ReadMessage(topic, message.data, &read).ok()) continue;
      for (const ros::TransformStamped& stamped : read.transforms) {
        const std::string parent = FrameName(stamped.header.frame_id), child = FrameName(stamped.child_frame_id);
        const auto transform = TransformOf(stamped.transform);
        if (!transform.has_value()) continue;
        transforms[{parent, child}] = *transform;
        transforms[{child, parent}] = transform->Inverse();
      }
    }
  }
  return transforms;
}

// The shortest chain.
std::optional<RigidTransform> Chain(const Transforms& transforms, const std::string& to, const std::string& from) {
  std::map<std::string, RigidTransform> to_from = {{to, {}}};
  std::vector<std::string> reached = {to};
  for (size_t i = 0; i < reached.size() && to_from.count(from) == 0; ++i) {
    for (auto at = transforms.lower_bound({reached[i], ""}); at != transforms.end() && at->first.first == reached[i];
         ++at) {
      const std::string& next = at->first.second;
      if (to_from.emplace(next, to_from.at(reached[i]) * at->second).second) reached.push_back(next);
    }
  }
  const auto found = to_from.find(from);
  return found == to_from.end() ? std::nullopt : std::make_optional(found->second);
}

}  // namespace

std::optional<RigidTransform> CameraFromImu(BagFile* bag, const std::string& camera, const std::string& imu) {
  const Transforms transforms = ReadTransforms(bag);
  const auto camera_topic = bag->FindCamera(camera);
  if (transforms.empty() || !camera_topic.ok()) return std::nullopt;
  const std::string camera_frame = FrameOf(bag, *camera_topic);
  std::optional<RigidTransform> found;
  for (const absl::string_view name : absl::StrSplit(imu, ',')) {
    const auto topic = bag->FindImu(name);
    if (!topic.ok() || camera_frame.empty()) return std::nullopt;
    const auto pose = Chain(transforms, camera_frame, FrameOf(bag, *topic));
    if (!pose.has_value()) return std::nullopt;
    constexpr double kSameAxes = 1e-6;
    if (found.has_value() && !found->rotation.isApprox(pose->rotation, kSameAxes)) return std::nullopt;
    if (!found.has_value()) found = pose;
  }
  return found;
}

}  // namespace glint::cli
