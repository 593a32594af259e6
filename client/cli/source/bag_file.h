// --bag: a recording, and what commands take out of it but for pictures: topics by their names, readings of inertial
// sensors, calibrations.
#ifndef GLINT_CLIENT_CLI_SOURCE_BAG_FILE_H_
#define GLINT_CLIENT_CLI_SOURCE_BAG_FILE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "bag/bag.h"
#include "calibration/calibration.h"
#include "client/cli/source/imu_file.h"
#include "features/error.h"
#include "ros/camera_info.h"
#include "ros/cdr.h"
#include "ros/messages.h"

namespace glint::cli {

// What Glint can do with a topic, by its type.
enum class TopicKind { kImage, kCompressedImage, kImu, kCameraInfo, kOther };
TopicKind KindOf(const bag::Topic& topic);
inline bool IsCamera(TopicKind kind) { return kind == TopicKind::kImage || kind == TopicKind::kCompressedImage; }
// A compressed image of depths, which no format of pictures is.
bool IsCompressedDepth(const bag::Topic& topic);
using ros::CameraInfoTopic;
using ros::HaveOnePixelGrid;
using ros::IsRectified;

// Whether an inertial sensor has this value: without, its covariance begins with -1, or it is 0.
bool HasValue(const ros::Vector3& value, const std::array<double, 9>& covariance);

// Messages a second, as recorded; 0: unknown.
double RateOf(const bag::Topic& topic);

// A message of a topic whose kind is that of `Message`. INVALID_ARGUMENT says what is wrong with the bytes.
template <typename Message>
absl::Status ReadMessage(const bag::Topic& topic, absl::Span<const uint8_t> bytes, Message* message) {
  if (topic.encoding == "cdr") return ros::ReadCdr(bytes, message);
  if (topic.encoding == "ros1") return ros::ReadRos1(bytes, message);
  return absl::InvalidArgumentError(
      absl::StrCat("messages are encoded as '", Echo(topic.encoding), "', not as cdr or ros1"));
}

// "1403636579.763555584", seconds
std::string StampText(int64_t ns);

// Thread-compatible.
class BagFile {
 public:
  // Errors of bag::Bag::Open(), which name the file.
  static absl::StatusOr<std::shared_ptr<BagFile>> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string format() const { return readers_.front()->format(); }
  const std::vector<bag::Topic>& topics() const { return readers_.front()->topics(); }
  const bag::Topic& topic(int index) const { return topics()[static_cast<size_t>(index)]; }

  // The topic of a camera, or of an inertial sensor. An empty name: the only one that there is. NOT_FOUND and
  // INVALID_ARGUMENT name those that there are.
  absl::StatusOr<int> FindCamera(absl::string_view name) const;
  absl::StatusOr<int> FindImu(absl::string_view name) const;

  // Images of that topic are depths.
  void SetDepth(const std::string& topic) { depth_ = topic; }
  bool IsDepth(const std::string& topic) const { return topic == depth_; }
  // Whether these were metres, which become samples of 0.001 m: known once there was one.
  void SetMetric(bool metric) { has_metric_depths_ = metric; }
  bool has_metric_depths() const { return has_metric_depths_; }

  // A reader of these topics, at the beginning; it is given back with the pointer.
  absl::StatusOr<std::shared_ptr<bag::Bag>> Read(absl::Span<const int> topics);

  // `topics`: one, or GYROSCOPE,ACCELEROMETER. Readings have the times of their headers. INVALID_ARGUMENT also for
  // messages that cannot be read, and a sensor that is none of both.
  absl::StatusOr<ImuRecording> ReadImu(const std::string& topics);

  // The first message of CameraInfoTopic(). NOT_FOUND: there is none. INVALID_ARGUMENT: it cannot be read.
  absl::StatusOr<ros::CameraInfo> CameraInfoOf(const std::string& camera);
  // The same of each camera, as calibration files.
  absl::StatusOr<std::vector<calibration::NamedText>> Calibrations(absl::Span<const std::string> cameras);
  // INVALID_ARGUMENT: both have a CameraInfo, and these are not of one camera: so pixels of one are not the other's.
  absl::Status CheckRegistered(const std::string& camera, const std::string& depth);

  // What was found damaged so far by any reader, for people. Empty: nothing.
  std::vector<std::string> Notes() const;

 private:
  explicit BagFile(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<int> Find(absl::string_view name, bool (*wanted)(const bag::Topic& topic), const char* what) const;
  absl::Status ReadReadings(const std::string& topic, std::vector<ImuRow>* gyroscope,
                            std::vector<ImuRow>* accelerometer);

  const std::string path_;
  std::string depth_;
  bool has_metric_depths_ = false;
  std::vector<std::shared_ptr<bag::Bag>> readers_;  // at least one
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_BAG_FILE_H_
