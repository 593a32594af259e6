#include "client/cli/output/draw.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/output/output.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kSubpixelBits = 4;  // OpenCV draws at fixed-point coordinates

// From green (fine levels) over yellow and red to violet (coarse levels); BGR.
const cv::Scalar kOctaveColors[] = {{80, 220, 60},  {60, 230, 150}, {40, 230, 220}, {30, 180, 255},
                                    {40, 120, 255}, {60, 60, 255},  {150, 60, 250}, {230, 70, 210}};

cv::Point Fixed(double x, double y) { return {cvRound(x * (1 << kSubpixelBits)), cvRound(y * (1 << kSubpixelBits))}; }

absl::Status CannotWrite(const std::string& path, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(path, ": cannot be written: ", why));
}

absl::Status WritePicture(const std::string& path, const cv::Mat& canvas) {
  try {
    std::vector<uchar> file;
    if (!cv::imencode(fs::path(path).extension().string(), canvas, file)) {
      return CannotWrite(path, "OpenCV's encoder fails");
    }
    return WriteWholeFile(path, {reinterpret_cast<const char*>(file.data()), file.size()});
  } catch (const cv::Exception&) {  // no encoder for this extension
    return absl::InvalidArgumentError(absl::StrCat(path, ": OpenCV knows no such image format"));
  }
}

class PictureSink : public DrawSink {
 public:
  explicit PictureSink(std::string path) : path_(std::move(path)) {}
  absl::Status Write(const std::string&, const cv::Mat& canvas) override { return WritePicture(path_, canvas); }

 private:
  const std::string path_;
};

class FolderSink : public DrawSink {
 public:
  explicit FolderSink(std::string folder) : folder_(std::move(folder)) {}
  absl::Status Write(const std::string& name, const cv::Mat& canvas) override {
    const std::string file = absl::StrReplaceAll(fs::path(name).filename().string(), {{"#", "-"}});
    return WritePicture(absl::StrCat(folder_, "/", file, absl::EndsWith(file, ".png") ? "" : ".png"), canvas);
  }

 private:
  const std::string folder_;
};

// Whether there is room for one byte more behind a file. Where there is none, the last ones may be missing.
absl::Status CheckEnd(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return CannotWrite(path, std::strerror(errno));
  absl::Status status;
  const off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0 || write(fd, "", 1) != 1 || ftruncate(fd, end) != 0) status = CannotWrite(path, std::strerror(errno));
  close(fd);
  return status;
}

// The frames of a video that are in its file, without decoding them where OpenCV can; at most `most`. `backend`:
// OpenCV's, which wrote it, since others wait for the end of a damaged file.
int64_t FramesIn(const std::string& path, const std::string& backend, int64_t most) {
  cv::VideoCapture video(path, backend == "FFMPEG" ? cv::CAP_FFMPEG : cv::CAP_ANY);
  video.set(cv::CAP_PROP_FORMAT, -1);  // packets as they are
  int64_t frames = 0;
  while (frames < most && video.grab()) ++frames;
  return frames;
}

class VideoSink : public DrawSink {
 public:
  VideoSink(std::string path, int codec, double rate) : path_(std::move(path)), codec_(codec), rate_(rate) {}

  absl::Status Write(const std::string&, const cv::Mat& canvas) override {
    if (!writer_.isOpened()) {
      size_ = canvas.size();
      if (!writer_.open(path_, codec_, rate_, size_)) return CannotWrite(path_, "OpenCV cannot open it");
    }
    if (canvas.size() == size_) {
      writer_.write(canvas);
    } else {  // a video has one size: the first picture's
      cv::resize(canvas, resized_, size_, 0, 0, cv::INTER_AREA);
      writer_.write(resized_);
    }
    ++frames_;
    return absl::OkStatus();
  }

  absl::Status Close() override {
    if (!writer_.isOpened()) return absl::OkStatus();
    const std::string backend = writer_.getBackendName();
    writer_.release();
    GLINT_RETURN_IF_ERROR(CheckEnd(path_));
    const int64_t frames = FramesIn(path_, backend, frames_);
    if (frames == frames_) return absl::OkStatus();
    return CannotWrite(path_, absl::StrCat(frames, " of ", frames_, " frames are there"));
  }

 private:
  const std::string path_;
  const int codec_;
  const double rate_;
  cv::VideoWriter writer_;
  int64_t frames_ = 0;
  cv::Size size_;
  cv::Mat resized_;
};

// Whether OpenCV can begin a video there, which it writes at any place of the file, and which is read again.
absl::Status CheckVideo(const std::string& path) {
  std::error_code error;
  const bool is_there = fs::exists(path, error);
  const std::string folder = fs::path(path).parent_path().string();
  const std::string& place = is_there ? path : folder;
  if (access(place.empty() ? "." : place.c_str(), W_OK) != 0) return CannotWrite(path, std::strerror(errno));
  if (is_there && !fs::is_regular_file(path, error)) return CannotWrite(path, "a video needs a regular file");
  return absl::OkStatus();
}

}  // namespace

void DrawFeatures(const Features& features, cv::Mat* canvas) {
  const int line = std::max(1, canvas->cols / 1280);
  for (size_t i = features.count(); i-- > 0;) {  // fine levels last, on top
    const double x = features.x[i];
    const double y = features.y[i];
    const double radius = features.size[i] / 2;
    const cv::Scalar& color = kOctaveColors[static_cast<size_t>(features.octave[i]) % std::size(kOctaveColors)];
    cv::circle(*canvas, Fixed(x, y), cvRound(radius * (1 << kSubpixelBits)), color, line, cv::LINE_AA, kSubpixelBits);
    if (features.angle[i] >= 0) {
      const double radians = features.angle[i] * CV_PI / 180;
      cv::line(*canvas, Fixed(x, y), Fixed(x + radius * std::cos(radians), y + radius * std::sin(radians)), color, line,
               cv::LINE_AA, kSubpixelBits);
    }
  }
}

absl::StatusOr<std::unique_ptr<DrawSink>> OpenDrawSink(const std::string& path, double rate) {
  std::error_code error;
  if (absl::EndsWith(path, "/")) {
    fs::create_directories(path, error);
    if (error) return CannotWrite(path, error.message());
  }
  if (fs::is_directory(path, error)) {
    if (access(path.c_str(), W_OK | X_OK) != 0) return CannotWrite(path, std::strerror(errno));
    return std::make_unique<FolderSink>(path);
  }
  const std::string extension = absl::AsciiStrToLower(fs::path(path).extension().string());
  if (extension.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("option '--draw': '", path, "' has no extension"));
  }
  const bool mjpeg = extension == ".avi";
  if (mjpeg || extension == ".mp4" || extension == ".mkv") {
    GLINT_RETURN_IF_ERROR(CheckVideo(path));
    const int codec = mjpeg ? cv::VideoWriter::fourcc('M', 'J', 'P', 'G') : cv::VideoWriter::fourcc('m', 'p', '4', 'v');
    return std::make_unique<VideoSink>(path, codec, rate);
  }
  GLINT_RETURN_IF_ERROR(CheckWholeFile(path));
  return std::make_unique<PictureSink>(path);
}

}  // namespace glint::cli
