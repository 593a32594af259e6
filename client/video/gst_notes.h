// What gst-launch-1.0 writes beside the frames of a pipeline: their caps, sizes and times.
#ifndef GLINT_CLIENT_VIDEO_GST_NOTES_H_
#define GLINT_CLIENT_VIDEO_GST_NOTES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "features/types.h"

namespace glint::video {

enum class GstFormat { kGray8, kNv12, kI420, kBgrx, kJpeg };

// What the frames of a pipeline are. Rows of raw frames are as GStreamer lays them out where nothing else is said.
struct GstCaps {
  GstFormat format = GstFormat::kGray8;
  Shape shape;                                       // sides in 1..kMaxImageSide; of JPEG 0x0
  int64_t rate_numerator = 0, rate_denominator = 0;  // frames per second; 0/0: unknown

  size_t row_bytes() const;  // of the first plane, without the gap behind it
  size_t stride() const;     // of the first plane: row_bytes() up to a multiple of 4
  size_t bytes() const;      // of a frame; 0: JPEG, which has any number
};

// "video/x-raw, format=(string)NV12, width=(int)640, ...". INVALID_ARGUMENT names what came and what is taken.
absl::StatusOr<GstCaps> ParseGstCaps(absl::string_view caps);

struct GstFrame {
  std::shared_ptr<const std::string> caps;  // null: none came before it
  size_t bytes = 0;
  std::optional<absl::Duration> pts;  // since the pipeline's base time
};

// Reads the lines of PipelineArguments()' element, one of each frame, and those about the pipeline. Thread-compatible.
class GstNotes {
 public:
  void Add(absl::string_view bytes);
  // Whether a frame's line is there that was not taken yet.
  bool Take(GstFrame* frame);
  // Whether the pipeline has started, and so live() is known.
  bool started() const { return started_; }
  bool live() const { return live_; }
  // Such as "GstSystemClock"; empty: not known yet.
  const std::string& clock() const { return clock_; }

 private:
  static constexpr size_t kMaxLine = 2048;  // the rest of a line is left out
  void EndLine();

  std::string line_, clock_;
  std::shared_ptr<const std::string> caps_;
  std::deque<GstFrame> frames_;
  bool started_ = false, live_ = false;
};

}  // namespace glint::video

#endif  // GLINT_CLIENT_VIDEO_GST_NOTES_H_
