// Where pictures come from: image files as they are, and frames of a video or a camera.
#ifndef GLINT_CLIENT_CLI_SOURCE_H_
#define GLINT_CLIENT_CLI_SOURCE_H_

#include <cstdint>
#include <memory>
#include <opencv2/core.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/raw_flags.h"
#include "client/image.h"
#include "features/types.h"

namespace glint::cli {

// Of a video that is recorded of pictures without a rate of their own, frames per second.
inline constexpr double kDefaultRate = 30;

// How video frames and decoded pictures travel. Grey is cv::cvtColor's, which the server's own conversion equals, so
// the keypoints are the same; it needs a third of the bytes.
enum class SendFormat { kGray, kColor };

// One picture, with all that sending and drawing need. Reusable; keeps its memory.
struct Picture {
  std::string name;              // of the file; "video.mp4#000012" for a frame
  std::string file;              // a JPEG or PNG, or raw pixels, as they were read; else empty
  std::optional<RawLayout> raw;  // of these pixels
  cv::Mat pixels;                // 8-bit grey or BGR, of everything else

  client::ImageInput input() const;
  // In colour, decoded if need be; empty if that is not possible.
  cv::Mat Canvas() const;
};

// Reads an image file; "-" is standard input. JPEG and PNG are kept as they are, whatever is in them, for the server to
// judge; other formats are decoded by OpenCV. NOT_FOUND or INVALID_ARGUMENT begins with the name.
absl::Status ReadPicture(const std::string& path, SendFormat format, Picture* picture);
// The bytes of a file; "-" is standard input. NOT_FOUND begins with the name.
absl::Status ReadBytes(const std::string& path, std::string* bytes);

// The pixels of an image file in grey, as stored (EXIF orientation is not applied).
absl::StatusOr<cv::Mat> ReadGray(const std::string& path);
// The same as an image of its own; empty for an empty path.
absl::StatusOr<Image> ReadMask(const std::string& path);

// Thread-compatible.
class Source {
 public:
  virtual ~Source() = default;

  // OUT_OF_RANGE at the end. Any other error is about this picture, and the next one can be asked for.
  virtual absl::Status Next(Picture* picture) = 0;
  // Begins again from the first picture.
  virtual absl::Status Rewind() = 0;
  // How many pictures from the first to the last; 0 when nobody knows (camera, network).
  virtual int64_t count() const = 0;
  // Frames per second to record a video of it with.
  virtual double rate() const = 0;
};

// `name` is a folder, a pattern (*?[), an image or video file, a camera (a number, /dev/videoN or camera:N), or a URL
// that OpenCV's video capture understands (rtsp://, http://). NOT_FOUND says what was tried.
absl::StatusOr<std::unique_ptr<Source>> OpenSource(const std::string& name, SendFormat format);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_H_
