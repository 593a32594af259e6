// Which program decodes a video, and its arguments. Names of files and addresses become arguments in which nothing can
// be read as an option, a pattern or another protocol.
#ifndef GLINT_CLIENT_VIDEO_DECODER_H_
#define GLINT_CLIENT_VIDEO_DECODER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/video/frame_times.h"
#include "client/video/process.h"

namespace glint::video {

enum class Decoder { kAuto, kFfmpeg, kGstreamer };

// What is written of each frame: its luma as it was coded (FFmpeg gives no byte of videos in RGB), luma and chroma in
// 4:2:0, or G, B and R as the three planes of 4:4:4.
enum class Planes { kLuma, kNv12, kRgb };

// Whether `name` has "://" in it, as all addresses have.
bool IsAddress(absl::string_view name);

// "rtsp", "rtsps", "http", "https", "rtmp" or "rtmps". INVALID_ARGUMENT: another scheme, no host, or a character that
// addresses do not have, such as a space.
absl::StatusOr<std::string> SchemeOf(absl::string_view address);
// Whether frames come at a camera's pace there and are old when they are read late.
bool IsLiveScheme(absl::string_view scheme);

// What may be shown of a name or a text: its addresses without user and password, and GStreamer's properties without
// those; all else as it is.
std::string WithoutPassword(absl::string_view name);

// The program's path and its arguments, which write a file's or an address's first video as y4m, and the times of its
// frames, to the descriptors of ChannelsOf(). Frames are not turned, whatever the file says of their orientation. kAuto
// takes ffmpeg, or else gst-launch-1.0, from $PATH. NOT_FOUND: the program is not there. Errors of SchemeOf().
absl::StatusOr<std::vector<std::string>> DecoderArguments(Decoder decoder, const std::string& name, Planes planes);

// Where the program of these arguments writes; its notes go to `times`, which must outlive it.
Channels ChannelsOf(const std::vector<std::string>& arguments, FrameTimes* times);

// The pipeline of a "gst:PIPELINE"; nothing: the name is another one.
std::optional<absl::string_view> PipelineOf(absl::string_view name);
// The path of gst-launch-1.0 and its arguments, which write the frames at the end of a pipeline to descriptor 3, what
// GstNotes reads to descriptor 1, and the pipeline's base time to standard error (LastWords). A last appsink is left
// out. NOT_FOUND: the program is not there; its package is named.
absl::StatusOr<std::vector<std::string>> PipelineArguments(absl::string_view pipeline);

// Whether that is GStreamer. It gives 4:2:0 whatever `planes` was, and its y4menc (1.22) pads rows to four bytes: its
// frames can be read if the width is a multiple of 8 and the height even.
bool IsGstreamer(const std::vector<std::string>& arguments);

}  // namespace glint::video

#endif  // GLINT_CLIENT_VIDEO_DECODER_H_
