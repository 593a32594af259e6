#include "client/video/frame_times.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace glint::video {
namespace {

// FFmpeg: "frame:3    pts:100100000 pts_time:0.1001", or "pts:NOPTS".
// GStreamer: "...: last-message = chain   ******* (x:sink) (9 bytes, dts: none, pts: 0:00:00.100100000, ...", or none.
constexpr absl::string_view kFfmpegLine = "frame:", kGstreamerLine = " last-message = chain ", kTime = "pts:";
// GStreamer: "...: last-message = event   ******* (... image-orientation\=\(string\)rotate-270\, ..."
constexpr absl::string_view kGstreamerEvent = " last-message = event ", kTurn = "image-orientation\\=\\(string\\)";

// Digits alone.
bool ParseCount(absl::string_view text, int64_t* count) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && absl::SimpleAtoi(text, count);
}

std::optional<absl::Duration> ParseNanoseconds(absl::string_view text) {
  int64_t nanoseconds = 0;
  if (!absl::SimpleAtoi(text, &nanoseconds)) return std::nullopt;
  return absl::Nanoseconds(nanoseconds);
}

}  // namespace

std::optional<absl::Duration> ParseGstTime(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, absl::ByAnyChar(":."));
  int64_t hours = 0, minutes = 0, seconds = 0, nanoseconds = 0;
  if (parts.size() != 4 || parts[3].size() != 9 || !ParseCount(parts[0], &hours) || !ParseCount(parts[1], &minutes) ||
      !ParseCount(parts[2], &seconds) || !ParseCount(parts[3], &nanoseconds)) {
    return std::nullopt;
  }
  return absl::Hours(hours) + absl::Minutes(minutes) + absl::Seconds(seconds) + absl::Nanoseconds(nanoseconds);
}

void FrameTimes::Add(absl::string_view bytes) {
  for (const char byte : bytes) {
    if (byte == '\n') {
      EndLine();
    } else if (line_.size() < kMaxLine) {
      line_ += byte;
    }
  }
}

void FrameTimes::EndLine() {
  const absl::string_view line = line_;
  const bool is_ffmpeg = absl::StartsWith(line, kFfmpegLine);
  const size_t at = line.find(kTime);
  if (at != absl::string_view::npos && (is_ffmpeg || absl::StrContains(line, kGstreamerLine))) {
    const absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.substr(at + kTime.size()));
    const absl::string_view time = rest.substr(0, rest.find_first_of(", "));
    times_.push_back(is_ffmpeg ? ParseNanoseconds(time) : ParseGstTime(time));
  }
  const size_t turn = line.find(kTurn);
  if (turn != absl::string_view::npos && absl::StrContains(line, kGstreamerEvent)) {
    const absl::string_view rest = line.substr(turn + kTurn.size());
    turn_ = std::string(rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz-0123456789")));
    if (turn_ == "rotate-0") turn_.clear();
  }
  line_.clear();
}

bool FrameTimes::Take(std::optional<absl::Duration>* time) {
  if (times_.empty()) return false;
  *time = times_.front();
  times_.pop_front();
  return true;
}

}  // namespace glint::video
