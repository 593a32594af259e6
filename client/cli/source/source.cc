#include "client/cli/source/source.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/base/command.h"
#include "client/cli/source/bag_source.h"
#include "client/cli/source/gst_source.h"
#include "client/cli/source/live_source.h"
#include "client/cli/source/picture_files.h"
#include "client/cli/source/video_source.h"
#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

class FileSource : public Source {
 public:
  FileSource(std::vector<std::string> files, std::vector<absl::Duration> times, SendFormat format)
      : files_(std::move(files)), times_(std::move(times)), format_(format) {}

  absl::Status Next(Picture* picture) override {
    if (next_ == files_.size()) return absl::OutOfRangeError("no more files");
    picture->time = times_.empty() ? std::nullopt : std::make_optional(times_[next_]);
    return ReadPicture(files_[next_++], format_, picture);
  }
  absl::Status Rewind() override {
    next_ = 0;
    return absl::OkStatus();
  }
  int64_t count() const override { return static_cast<int64_t>(files_.size()); }
  double rate() const override { return kDefaultRate; }

 private:
  const std::vector<std::string> files_;
  const std::vector<absl::Duration> times_;  // empty: they have none
  const SendFormat format_;
  size_t next_ = 0;
};

class CameraSource : public Source {
 public:
  // `number` is OpenCV's; nothing: the device of that name.
  CameraSource(std::string name, std::optional<int> number, SendFormat format)
      : name_(std::move(name)), number_of_camera_(number), format_(format) {}

  absl::Status Open() {
    const bool open =
        number_of_camera_.has_value() ? capture_.open(*number_of_camera_) : capture_.open(name_, cv::CAP_V4L2);
    return open ? absl::OkStatus() : absl::NotFoundError(absl::StrCat(name_, ": no camera can be opened there"));
  }

  absl::Status Next(Picture* picture) override {
    if (!capture_.read(frame_) || frame_.empty()) return absl::OutOfRangeError("no more frames");
    picture->name = absl::StrFormat("%s#%06d", name_, number_++);
    picture->file.clear();
    if (format_ != SendFormat::kColor && frame_.channels() == 3) {
      cv::cvtColor(frame_, picture->pixels, cv::COLOR_BGR2GRAY);
    } else {
      frame_.copyTo(picture->pixels);
    }
    return absl::OkStatus();
  }
  absl::Status Rewind() override {
    number_ = 0;
    return Open();
  }
  absl::Status Reopen() override { return Open(); }
  int64_t count() const override { return 0; }
  double rate() const override {
    const double rate = capture_.get(cv::CAP_PROP_FPS);
    return rate >= 1 && rate <= 1000 ? rate : kDefaultRate;
  }
  bool live() const override { return true; }

 private:
  const std::string name_;
  const std::optional<int> number_of_camera_;
  const SendFormat format_;
  cv::VideoCapture capture_;
  cv::Mat frame_;
  int64_t number_ = 0;
};

// Whether that is a device of video4linux, of any name and through links, or a name that udev gives those alone, which
// is gone with its camera.
bool IsCamera(const std::string& name) {
  constexpr unsigned kVideo4Linux = 81;  // the devices' major number
  struct stat status = {};
  if (stat(name.c_str(), &status) != 0) return absl::StartsWith(name, "/dev/v4l/");
  return S_ISCHR(status.st_mode) && major(status.st_rdev) == kVideo4Linux;
}

std::optional<int> CameraNumber(absl::string_view name) {
  int number = 0;
  absl::string_view digits = name;
  if (!absl::ConsumePrefix(&digits, "camera:")) absl::ConsumePrefix(&digits, "/dev/video");
  if (digits.empty() || !absl::SimpleAtoi(digits, &number) || number < 0) return std::nullopt;
  return number;
}

}  // namespace

void VideoOptions::AddTo(Flags* flags) {
  flags->Section("Video");
  flags->Choice(
      "video-decoder",
      {{"auto", video::Decoder::kAuto}, {"ffmpeg", video::Decoder::kFfmpeg}, {"gstreamer", video::Decoder::kGstreamer}},
      "The program that decodes video files and addresses, with the hardware that it finds: ffmpeg or "
      "gst-launch-1.0. auto (the default): the first of them that is there.",
      &decoder);
  flags->Bool("live",
              "Skip the frames of a video that come while the ones before are still sent: the newest one is next "
              "(default: yes for rtsp and rtmp, no for files, http and '-').",
              [this](bool on) { live = on; });
  flags->Float("retry", "SECONDS",
               "Open a camera, a live address or pipeline or a named pipe again when it is lost, and give up when none "
               "of its frames came for so long (default: at once). glint stream does the same when the server goes "
               "away, and sends again what was not answered.",
               &retry);
}

absl::Status VideoOptions::Validate() const {
  if (!retry.has_value() || (*retry >= 0 && *retry <= 86400)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("option '--retry': ", *retry, " is not in 0..86400"));
}

absl::Time ClockZero() {
  static const absl::Time zero = SteadyNow();
  return zero;
}

std::unique_ptr<Source> OpenFiles(std::vector<std::string> files, SendFormat format) {
  std::vector<absl::Duration> times = TimesOf(files);
  return OpenFiles(std::move(files), std::move(times), format);
}

std::unique_ptr<Source> OpenFiles(std::vector<std::string> files, std::vector<absl::Duration> times,
                                  SendFormat format) {
  return std::make_unique<FileSource>(std::move(files), std::move(times), format);
}

absl::StatusOr<std::unique_ptr<Source>> OpenSource(const std::string& name, SendFormat format,
                                                   const VideoOptions& video) {
  if (video.bag != nullptr) return OpenTopic(video.bag, name, format, video.paired);
  if (name == "-") return OpenVideo(name, format, video);
  if (video::PipelineOf(name).has_value()) return OpenPipeline(name, format, video);
  GLINT_ASSIGN_OR_RETURN(auto files, PictureFiles(name));
  if (const std::string others = OtherFiles(name); !others.empty()) Complain("", others);
  if (!files.empty()) return OpenFiles(std::move(files), format);

  std::error_code error;
  if (video::IsAddress(name) || fs::is_regular_file(name, error) || fs::is_fifo(name, error)) {
    return OpenVideo(name, format, video);
  }
  const std::optional<int> number = CameraNumber(name);
  if (!number.has_value() && !IsCamera(name)) {
    return absl::NotFoundError(absl::StrCat(name, ": no folder, image, video, camera, address or gst:PIPELINE"));
  }
  auto camera = std::make_unique<CameraSource>(name, number, format);
  GLINT_RETURN_IF_ERROR(camera->Open());
  return WatchForLoss(std::move(camera), name, video.retry_time());
}

}  // namespace glint::cli
