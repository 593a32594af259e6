#include "client/view/foxglove/messages.h"

#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "bench/json.h"
#include "client/view/foxglove/schemas.pb.h"
#include "features/utf8.h"

namespace glint::view {
namespace {

constexpr char kMap[] = "map", kCamera[] = "camera";  // frames
constexpr size_t kMaxPoses = 1024;                    // of a path
constexpr double kThickness = 2, kDot = 4;            // pixels

void SetTime(absl::Time time, google::protobuf::Timestamp* to) {
  const timespec at = absl::ToTimespec(time);
  to->set_seconds(at.tv_sec);
  to->set_nanos(static_cast<int32_t>(at.tv_nsec));
}

// From blue over green to red, as the page's.
void SetRamp(uint8_t value, foxglove::Color* to) {
  const double share = value / 255.0;
  const auto ramp = [](double from_peak) { return std::clamp(2 - 4 * std::abs(from_peak), 0.0, 1.0); };
  to->set_r(ramp(share - 1));
  to->set_g(ramp(share - 0.5));
  to->set_b(ramp(share));
  to->set_a(1);
}

// Octaves from green over yellow to red.
void SetColor(Palette palette, uint8_t value, foxglove::Color* to) {
  constexpr int kFirst = 128, kStep = 18;
  SetRamp(palette == Palette::kRamp ? value : static_cast<uint8_t>(std::min(kFirst + kStep * value, 255)), to);
}

template <typename Translation, typename Rotation>
void SetPose(const Pose& pose, Translation* translation, Rotation* rotation) {
  translation->set_x(pose.position[0]);
  translation->set_y(pose.position[1]);
  translation->set_z(pose.position[2]);
  rotation->set_x(pose.rotation[0]);
  rotation->set_y(pose.rotation[1]);
  rotation->set_z(pose.rotation[2]);
  rotation->set_w(pose.rotation[3]);
}

void SetPose(const Pose& pose, foxglove::Pose* to) { SetPose(pose, to->mutable_position(), to->mutable_orientation()); }

// Foxglove counts pixels from the picture's corner; here 0 is the centre of the first.
void AddPoint(const Point& point, double scale, foxglove::PointsAnnotation* to) {
  foxglove::Point2* const at = to->add_points();
  at->set_x((point.x + 0.5) * scale);
  at->set_y((point.y + 0.5) * scale);
}

foxglove::ImageAnnotations Annotations(const Scene& scene, double scale, absl::Time time) {
  foxglove::ImageAnnotations all;
  SetTime(time, all.mutable_timestamp());
  if (!scene.marks.empty()) {
    foxglove::PointsAnnotation* const dots = all.add_points();
    SetTime(time, dots->mutable_timestamp());
    dots->set_type(foxglove::PointsAnnotation::POINTS);
    dots->set_thickness(kDot);
    SetColor(scene.palette, 0, dots->mutable_outline_color());
    for (const Mark& mark : scene.marks) {
      AddPoint(mark.at, scale, dots);
      SetColor(scene.palette, mark.color, dots->add_outline_colors());
    }
  }
  for (const Trail& trail : scene.trails) {
    foxglove::PointsAnnotation* const line = all.add_points();
    SetTime(time, line->mutable_timestamp());
    // A strip of one point is nothing.
    line->set_type(trail.points.size() > 1 ? foxglove::PointsAnnotation::LINE_STRIP
                                           : foxglove::PointsAnnotation::POINTS);
    line->set_thickness(trail.points.size() > 1 ? kThickness : kDot);
    SetRamp(trail.color, line->mutable_outline_color());
    for (const Point& point : trail.points) AddPoint(point, scale, line);
  }
  return all;
}

foxglove::PosesInFrame Path(const std::vector<Step>& path, absl::Time time) {
  foxglove::PosesInFrame all;
  SetTime(time, all.mutable_timestamp());
  all.set_frame_id(kMap);
  const size_t every = (path.size() + kMaxPoses - 1) / kMaxPoses;
  for (size_t i = 0; i < path.size(); ++i) {
    const bool shown = i % every == 0 || i + 1 == path.size();
    if (shown && path[i].state == Step::kLocated) SetPose(path[i].pose, all.add_poses());
  }
  return all;
}

foxglove::PointCloud Cloud(const MapPoints& points, absl::Time time) {
  using Field = foxglove::PackedElementField;
  foxglove::PointCloud cloud;
  SetTime(time, cloud.mutable_timestamp());
  cloud.set_frame_id(kMap);
  SetPose({}, cloud.mutable_pose());
  cloud.set_point_stride(3 * sizeof(float));
  uint32_t offset = 0;
  for (const char* name : {"x", "y", "z"}) {
    Field* const field = cloud.add_fields();
    field->set_name(name);
    field->set_offset(offset);
    field->set_type(Field::FLOAT32);
    offset += sizeof(float);
  }
  std::string* const data = cloud.mutable_data();
  data->reserve(points.size() * offset);
  for (const auto& point : points) {
    for (const float value : point) {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      for (int shift = 0; shift < 32; shift += 8) data->push_back(static_cast<char>(bits >> shift & 0xff));
    }
  }
  return cloud;
}

std::string Stages(const Scene& scene) {
  bench::JsonWriter json(bench::JsonWriter::Layout::kOneLine);
  json.BeginObject().Key("frame").String(scene.name).Key("stages").BeginArray();
  for (const auto& [name, ns] : scene.stages) {
    json.BeginObject().Key("name").String(name).Key("ms").Number(static_cast<double>(ns) * 1e-6).EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

std::string LogMessage(foxglove::Log::Level level, const std::string& text, absl::Time time) {
  foxglove::Log log;
  SetTime(time, log.mutable_timestamp());
  log.set_level(level);
  log.set_message(Utf8Text(text));
  log.set_name("glint");
  return log.SerializeAsString();
}

}  // namespace

FoxgloveMessages EncodeForFoxglove(const Scene& scene, Channels channels, absl::Time time,
                                   const std::function<const EncodedPicture&()>& picture) {
  FoxgloveMessages all;
  all.time_ns = static_cast<uint64_t>(absl::ToUnixNanos(time));
  const auto wanted = [&](Channel channel, bool has) { return has && (channels & Of(channel)) != 0; };
  const auto add = [&](Channel channel, const google::protobuf::MessageLite& message) {
    all.of[channel].push_back(message.SerializeAsString());
  };
  if (wanted(kImageChannel, true) && !picture().file.empty()) {
    foxglove::CompressedImage image;
    SetTime(time, image.mutable_timestamp());
    image.set_frame_id(kCamera);
    image.set_format(absl::StartsWith(picture().file, "\x89PNG") ? "png" : "jpeg");
    image.set_data(picture().file);
    add(kImageChannel, image);
  }
  if (wanted(kAnnotationsChannel, true)) add(kAnnotationsChannel, Annotations(scene, picture().scale, time));
  if (wanted(kPoseChannel, scene.pose.has_value())) {
    foxglove::PoseInFrame pose;
    SetTime(time, pose.mutable_timestamp());
    pose.set_frame_id(kMap);
    SetPose(*scene.pose, pose.mutable_pose());
    add(kPoseChannel, pose);
  }
  if (wanted(kTransformChannel, scene.pose.has_value())) {
    foxglove::FrameTransform transform;
    SetTime(time, transform.mutable_timestamp());
    transform.set_parent_frame_id(kMap);
    transform.set_child_frame_id(kCamera);
    SetPose(*scene.pose, transform.mutable_translation(), transform.mutable_rotation());
    add(kTransformChannel, transform);
  }
  if (wanted(kPathChannel, !scene.path.empty())) add(kPathChannel, Path(scene.path, time));
  if (wanted(kMapChannel, scene.map != nullptr)) add(kMapChannel, Cloud(*scene.map, time));
  if (wanted(kStagesChannel, true)) all.of[kStagesChannel].push_back(Stages(scene));
  if (wanted(kLogChannel, true)) {
    std::vector<std::string>& log = all.of[kLogChannel];
    log.push_back(LogMessage(foxglove::Log::INFO, absl::StrCat(scene.name, ": ", scene.text), time));
    for (const std::string& text : scene.warnings) log.push_back(LogMessage(foxglove::Log::WARNING, text, time));
  }
  return all;
}

FoxgloveMessages EncodeNotice(const std::string& notice, absl::Time time) {
  FoxgloveMessages all;
  all.time_ns = static_cast<uint64_t>(absl::ToUnixNanos(time));
  all.of[kLogChannel].push_back(LogMessage(foxglove::Log::WARNING, notice, time));
  return all;
}

}  // namespace glint::view
