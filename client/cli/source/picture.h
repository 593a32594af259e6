// One picture of a file or a video: reading it, sending it, drawing on it.
#ifndef GLINT_CLIENT_CLI_SOURCE_PICTURE_H_
#define GLINT_CLIENT_CLI_SOURCE_PICTURE_H_

#include <opencv2/core.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/source/raw_flags.h"
#include "client/image.h"
#include "features/types.h"

namespace glint::cli {

// How video frames and decoded pictures travel. The grey of cameras and pictures is cv::cvtColor's, which the server's
// own conversion equals; that of videos is the luma as coded, which the server takes from NV12, too, or of those in RGB
// the pictures'. So the keypoints of kGray and kColor are the same. kJpeg: that grey, by ToJpeg().
enum class SendFormat { kGray, kColor, kJpeg };

// One picture, with all that sending and drawing need. Reusable; keeps its memory.
struct Picture {
  std::string name;              // of the file; "video.mp4#000012" for a frame
  std::string file;              // a JPEG or PNG, or raw pixels, as they were read; else empty
  std::optional<RawLayout> raw;  // of these pixels
  cv::Mat pixels;                // 8-bit grey or BGR, or 16-bit grey, of everything else
  // Of a video's frame: since the first one, as the decoder says it, or in y4m by the frame rate; of a live one since
  // the start, when it came. Of a file: what its name says (TimesOf()).
  std::optional<absl::Duration> time;

  client::ImageInput input() const;
  // Of what input() holds, headers of messages aside.
  size_t bytes() const { return file.empty() ? pixels.total() * pixels.elemSize() : file.size(); }
  // In colour, decoded if need be; empty if that is not possible.
  cv::Mat Canvas() const;
};

// Reads an image file; "-" is standard input. JPEG and PNG are kept as they are, whatever is in them, for the server to
// judge; of a JPEG without an end marker a warning is printed. Other formats are decoded by OpenCV, grey of 16 bits to
// samples of 16 bits. NOT_FOUND or INVALID_ARGUMENT begins with the name; a file with several pictures is an error.
absl::Status ReadPicture(const std::string& path, SendFormat format, Picture* picture);
// Reads a file of raw pixels, which must have as many as one picture has.
absl::Status ReadRawPicture(const std::string& path, const RawLayout& layout, Picture* picture);
// Makes a picture that is no JPEG yet one of its grey (decode::WriteJpeg(); `quality` as there). INVALID_ARGUMENT
// begins with the name. Not for raw pixels.
absl::Status ToJpeg(int quality, Picture* picture);
// The bytes of a file; "-" is standard input. NOT_FOUND, and INVALID_ARGUMENT for more than 1 GiB, begin with the name.
absl::Status ReadBytes(const std::string& path, std::string* bytes);

// The pixels of an image file in grey, as stored (EXIF orientation is not applied).
absl::StatusOr<cv::Mat> ReadGray(const std::string& path);
// The same as an image of its own; empty for an empty path.
absl::StatusOr<Image> ReadMask(const std::string& path);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_PICTURE_H_
