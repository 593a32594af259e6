#include "client/cli/source/source.h"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/source/video_source.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

bool IsImageName(const fs::path& path) {
  static constexpr absl::string_view kExtensions[] = {".jpg", ".jpeg", ".png",  ".pgm",  ".ppm", ".pnm",
                                                      ".bmp", ".tif",  ".tiff", ".webp", ".jp2"};
  const std::string extension = absl::AsciiStrToLower(path.extension().string());
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) != std::end(kExtensions);
}

class FileSource : public Source {
 public:
  FileSource(std::vector<std::string> files, SendFormat format) : files_(std::move(files)), format_(format) {}

  absl::Status Next(Picture* picture) override {
    if (next_ == files_.size()) return absl::OutOfRangeError("no more files");
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
  const SendFormat format_;
  size_t next_ = 0;
};

class CameraSource : public Source {
 public:
  CameraSource(std::string name, int camera, SendFormat format)
      : name_(std::move(name)), camera_(camera), format_(format) {}

  absl::Status Open() {
    number_ = 0;
    return capture_.open(camera_) ? absl::OkStatus()
                                  : absl::NotFoundError(absl::StrCat(name_, ": no camera can be opened there"));
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
  absl::Status Rewind() override { return Open(); }
  int64_t count() const override { return 0; }
  double rate() const override {
    const double rate = capture_.get(cv::CAP_PROP_FPS);
    return rate >= 1 && rate <= 1000 ? rate : kDefaultRate;
  }
  bool live() const override { return true; }

 private:
  const std::string name_;
  const int camera_;
  const SendFormat format_;
  cv::VideoCapture capture_;
  cv::Mat frame_;
  int64_t number_ = 0;
};

std::optional<int> CameraNumber(absl::string_view name) {
  int number = 0;
  absl::string_view digits = name;
  if (!absl::ConsumePrefix(&digits, "camera:")) absl::ConsumePrefix(&digits, "/dev/video");
  if (digits.empty() || !absl::SimpleAtoi(digits, &number) || number < 0) return std::nullopt;
  return number;
}

std::vector<std::string> ImagesIn(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error) && IsImageName(entry.path())) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> Matches(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return files;
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
}

absl::StatusOr<std::unique_ptr<Source>> OpenSource(const std::string& name, SendFormat format,
                                                   const VideoOptions& video) {
  if (name == "-") return OpenVideo(name, format, video);
  std::error_code error;
  std::vector<std::string> files;
  if (fs::is_directory(name, error)) {
    files = ImagesIn(name);
    if (files.empty()) return absl::NotFoundError(absl::StrCat(name, ": no images in this folder"));
  } else if (fs::is_regular_file(name, error)) {
    if (cv::haveImageReader(name)) files = {name};
  } else if (name.find_first_of("*?[") != std::string::npos && !absl::StrContains(name, "://")) {
    files = Matches(name);
    if (files.empty()) return absl::NotFoundError(absl::StrCat(name, ": no file matches"));
  }
  if (!files.empty()) return std::make_unique<FileSource>(std::move(files), format);

  if (video::IsAddress(name) || fs::is_regular_file(name, error)) return OpenVideo(name, format, video);
  const std::optional<int> number = CameraNumber(name);
  if (!number.has_value()) {
    return absl::NotFoundError(absl::StrCat(name, ": no folder, image, video, camera or address"));
  }
  auto camera = std::make_unique<CameraSource>(name, *number, format);
  GLINT_RETURN_IF_ERROR(camera->Open());
  return camera;
}

}  // namespace glint::cli
