#include "client/cli/output/draw.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/output/output.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kSubpixelBits = 4;  // OpenCV draws at fixed-point coordinates

// From green (fine levels) over yellow and red to violet (coarse levels); BGR.
const cv::Scalar kOctaveColors[] = {{80, 220, 60},  {60, 230, 150}, {40, 230, 220}, {30, 180, 255},
                                    {40, 120, 255}, {60, 60, 255},  {150, 60, 250}, {230, 70, 210}};

cv::Point Fixed(double x, double y) { return {cvRound(x * (1 << kSubpixelBits)), cvRound(y * (1 << kSubpixelBits))}; }

absl::Status CannotWrite(const std::string& path) {
  return absl::DataLossError(absl::StrCat(path, ": cannot be written"));
}

absl::Status WritePicture(const std::string& path, const cv::Mat& canvas) {
  try {
    std::vector<uchar> file;
    if (!cv::imencode(fs::path(path).extension().string(), canvas, file)) return CannotWrite(path);
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

class VideoSink : public DrawSink {
 public:
  VideoSink(std::string path, int codec, double rate) : path_(std::move(path)), codec_(codec), rate_(rate) {}

  absl::Status Write(const std::string&, const cv::Mat& canvas) override {
    if (!writer_.isOpened()) {
      size_ = canvas.size();
      if (!writer_.open(path_, codec_, rate_, size_)) return CannotWrite(path_);
    }
    if (canvas.size() == size_) {
      writer_.write(canvas);
    } else {  // a video has one size: the first picture's
      cv::resize(canvas, resized_, size_, 0, 0, cv::INTER_AREA);
      writer_.write(resized_);
    }
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const int codec_;
  const double rate_;
  cv::VideoWriter writer_;
  cv::Size size_;
  cv::Mat resized_;
};

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
  if (absl::EndsWith(path, "/")) fs::create_directories(path, error);
  if (fs::is_directory(path, error)) return std::make_unique<FolderSink>(path);
  const std::string extension = absl::AsciiStrToLower(fs::path(path).extension().string());
  if (extension == ".avi") {
    return std::make_unique<VideoSink>(path, cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), rate);
  }
  if (extension == ".mp4" || extension == ".mkv") {
    return std::make_unique<VideoSink>(path, cv::VideoWriter::fourcc('m', 'p', '4', 'v'), rate);
  }
  if (extension.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("option '--draw': '", path, "' has no extension"));
  }
  return std::make_unique<PictureSink>(path);
}

}  // namespace glint::cli
