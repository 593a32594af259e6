#include "client/cli/source/bag_flags.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/base/command.h"
#include "client/cli/source/bag_frames.h"
#include "features/status_macros.h"

namespace glint::cli {

void BagFlags::AddTo(Flags* flags, Topics topics) {
  topics_ = topics;
  flags->Section("Recordings");
  flags->String("bag", "FILE",
                "In place of the operands: a recording of ROS (MCAP, a folder or SQLite file of rosbag2, a ROS 1 bag). "
                "glint bag FILE lists its topics. Pictures have the times of their headers.",
                &path_);
  if (topics == Topics::kEach) {
    flags->String("topic", "TOPIC[,TOPIC]",
                  "With --bag: the camera's images or compressed images; more of them are more operands (default: the "
                  "only camera that there is).",
                  &topic_);
    return;
  }
  flags->String("left", "TOPIC", "With --bag: the left camera's images or compressed images.", &left_);
  flags->String("right", "TOPIC", "With --bag: those of the right one. Without it pictures have both side by side.",
                &right_);
}

void BagFlags::AddDepthTo(Flags* flags) {
  flags->String("depth-topic", "TOPIC", "With --bag and --depth, in place of --right: the depths of --left.", &depth_);
}

absl::StatusOr<std::vector<std::string>> BagFlags::Sources(const std::vector<std::string>& operands) const {
  if (!given()) {
    for (const auto& [name, value] : {std::pair("--topic", &topic_), std::pair("--left", &left_),
                                      std::pair("--right", &right_), std::pair("--depth-topic", &depth_)}) {
      if (!value->empty()) return absl::InvalidArgumentError(absl::StrCat("option '", name, "': needs --bag"));
    }
    return operands;
  }
  if (!operands.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '--bag': not with '", operands.front(), "': topics are named by options"));
  }
  if (topics_ == Topics::kEach) return std::vector<std::string>(absl::StrSplit(topic_, ','));
  if (left_.empty()) {
    return absl::InvalidArgumentError("option '--bag': needs --left TOPIC (glint bag FILE lists the topics)");
  }
  const std::string& second = depth_.empty() ? right_ : depth_;
  return second.empty() ? std::vector<std::string>{left_} : std::vector<std::string>{left_, second};
}

absl::Status BagFlags::CheckDepth(bool depth) const {
  if (depth && !right_.empty()) return absl::InvalidArgumentError("option '--depth': with --depth-topic, not --right");
  if (!depth && !depth_.empty()) return absl::InvalidArgumentError("option '--depth-topic': needs --depth");
  return absl::OkStatus();
}

absl::Status BagFlags::Open(std::vector<std::string>* sources, VideoOptions* video) {
  if (!given()) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(file_, BagFile::Open(path_));
  for (std::string& source : *sources) {
    GLINT_ASSIGN_OR_RETURN(const int topic, file_->FindCamera(source));
    source = file_->topic(topic).name;
  }
  if (!depth_.empty()) file_->SetDepth(sources->back());
  video->bag = file_;
  return absl::OkStatus();
}

absl::Status BagFlags::SetCalibration(const std::vector<std::string>& sources, bool depth, bool needed,
                                      const std::string& imu, CalibrationFlags* cameras,
                                      std::vector<std::string>* notes) const {
  if (!given() || cameras->given()) return absl::OkStatus();
  std::vector<std::string> topics = sources;
  if (!depth && topics.size() == 1) {  // both images in one picture, and so in no CameraInfo
    return needed ? absl::InvalidArgumentError("option '--calibration': missing") : absl::OkStatus();
  }
  if (depth) {
    GLINT_RETURN_IF_ERROR(file_->CheckRegistered(sources[0], sources[1]));
    topics.resize(1);
  }
  auto texts = file_->Calibrations(topics);
  if (absl::IsNotFound(texts.status())) {
    if (!needed) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat(texts.status().message(), "; --calibration PATH says what the cameras are"));
  }
  GLINT_RETURN_IF_ERROR(texts.status());
  const bool rectified = IsRectified(topics.front());
  if (rectified != IsRectified(topics.back())) {
    return absl::InvalidArgumentError(absl::StrCat("topics ", absl::StrJoin(topics, " and "),
                                                   ": by their names one is rectified and the other is not"));
  }
  const auto append = [](std::string* out, const calibration::NamedText& text) { out->append(text.name); };
  notes->push_back(absl::StrCat("calibration: ", absl::StrJoin(*texts, " and ", append),
                                rectified ? "; images are taken for rectified, as their topics are named" : ""));
  std::optional<RigidTransform> camera_from_imu;
  if (!imu.empty()) camera_from_imu = CameraFromImu(file_.get(), topics.front(), imu);
  if (camera_from_imu.has_value()) notes->push_back("imu: where it is, /tf_static says");
  cameras->SetTexts(*std::move(texts), rectified ? std::make_optional(true) : std::nullopt, camera_from_imu);
  return absl::OkStatus();
}

absl::Status BagFlags::CheckDepthUnit(double unit) const {
  constexpr double kMetricUnit = 0.001;
  if (file_ == nullptr || !file_->has_metric_depths() || unit == kMetricUnit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "option '--depth-unit': depths of ", depth_, " are metres (32FC1), which become samples of ", kMetricUnit,
      ", and not of ", unit, " as the option or the calibration says: give it as ", kMetricUnit));
}

int BagFlags::ExitStatus(const std::string& command, int status) const {
  if (file_ == nullptr) return status;
  const std::vector<std::string> notes = file_->Notes();
  for (const std::string& note : notes) Complain(command, absl::StrCat(path_, ": ", note));
  return status == kOk && !notes.empty() ? static_cast<int>(kFailed) : status;
}

}  // namespace glint::cli
