// Where pictures come from: image files as they are, and frames of a video or a camera. client/cli/raw_source.h has
// another source, of this interface.
#ifndef GLINT_CLIENT_CLI_SOURCE_H_
#define GLINT_CLIENT_CLI_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/picture.h"

namespace glint::cli {

// Of a video that is recorded of pictures without a rate of their own, frames per second.
inline constexpr double kDefaultRate = 30;

// Thread-compatible.
class Source {
 public:
  virtual ~Source() = default;

  // OUT_OF_RANGE at the end. Any other error is about this picture, and the next one can be asked for.
  virtual absl::Status Next(Picture* picture) = 0;
  // Begins again from the first picture.
  virtual absl::Status Rewind() = 0;
  // Number of pictures; 0: unknown (camera, network).
  virtual int64_t count() const = 0;
  // Frames per second to record a video of it with.
  virtual double rate() const = 0;
};

// `name` is a folder, a pattern (*?[), an image or video file, a camera (a number, /dev/videoN or camera:N), or a URL
// that OpenCV's video capture understands (rtsp://, http://). NOT_FOUND lists what was tried.
absl::StatusOr<std::unique_ptr<Source>> OpenSource(const std::string& name, SendFormat format);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_H_
