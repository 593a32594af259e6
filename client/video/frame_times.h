// When frames are to be shown, and which way up, which pixels in y4m do not carry: decoders write it beside them.
#ifndef GLINT_CLIENT_VIDEO_FRAME_TIMES_H_
#define GLINT_CLIENT_VIDEO_FRAME_TIMES_H_

#include <deque>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace glint::video {

// "1:02:03.000000004", as GStreamer writes times; nothing: it is none.
std::optional<absl::Duration> ParseGstTime(absl::string_view text);

// Reads the lines of FFmpeg's filter "metadata" (with a time base of 1 ns) and of GStreamer's element "identity", one
// of each frame; other lines are passed over. Thread-compatible.
class FrameTimes {
 public:
  void Add(absl::string_view bytes);
  // Whether a frame's line is there that was not taken yet. `*time` is on the decoder's own clock, which begins
  // anywhere; nothing: the decoder knows none.
  bool Take(std::optional<absl::Duration>* time);
  // GStreamer's name of how frames are to be turned, such as "rotate-90"; empty: not at all, or it says nothing.
  const std::string& turn() const { return turn_; }

 private:
  static constexpr size_t kMaxLine = 1024;  // the rest of a line is left out
  void EndLine();

  std::string line_, turn_;
  std::deque<std::optional<absl::Duration>> times_;
};

}  // namespace glint::video

#endif  // GLINT_CLIENT_VIDEO_FRAME_TIMES_H_
