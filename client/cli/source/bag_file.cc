#include "client/cli/source/bag_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/source/picture_files.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "ros/messages.h"

namespace glint::cli {
namespace {

constexpr size_t kTopicsSaid = 20;

bool IsCameraTopic(const bag::Topic& topic) { return IsCamera(KindOf(topic)) && !IsCompressedDepth(topic); }
bool IsImuTopic(const bag::Topic& topic) { return KindOf(topic) == TopicKind::kImu; }

std::array<double, 3> ValuesOf(const ros::Vector3& v) { return {v.x, v.y, v.z}; }

void SortByTime(std::vector<ImuRow>* rows) {
  std::stable_sort(rows->begin(), rows->end(), [](const ImuRow& a, const ImuRow& b) { return a.time_ns < b.time_ns; });
}

}  // namespace

TopicKind KindOf(const bag::Topic& topic) {
  if (topic.type == ros::Image::kName) return TopicKind::kImage;
  if (topic.type == ros::CompressedImage::kName) return TopicKind::kCompressedImage;
  if (topic.type == ros::Imu::kName) return TopicKind::kImu;
  if (topic.type == ros::CameraInfo::kName) return TopicKind::kCameraInfo;
  return TopicKind::kOther;
}

bool IsCompressedDepth(const bag::Topic& topic) { return absl::EndsWith(topic.name, "/compressedDepth"); }

bool HasValue(const ros::Vector3& value, const std::array<double, 9>& covariance) {
  return covariance[0] != -1 && (value.x != 0 || value.y != 0 || value.z != 0);
}

double RateOf(const bag::Topic& topic) {
  if (topic.messages < 2 || topic.last_ns <= topic.first_ns) return 0;
  return static_cast<double>(topic.messages - 1) * 1e9 / static_cast<double>(topic.last_ns - topic.first_ns);
}

std::string StampText(int64_t ns) {
  const int64_t rest = (ns % 1'000'000'000 + 1'000'000'000) % 1'000'000'000;
  return absl::StrFormat("%d.%09d", (ns - rest) / 1'000'000'000, rest);
}

absl::StatusOr<std::shared_ptr<BagFile>> BagFile::Open(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(auto reader, bag::Bag::Open(path));
  auto file = std::shared_ptr<BagFile>(new BagFile(path));
  file->readers_.push_back(std::move(reader));
  return file;
}

absl::StatusOr<int> BagFile::Find(absl::string_view name, bool (*wanted)(const bag::Topic& topic),
                                  const char* what) const {
  std::vector<std::string> names;
  int found = -1, same_name = -1;
  for (size_t i = 0; i < topics().size(); ++i) {
    const bag::Topic& topic = topics()[i];
    const bool is_wanted = wanted(topic);
    if (is_wanted) names.push_back(Echo(topic.name));
    if (topic.name == name) same_name = static_cast<int>(i);
    if (is_wanted && (topic.name == name || name.empty())) found = static_cast<int>(i);
  }
  if (found >= 0 && (!name.empty() || names.size() == 1)) return found;
  const std::string there = names.empty() ? absl::StrCat("; the recording has no topic of ", what)
                                          : absl::StrCat("; topics of ", what, ": ", SomeOf(names, kTopicsSaid));
  if (name.empty()) return absl::NotFoundError(absl::StrCat(path_, ": name one topic", there));
  if (same_name < 0) return absl::NotFoundError(absl::StrCat(path_, ": no topic '", name, "'", there));
  const bag::Topic& topic = this->topic(same_name);
  if (IsCompressedDepth(topic)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": ", name, ": compressedDepth is not read; record or republish it as an image", there));
  }
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", name, " is of type ", Echo(topic.type), there));
}

absl::StatusOr<int> BagFile::FindCamera(absl::string_view name) const { return Find(name, IsCameraTopic, "cameras"); }
absl::StatusOr<int> BagFile::FindImu(absl::string_view name) const {
  return Find(name, IsImuTopic, "inertial sensors");
}

absl::StatusOr<std::shared_ptr<bag::Bag>> BagFile::Read(absl::Span<const int> topics) {
  auto free =
      std::find_if(readers_.begin(), readers_.end(), [](const auto& reader) { return reader.use_count() == 1; });
  if (free == readers_.end()) {
    GLINT_ASSIGN_OR_RETURN(auto reader, bag::Bag::Open(path_));
    free = readers_.insert(readers_.end(), std::move(reader));
  }
  GLINT_RETURN_IF_ERROR((*free)->Select(topics));
  return *free;
}

absl::Status BagFile::ReadReadings(const std::string& name, std::vector<ImuRow>* gyroscope,
                                   std::vector<ImuRow>* accelerometer) {
  GLINT_ASSIGN_OR_RETURN(const int index, FindImu(name));
  GLINT_ASSIGN_OR_RETURN(const auto reader, Read({index}));
  const auto error = [&](const bag::Message& message, absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": ", name, ": message of ", StampText(message.time_ns), " s: ", what));
  };
  bag::Message message;
  ros::Imu imu;
  bool turns = false, accelerates = false;
  absl::Status next;
  while ((next = reader->Next(&message)).ok()) {
    const absl::Status read = ReadMessage(topic(index), message.data, &imu);
    if (!read.ok()) return error(message, read.message());
    const std::array<double, 3> w = ValuesOf(imu.angular_velocity), a = ValuesOf(imu.linear_acceleration);
    turns = turns || HasValue(imu.angular_velocity, imu.angular_velocity_covariance);
    accelerates = accelerates || HasValue(imu.linear_acceleration, imu.linear_acceleration_covariance);
    const int64_t time_ns = ros::NanosecondsOf(imu.header.stamp);
    for (const auto& [rows, values] : {std::pair(gyroscope, &w), std::pair(accelerometer, &a)}) {
      if (rows == nullptr) continue;
      for (const double v : *values) {
        if (!(std::abs(v) <= kLargestReading)) return error(message, absl::StrCat(v, " is not in -1e6..1e6"));
      }
      rows->push_back({time_ns, *values});
    }
  }
  if (!absl::IsOutOfRange(next)) return next;
  for (const auto& [rows, has, what] :
       {std::tuple(gyroscope, turns, "angular velocity"), std::tuple(accelerometer, accelerates, "acceleration")}) {
    if (rows == nullptr) continue;
    if (rows->size() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": ", name, ": has ", rows->size(), " readings; 2 are needed"));
    }
    if (!has) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": ", name, ": has no ", what,
                       ", as its covariance says or all are 0; --imu GYROSCOPE,ACCELEROMETER names the topic of each"));
    }
    SortByTime(rows);
  }
  return absl::OkStatus();
}

absl::StatusOr<ImuRecording> BagFile::ReadImu(const std::string& topics) {
  const std::vector<std::string> names = absl::StrSplit(topics, ',');
  ImuRecording recording;
  recording.name = topics;
  if (names.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--imu': '", topics, "' is not one topic, nor GYROSCOPE,ACCELEROMETER"));
  }
  if (names.size() == 1) {
    GLINT_RETURN_IF_ERROR(ReadReadings(names[0], &recording.gyroscope, &recording.accelerometer));
  } else {
    GLINT_RETURN_IF_ERROR(ReadReadings(names[0], &recording.gyroscope, nullptr));
    GLINT_RETURN_IF_ERROR(ReadReadings(names[1], nullptr, &recording.accelerometer));
  }
  return recording;
}

absl::StatusOr<ros::CameraInfo> BagFile::CameraInfoOf(const std::string& camera) {
  const std::string name = CameraInfoTopic(camera);
  const auto at = std::find_if(topics().begin(), topics().end(), [&](const bag::Topic& topic) {
    return topic.name == name && KindOf(topic) == TopicKind::kCameraInfo && topic.messages > 0;
  });
  if (at == topics().end()) return absl::NotFoundError(absl::StrCat(path_, ": has no ", name));
  const auto index = static_cast<int>(at - topics().begin());
  GLINT_ASSIGN_OR_RETURN(const auto reader, Read({index}));
  bag::Message message;
  ros::CameraInfo info;
  absl::Status status = reader->Next(&message);
  if (status.ok()) status = ReadMessage(topic(index), message.data, &info);
  if (status.ok()) return info;
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", name, ": ", status.message()));
}

absl::StatusOr<std::vector<calibration::NamedText>> BagFile::Calibrations(absl::Span<const std::string> cameras) {
  std::vector<calibration::NamedText> texts;
  for (const std::string& camera : cameras) {
    GLINT_ASSIGN_OR_RETURN(const ros::CameraInfo info, CameraInfoOf(camera));
    const std::string name = absl::StrCat(path_, ":", CameraInfoTopic(camera));
    auto text = ros::CalibrationYaml(info, camera);
    if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat(name, ": ", text.status().message()));
    texts.push_back({name, *std::move(text)});
  }
  return texts;
}

absl::Status BagFile::CheckRegistered(const std::string& camera, const std::string& depth) {
  const auto of_camera = CameraInfoOf(camera), of_depth = CameraInfoOf(depth);
  if (!of_camera.ok() || !of_depth.ok()) return absl::OkStatus();
  if (HaveOnePixelGrid(*of_camera, *of_depth)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path_, ": the pixels of ", depth, " are not those of ", camera, ", as ", CameraInfoTopic(depth), " and ",
      CameraInfoTopic(camera), " say: name a topic of registered depths, or --calibration with --depth-camera"));
}

std::vector<std::string> BagFile::Notes() const {
  std::vector<std::string> notes;
  for (const auto& reader : readers_) {
    for (const std::string& note : reader->notes()) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }
  return notes;
}

}  // namespace glint::cli
