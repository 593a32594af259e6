// --draw: annotated pictures and videos.
#ifndef GLINT_CLIENT_CLI_OUTPUT_DRAW_H_
#define GLINT_CLIENT_CLI_OUTPUT_DRAW_H_

#include <memory>
#include <opencv2/core.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/types.h"

namespace glint::cli {

// Each keypoint as a circle of its size, with a line in its direction if it has one; the colour shows the octave.
// `canvas` is 8-bit BGR.
void DrawFeatures(const Features& features, cv::Mat* canvas);

// Where annotated pictures go. Errors are DATA_LOSS with the file's name, or INVALID_ARGUMENT: there is no such format.
// Thread-compatible.
class DrawSink {
 public:
  virtual ~DrawSink() = default;
  // `name` is the picture's; used by sinks that make a file of each.
  virtual absl::Status Write(const std::string& name, const cv::Mat& canvas) = 0;
  // After the last picture: whether all are there. A video is read again for that, since OpenCV says nothing of what it
  // could not write.
  virtual absl::Status Close() { return absl::OkStatus(); }
};

// A video for .avi (MJPEG), .mp4 and .mkv (MPEG-4); a folder of PNGs if `path` is one, or ends in '/'; else a picture,
// which each Write() replaces. The errors of a DrawSink, of places where no file can be made, too.
absl::StatusOr<std::unique_ptr<DrawSink>> OpenDrawSink(const std::string& path, double rate);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_DRAW_H_
