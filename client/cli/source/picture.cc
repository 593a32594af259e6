#include "client/cli/source/picture.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/base/command.h"
#include "client/cli/source/several_pictures.h"
#include "decode/decode.h"
#include "decode/jpeg_writer.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

absl::Span<const uint8_t> BytesOf(absl::string_view file) {
  return {reinterpret_cast<const uint8_t*>(file.data()), file.size()};
}

bool IsJpeg(absl::string_view bytes) { return decode::IsJpeg(BytesOf(bytes)); }
bool IsJpegOrPng(absl::string_view bytes) { return IsJpeg(bytes) || absl::StartsWith(bytes, "\x89PNG\r\n\x1a\n"); }

// Pixels as stored, which is what the server sees, too. Empty if OpenCV cannot read them.
cv::Mat Decode(const std::string& file, cv::ImreadModes mode) {
  try {
    const cv::Mat bytes(1, static_cast<int>(file.size()), CV_8U, const_cast<char*>(file.data()));
    return cv::imdecode(bytes, mode | cv::IMREAD_IGNORE_ORIENTATION);
  } catch (const cv::Exception&) {  // no bytes, or more pixels than OpenCV allows
    return {};
  }
}

absl::Status NotAnImage(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": not an image that OpenCV can read"));
}

// Samples of 16 bits in 8, as the server takes them without a range.
cv::Mat UpperBytes(const cv::Mat& samples) {
  cv::Mat gray;
  cv::extractChannel(cv::Mat(samples.rows, samples.cols, CV_8UC2, samples.data, samples.step), gray, 1);
  return gray;
}

// One picture's pixels in colour, for drawing.
cv::Mat RawToColour(const RawLayout& layout, const std::string& bytes) {
  using client::PixelFormat;
  const int channels = client::BytesPerPixel(layout.format);
  const cv::Mat pixels(client::RowsOf(layout.format, layout.shape.height), layout.shape.width, CV_8UC(channels),
                       const_cast<char*>(bytes.data()));
  cv::Mat gray, colour;
  switch (layout.format) {
    case PixelFormat::kGray8:
      cv::cvtColor(pixels, colour, cv::COLOR_GRAY2BGR);
      break;
    case PixelFormat::kBgr8:
      colour = pixels.clone();
      break;
    case PixelFormat::kRgb8:
      cv::cvtColor(pixels, colour, cv::COLOR_RGB2BGR);
      break;
    case PixelFormat::kBgra8:
      cv::cvtColor(pixels, colour, cv::COLOR_BGRA2BGR);
      break;
    case PixelFormat::kRgba8:
      cv::cvtColor(pixels, colour, cv::COLOR_RGBA2BGR);
      break;
    case PixelFormat::kNv12:
      cv::cvtColor(pixels, colour, cv::COLOR_YUV2BGR_NV12);
      break;
    case PixelFormat::kYuyv:
      cv::cvtColor(pixels, colour, cv::COLOR_YUV2BGR_YUY2);
      break;
    case PixelFormat::kGray16:
      cv::extractChannel(pixels, gray, 1);  // the upper bytes
      cv::cvtColor(gray, colour, cv::COLOR_GRAY2BGR);
      break;
    case PixelFormat::kBayerRggb8:
      cv::cvtColor(pixels, colour, cv::COLOR_BayerRGGB2BGR);
      break;
  }
  return colour;
}

}  // namespace

// Of a file or pipe, which may have no end: the largest picture with eight bytes a pixel, and its header.
constexpr size_t kMostBytes = (size_t{1} << 30) + (size_t{1} << 20);

absl::Status ReadBytes(const std::string& path, std::string* bytes) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  bytes->clear();
  char buffer[1 << 16];
  struct stat about = {};
  const bool too_long = fstat(fileno(file), &about) == 0 && about.st_size > static_cast<off_t>(kMostBytes);
  size_t got = 0;
  while (!too_long && bytes->size() <= kMostBytes && (got = std::fread(buffer, 1, sizeof(buffer), file)) > 0) {
    bytes->append(buffer, got);
  }
  const int error = std::ferror(file) ? errno : 0;
  if (file != stdin) std::fclose(file);
  if (too_long || bytes->size() > kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has more than ", kMostBytes, " bytes, the most that is read of one file"));
  }
  if (error != 0) return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(error)));
  return absl::OkStatus();
}

client::ImageInput Picture::input() const {
  if (raw.has_value()) {
    return client::ImageInput::Raw(raw->format, file.data(), raw->shape.width, raw->shape.height,
                                   static_cast<ptrdiff_t>(raw->row_bytes()));
  }
  if (!file.empty()) return client::ImageInput::Encoded(file);
  const auto format = pixels.type() == CV_16UC1 ? client::PixelFormat::kGray16
                      : pixels.channels() == 1  ? client::PixelFormat::kGray8
                                                : client::PixelFormat::kBgr8;
  return client::ImageInput::Raw(format, pixels.data, pixels.cols, pixels.rows, static_cast<ptrdiff_t>(pixels.step));
}

cv::Mat Picture::Canvas() const {
  if (raw.has_value()) return RawToColour(*raw, file);
  if (!file.empty()) return Decode(file, cv::IMREAD_COLOR);
  cv::Mat canvas;
  if (pixels.channels() == 1) {
    cv::cvtColor(pixels.type() == CV_16UC1 ? UpperBytes(pixels) : pixels, canvas, cv::COLOR_GRAY2BGR);
  } else {
    canvas = pixels.clone();
  }
  return canvas;
}

absl::Status ReadPicture(const std::string& path, SendFormat format, Picture* picture) {
  picture->name = path;
  picture->raw.reset();
  picture->pixels.release();
  GLINT_RETURN_IF_ERROR(ReadBytes(path, &picture->file));
  GLINT_RETURN_IF_ERROR(CheckOnePicture(path, picture->file));
  if (IsJpeg(picture->file) && decode::LacksEndMarker(BytesOf(picture->file))) {
    Complain("", absl::StrCat(path, ": warning: the JPEG lacks its end marker; its last bytes may have been cut off"));
  }
  if (IsJpegOrPng(picture->file)) return absl::OkStatus();
  picture->pixels = Decode(picture->file, cv::IMREAD_UNCHANGED);
  if (picture->pixels.type() != CV_16UC1) {  // grey samples of 16 bits are sent as they are
    picture->pixels = Decode(picture->file, format == SendFormat::kColor ? cv::IMREAD_COLOR : cv::IMREAD_GRAYSCALE);
  }
  picture->file.clear();
  return picture->pixels.empty() ? NotAnImage(path) : absl::OkStatus();
}

absl::Status ReadRawPicture(const std::string& path, const RawLayout& layout, Picture* picture) {
  picture->name = path;
  picture->raw = layout;
  GLINT_RETURN_IF_ERROR(ReadBytes(path, &picture->file));
  if (picture->file.size() == layout.bytes()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": has ", picture->file.size(), " bytes instead of ", layout.bytes()));
}

absl::Status ToJpeg(int quality, Picture* picture) {
  if (IsJpeg(picture->file)) return absl::OkStatus();
  cv::Mat gray = picture->file.empty() ? picture->pixels : Decode(picture->file, cv::IMREAD_GRAYSCALE);
  if (gray.type() == CV_16UC1) gray = UpperBytes(gray);
  if (gray.empty() || gray.type() != CV_8UC1) return NotAnImage(picture->name);
  auto file = decode::WriteJpeg({gray.data, gray.cols, gray.rows, static_cast<ptrdiff_t>(gray.step)}, quality);
  if (!file.ok()) {
    return absl::Status(file.status().code(), absl::StrCat(picture->name, ": ", file.status().message()));
  }
  picture->file = *std::move(file);
  picture->pixels.release();
  return absl::OkStatus();
}

absl::StatusOr<cv::Mat> ReadGray(const std::string& path) {
  std::string file;
  GLINT_RETURN_IF_ERROR(ReadBytes(path, &file));
  GLINT_RETURN_IF_ERROR(CheckOnePicture(path, file));
  cv::Mat pixels = Decode(file, cv::IMREAD_GRAYSCALE);
  if (pixels.empty()) return NotAnImage(path);
  return pixels;
}

absl::StatusOr<Image> ReadMask(const std::string& path) {
  if (path.empty()) return Image();
  GLINT_ASSIGN_OR_RETURN(const auto pixels, ReadGray(path));
  return Image::CopyOf({pixels.data, pixels.cols, pixels.rows, static_cast<ptrdiff_t>(pixels.step)});
}

}  // namespace glint::cli
