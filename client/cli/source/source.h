// Where pictures come from: image files as they are, and frames of a video or a camera. raw_source.h and video_source.h
// have other sources of this interface.
#ifndef GLINT_CLIENT_CLI_SOURCE_SOURCE_H_
#define GLINT_CLIENT_CLI_SOURCE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/base/flags.h"
#include "client/cli/source/picture.h"
#include "client/video/decoder.h"

namespace glint::cli {

// Of a video that is recorded of pictures without a rate of their own, frames per second.
inline constexpr double kDefaultRate = 30;

// What Picture::time of a source's pictures counts from.
enum class TimeZero {
  kFirstPicture,
  kSystemClock,  // ClockZero(): when they were captured, so that such sources' times can be compared
  kArrival,      // the source's opening: when they came
  kEpoch,        // 1970: when they were captured, as a recording says it
};
// On CLOCK_MONOTONIC: the first call of this process. Any thread.
absl::Time ClockZero();

// Thread-compatible.
class Source {
 public:
  virtual ~Source() = default;

  // OUT_OF_RANGE at the end. Any other error is about this picture, and the next one can be asked for.
  virtual absl::Status Next(Picture* picture) = 0;
  // Begins again from the first picture.
  virtual absl::Status Rewind() = 0;
  // Of a source that was opened with VideoOptions::paired, before anything else and once all of them are open: waits
  // for its beginning.
  virtual absl::Status Begin() { return absl::OkStatus(); }
  // Opens a live source that was lost; its pictures' numbers go on.
  virtual absl::Status Reopen() { return absl::UnimplementedError("not a live source"); }
  // Number of pictures; 0: unknown (video, camera, network).
  virtual int64_t count() const = 0;
  // Frames per second to record a video of it with.
  virtual double rate() const = 0;
  // Whether pictures come at a pace that is not ours, as a camera's do.
  virtual bool live() const { return false; }
  // Once there was a picture.
  virtual TimeZero time_zero() const { return live() ? TimeZero::kArrival : TimeZero::kFirstPicture; }
  // From any thread: what is being read now is the end.
  virtual void Cancel() {}
};

class BagFile;

// What the command line says of videos, and the command.
struct VideoOptions {
  video::Decoder decoder = video::Decoder::kAuto;
  std::optional<bool> live;      // nothing: the address decides
  std::optional<float> retry;    // seconds
  bool paired = false;           // other sources are opened beside it, and Source::Begin() is called
  std::shared_ptr<BagFile> bag;  // names of sources are topics of it (--bag)

  void AddTo(Flags* flags);
  absl::Status Validate() const;
  // For which what is lost is opened again; zero: not at all.
  absl::Duration retry_time() const { return absl::Seconds(retry.value_or(0)); }
};

// What SOURCE may be, for help texts.
inline constexpr char kSourceHelp[] =
    "SOURCE is a folder (its images in the order of their names and of the numbers in them), a pattern such as "
    "'dir/*.png', an image, a video "
    "file "
    "or an rtsp, rtsps, http, https, rtmp or rtmps address (H.264, H.265 and what else FFmpeg or GStreamer decodes, as "
    "a "
    "process of its own), a camera (a number, camera:0, or its device by any name, such as /dev/video0 or a link in "
    "/dev/v4l/by-id), a pipe with a name, '<(COMMAND)' of a shell too, or '-', standard input, both of YUV4MPEG2, or "
    "'gst:PIPELINE', "
    "GStreamer's elements up to frames of GRAY8, NV12, I420, BGRx or JPEG.";

// Those files, in that order. Where their names are times (TimesOf()), pictures have them.
std::unique_ptr<Source> OpenFiles(std::vector<std::string> files, SendFormat format);
// `times`: of each file, in place of those of names; empty: pictures have none.
std::unique_ptr<Source> OpenFiles(std::vector<std::string> files, std::vector<absl::Duration> times, SendFormat format);

// `name` is as kSourceHelp says. NOT_FOUND lists what was tried. The end of a camera and of a live address is an error,
// UNAVAILABLE, or a loss after which it is opened again (VideoOptions::retry); with that, the end of a named pipe, too.
absl::StatusOr<std::unique_ptr<Source>> OpenSource(const std::string& name, SendFormat format,
                                                   const VideoOptions& video);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_SOURCE_H_
