#include "client/cli/source/bag_frames.h"

#include <string>

#include "absl/strings/str_split.h"
#include "ros/messages.h"
#include "ros/transforms.h"

namespace glint::cli {
namespace {

// Of the first message of a topic; empty: there is none that can be read.
std::string FrameOf(BagFile* bag, int index) {
  const auto reader = bag->Read({index});
  bag::Message message;
  if (!reader.ok() || !(*reader)->Next(&message).ok()) return "";
  const bag::Topic& topic = bag->topic(index);
  const auto frame_in = [&](auto read) {
    return ReadMessage(topic, message.data, &read).ok() ? read.header.frame_id : std::string();
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

ros::Transforms ReadTransforms(BagFile* bag) {
  ros::Transforms transforms;
  for (size_t i = 0; i < bag->topics().size(); ++i) {
    const bag::Topic& topic = bag->topics()[i];
    if (topic.name != "/tf_static" || topic.type != ros::TFMessage::kName) continue;
    const auto reader = bag->Read({static_cast<int>(i)});
    bag::Message message;
    ros::TFMessage read;
    while (reader.ok() && (*reader)->Next(&message).ok()) {
      if (ReadMessage(topic, message.data, &read).ok()) transforms.Add(read).IgnoreError();
    }
  }
  return transforms;
}

}  // namespace

std::optional<RigidTransform> CameraFromImu(BagFile* bag, const std::string& camera, const std::string& imu) {
  const ros::Transforms transforms = ReadTransforms(bag);
  const auto camera_topic = bag->FindCamera(camera);
  if (transforms.empty() || !camera_topic.ok()) return std::nullopt;
  const std::string camera_frame = FrameOf(bag, *camera_topic);
  std::optional<RigidTransform> found;
  for (const absl::string_view name : absl::StrSplit(imu, ',')) {
    const auto topic = bag->FindImu(name);
    if (!topic.ok() || camera_frame.empty()) return std::nullopt;
    const auto pose = transforms.Find(camera_frame, FrameOf(bag, *topic));
    if (!pose.has_value()) return std::nullopt;
    constexpr double kSameAxes = 1e-6;
    if (found.has_value() && !found->rotation.isApprox(pose->rotation, kSameAxes)) return std::nullopt;
    if (!found.has_value()) found = pose;
  }
  return found;
}

}  // namespace glint::cli
