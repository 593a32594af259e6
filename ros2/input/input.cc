#include "ros2/input/input.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <list>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "ros/cdr.h"
#include "ros2/input/camera_finder.h"
#include "ros2/input/diagnosis.h"
#include "ros2/input/pairs.h"
#include "ros2/input/picture_memory.h"
#include "ros2/input/picture_reader.h"
#include "ros2/input/topic_watch.h"
#include "ros2/input/topics.h"

namespace glint::ros2 {
namespace {

constexpr Qos kManyReadings = {false, false, 200};  // as kSensorData, of a sensor that is faster than a camera
constexpr Qos kStaticTransforms = {true, true, 100};
constexpr double kLargestReading = 1e6;

// What an inertial sensor says; its covariance begins with -1 where it measures no such thing.
absl::Status CheckReading(absl::string_view field, const ros::Vector3& value, const std::array<double, 9>& covariance) {
  const std::string name = absl::StrCat(ros::Imu::kName, ".", field);
  if (covariance[0] == -1) return ContradictionError(name, "is not measured, as its covariance of -1 says");
  for (const double v : {value.x, value.y, value.z}) {
    GLINT_RETURN_IF_ERROR(CheckRange(name, v, -kLargestReading, kLargestReading));
  }
  return absl::OkStatus();
}

class InputOfTopics : public Input {
 public:
  InputOfTopics(const Config& config, Topics topics, Callbacks callbacks)
      : topics_(std::move(topics)),
        name_(absl::StrCat(config.node_name, ": input")),
        second_(!topics_.has_pairs()    ? ""
                : topics_.depth.empty() ? "right"
                                        : "depth"),
        has_frame_(!config.frames.camera.empty()),
        callbacks_(std::move(callbacks)),
        finder_(config.camera, config.imu, topics_),
        pairs_(topics_.has_pairs() ? 2 : 1, std::llround(config.camera.max_time_difference * 1e9),
               [this](Picture* picture) { memory_->Drop(picture); }) {}

  absl::Status Subscribe(Participant* participant, const Config& config);

  void UseRing(std::shared_ptr<client::SharedMemoryRing> ring) override { memory_->UseRing(std::move(ring)); }
  size_t image_bytes() const override { return memory_->largest(); }
  std::optional<Cameras> cameras(std::string* why) const override { return finder_.Find(why); }
  std::optional<RigidTransform> Transform(const std::string& to, const std::string& from) const override {
    return finder_.Transform(to, from);
  }
  ros::DiagnosticStatus Diagnose() override;

 private:
  // Until when things stand still without a topic.
  enum class Needed { kNever, kUntilThereAreCameras, kAlways };
  struct Source {
    Needed needed = Needed::kNever;
    TopicWatch watch;
    std::unique_ptr<Subscription> subscription;
  };
  // What is done with a message: its stamp, or why it cannot be used.
  using Taking = std::function<absl::StatusOr<int64_t>(absl::Span<const uint8_t> cdr, const SampleInfo& info)>;

  // `qos`: unless the configuration has another of the topic, or of `name`, by which it knows it.
  absl::Status Subscribe(Participant* participant, const Config& config, const std::string& topic,
                         const std::string& name, const TypeInfo& type, const Qos& qos, Needed needed, Taking take);
  absl::Status SubscribeToImages(Participant* participant, const Config& config, size_t side);
  absl::StatusOr<int64_t> TakePicture(size_t side, Picture picture);
  absl::StatusOr<int64_t> TakeImu(absl::Span<const uint8_t> cdr, ros::Imu* scratch);

  const Topics topics_;
  const std::string name_, second_;
  const bool has_frame_;  // the configuration names that of the left images
  const Callbacks callbacks_;
  const std::shared_ptr<PictureMemory> memory_ = std::make_shared<PictureMemory>();
  CameraFinder finder_;
  std::mutex order_;  // of pictures, and of on_frame; and of the next three
  Pairs pairs_;
  PairCounts diagnosed_;
  bool is_nameless_ = false;   // the last left image
  std::list<Source> sources_;  // last, so that callbacks have ended before the rest goes
};

absl::Status InputOfTopics::Subscribe(Participant* participant, const Config& config, const std::string& topic,
                                      const std::string& name, const TypeInfo& type, const Qos& qos, Needed needed,
                                      Taking take) {
  Source& source = sources_.emplace_back();
  source.needed = needed;
  const auto taken = [watch = &source.watch, take = std::move(take)](absl::Span<const uint8_t> cdr,
                                                                     const SampleInfo& info) {
    if (const auto stamp_ns = take(cdr, info); stamp_ns.ok()) {
      watch->Came(*stamp_ns, info.received_ns);
    } else {
      watch->CouldNotRead(stamp_ns.status(), info.received_ns);
    }
  };
  GLINT_ASSIGN_OR_RETURN(source.subscription,
                         participant->Subscribe(topic, type, config.QosOf(topic, config.QosOf(name, qos)), taken));
  return absl::OkStatus();
}

absl::Status InputOfTopics::SubscribeToImages(Participant* participant, const Config& config, size_t side) {
  const CameraConfig& camera = config.camera;
  const bool is_depth = side == 1 && !topics_.depth.empty();
  const bool is_file = !is_depth && camera.transport == Transport::kCompressed;
  const auto kind = is_depth  ? PictureReader::Kind::kDepth
                    : is_file ? PictureReader::Kind::kFile
                              : PictureReader::Kind::kRaw;
  const auto reader = std::make_shared<PictureReader>(kind, camera.depth_unit, memory_);
  const auto take = [this, side, reader](absl::Span<const uint8_t> cdr,
                                         const SampleInfo& info) -> absl::StatusOr<int64_t> {
    Picture picture;
    GLINT_RETURN_IF_ERROR(reader->Read(cdr, info, &picture));
    return TakePicture(side, std::move(picture));
  };
  const std::string& name = side == 0 ? camera.left : is_depth ? camera.depth : camera.right;
  return Subscribe(participant, config, side == 0 ? topics_.left : topics_.second(), name,
                   is_file ? TypeOf<ros::CompressedImage>() : TypeOf<ros::Image>(), kSensorData, Needed::kAlways, take);
}

absl::Status InputOfTopics::Subscribe(Participant* participant, const Config& config) {
  const auto take_transforms = [this](absl::Span<const uint8_t> cdr,
                                      const SampleInfo& info) -> absl::StatusOr<int64_t> {
    ros::TFMessage message;
    GLINT_RETURN_IF_ERROR(ros::ReadCdr(cdr, &message));
    GLINT_RETURN_IF_ERROR(finder_.Take(message));
    return info.received_ns;
  };
  GLINT_RETURN_IF_ERROR(Subscribe(participant, config, topics_.transforms, "/tf_static", TypeOf<ros::TFMessage>(),
                                  kStaticTransforms, Needed::kNever, take_transforms));
  for (size_t side = 0; side < 2; ++side) {
    const std::string& topic = side == 0 ? topics_.left_info : topics_.right_info;
    if (topic.empty()) continue;
    const auto take = [this, side, info = ros::CameraInfo()](absl::Span<const uint8_t> cdr,
                                                             const SampleInfo&) mutable -> absl::StatusOr<int64_t> {
      GLINT_RETURN_IF_ERROR(ros::ReadCdr(cdr, &info));
      GLINT_RETURN_IF_ERROR(finder_.Take(side, info));
      return ros::NanosecondsOf(info.header.stamp);
    };
    const std::string& name = side == 0 ? config.camera.left_info : config.camera.right_info;
    const Needed needed = side == 0 || !topics_.right.empty() ? Needed::kUntilThereAreCameras : Needed::kNever;
    GLINT_RETURN_IF_ERROR(Subscribe(participant, config, topic, name.empty() ? topic : name, TypeOf<ros::CameraInfo>(),
                                    kSensorData, needed, take));
  }
  if (!topics_.imu.empty()) {
    const auto take = [this, imu = ros::Imu()](absl::Span<const uint8_t> cdr, const SampleInfo&) mutable {
      return TakeImu(cdr, &imu);
    };
    GLINT_RETURN_IF_ERROR(Subscribe(participant, config, topics_.imu, config.imu.topic, TypeOf<ros::Imu>(),
                                    kManyReadings, Needed::kAlways, take));
  }
  for (size_t side = 0; side < (topics_.has_pairs() ? 2 : 1); ++side) {
    GLINT_RETURN_IF_ERROR(SubscribeToImages(participant, config, side));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> InputOfTopics::TakePicture(size_t side, Picture picture) {
  const int64_t stamp_ns = picture.stamp_ns;
  if (side == 0) finder_.SawImage(picture);
  const std::lock_guard<std::mutex> lock(order_);
  if (side == 0) is_nameless_ = !has_frame_ && picture.frame_id.empty();
  std::array<Picture, 2> pair;
  if (!pairs_.Add(side, std::move(picture), &pair)) return stamp_ns;
  Frame frame;
  frame.left = std::move(pair[0]);
  (topics_.depth.empty() ? frame.right : frame.depth) = std::move(pair[1]);
  callbacks_.on_frame(memory_->Share(std::move(frame)));
  return stamp_ns;
}

absl::StatusOr<int64_t> InputOfTopics::TakeImu(absl::Span<const uint8_t> cdr, ros::Imu* scratch) {
  ros::Imu& imu = *scratch;
  GLINT_RETURN_IF_ERROR(ros::ReadCdr(cdr, &imu));
  GLINT_RETURN_IF_ERROR(CheckHeader(imu.header, ros::Imu::kName));
  GLINT_RETURN_IF_ERROR(CheckReading("angular_velocity", imu.angular_velocity, imu.angular_velocity_covariance));
  GLINT_RETURN_IF_ERROR(
      CheckReading("linear_acceleration", imu.linear_acceleration, imu.linear_acceleration_covariance));
  finder_.SawImu(imu.header.frame_id);
  if (callbacks_.on_imu) callbacks_.on_imu(imu);
  return ros::NanosecondsOf(imu.header.stamp);
}

ros::DiagnosticStatus InputOfTopics::Diagnose() {
  Diagnosis diagnosis(name_);
  std::string why;
  const auto cameras = finder_.Find(&why);
  diagnosis.Add("cameras", cameras.has_value() ? cameras->source : why);
  if (!cameras.has_value() && finder_.failed()) diagnosis.Fail(why);
  const int64_t now_ns = absl::GetCurrentTimeNanos();
  for (const Source& source : sources_) {
    const bool needed =
        source.needed == Needed::kAlways || (source.needed == Needed::kUntilThereAreCameras && !cameras.has_value());
    diagnosis.AddTopic(source.subscription->topic(), needed, source.watch.figures(), source.subscription->counts(),
                       now_ns);
  }
  {
    const std::lock_guard<std::mutex> lock(order_);
    const PairCounts counts = pairs_.counts();
    diagnosis.AddPairs(counts, std::exchange(diagnosed_, counts), "left", second_);
    if (is_nameless_) {
      diagnosis.Warn(absl::StrCat(topics_.left, ": no header.frame_id, without which transforms to it and clouds have ",
                                  "no frame; frames.camera can name it"));
    }
  }
  if (!cameras.has_value()) diagnosis.Warn(why);
  return diagnosis.Take();
}

// Before anything is waited for, since the files are read when the first image has come.
absl::Status CheckFiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code none;
    if (!std::filesystem::exists(path, none)) {
      return absl::NotFoundError(absl::StrCat("camera.calibration_files: ", path, " is not there"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Input>> Input::Open(Participant* participant, const Config& config,
                                                   Callbacks callbacks) {
  GLINT_ASSIGN_OR_RETURN(Topics topics, TopicsOf(config));
  GLINT_RETURN_IF_ERROR(CheckFiles(config.camera.calibration_files));
  auto input = std::make_unique<InputOfTopics>(config, std::move(topics), std::move(callbacks));
  GLINT_RETURN_IF_ERROR(input->Subscribe(participant, config));
  return input;
}

}  // namespace glint::ros2
