// Which program decodes a video, and its arguments. Names of files and addresses become arguments in which nothing can
// be read as an option, a pattern or another protocol.
#ifndef GLINT_CLIENT_VIDEO_DECODER_H_
#define GLINT_CLIENT_VIDEO_DECODER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint::video {

enum class Decoder { kAuto, kFfmpeg, kGstreamer };

// Whether `name` has "://" in it, as all addresses have.
bool IsAddress(absl::string_view name);

// "rtsp", "rtsps", "http", "https", "rtmp" or "rtmps". INVALID_ARGUMENT: another scheme, no host, or a character that
// addresses do not have, such as a space.
absl::StatusOr<std::string> SchemeOf(absl::string_view address);
// Whether frames come at a camera's pace there and are old when they are read late.
bool IsLiveScheme(absl::string_view scheme);

// What may be shown: an address without user and password; other names as they are.
std::string WithoutPassword(absl::string_view name);

// The program's path and its arguments, which write a file's or an address's first video as y4m to standard output:
// the luma alone, or with `color` 4:2:0. kAuto takes ffmpeg, or else gst-launch-1.0, from $PATH. NOT_FOUND: the program
// is not there. Errors of SchemeOf().
absl::StatusOr<std::vector<std::string>> DecoderArguments(Decoder decoder, const std::string& name, bool color);

// Whether that is GStreamer, whose y4menc (1.22) pads rows to four bytes: its frames can be read if the width is a
// multiple of 8 and the height even.
bool PadsRows(const std::vector<std::string>& arguments);

}  // namespace glint::video

#endif  // GLINT_CLIENT_VIDEO_DECODER_H_
