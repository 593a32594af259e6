#include "client/video/gst_notes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/video/frame_times.h"
#include "features/error.h"
#include "features/limits.h"

namespace glint::video {
namespace {

constexpr absl::string_view kCaps = "/GstIdentity:glint.GstPad:sink: caps = ",
                            kChain = "/GstIdentity:glint: last-message = chain ", kSink = "(glint:sink) (",
                            kPts = " pts: ", kStarted = "Pipeline is ", kLive = "Pipeline is live",
                            kClock = "New clock: ";

constexpr std::pair<absl::string_view, GstFormat> kFormats[] = {
    {"GRAY8", GstFormat::kGray8}, {"NV12", GstFormat::kNv12}, {"I420", GstFormat::kI420}, {"BGRx", GstFormat::kBgrx}};

size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

// "NV12" of ", format=(string)NV12,"; empty: there is no such field.
absl::string_view Field(absl::string_view caps, absl::string_view name) {
  for (absl::string_view field : absl::StrSplit(caps, ", ")) {
    if (!absl::ConsumePrefix(&field, name) || !absl::ConsumePrefix(&field, "=(")) continue;
    return field.substr(std::min(field.find(')') + 1, field.size()));
  }
  return "";
}

absl::Status CapsError(absl::string_view caps) {
  std::string came(caps.substr(0, caps.find(',')));
  for (const absl::string_view name : {"format", "width", "height"}) {
    const absl::string_view value = Field(caps, name);
    if (!value.empty()) absl::StrAppend(&came, ",", name, "=", value);
  }
  const char* const converter = absl::StrContains(came, "NVMM") ? "nvvidconv" : "videoconvert";
  return ContradictionError(
      "caps", absl::StrCat(Echo(came), " is not taken, but video/x-raw in system memory of GRAY8, NV12, I420 or BGRx ",
                           "with sides in 1..", kMaxImageSide, ", and image/jpeg; end the pipeline with ", converter,
                           " ! video/x-raw,format=NV12"));
}

bool ParseSide(absl::string_view text, int* side) {
  return absl::SimpleAtoi(text, side) && *side >= 1 && *side <= kMaxImageSide;
}

void ParseRate(absl::string_view text, GstCaps* caps) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  int64_t numerator = 0, denominator = 0;
  if (!absl::SimpleAtoi(parts.first, &numerator) || !absl::SimpleAtoi(parts.second, &denominator)) return;
  if (numerator < 1 || denominator < 1) return;
  caps->rate_numerator = numerator;
  caps->rate_denominator = denominator;
}

}  // namespace

size_t GstCaps::row_bytes() const { return static_cast<size_t>(shape.width) * (format == GstFormat::kBgrx ? 4 : 1); }

size_t GstCaps::stride() const { return RoundUp(row_bytes(), 4); }

size_t GstCaps::bytes() const {
  const size_t rows = static_cast<size_t>(shape.height), even_rows = RoundUp(rows, 2);
  switch (format) {
    case GstFormat::kGray8:
    case GstFormat::kBgrx:
      return stride() * rows;
    case GstFormat::kNv12:
      return stride() * even_rows / 2 * 3;
    case GstFormat::kI420:
      return stride() * even_rows + RoundUp(RoundUp(row_bytes(), 2) / 2, 4) * even_rows;
    case GstFormat::kJpeg:
      break;
  }
  return 0;
}

absl::StatusOr<GstCaps> ParseGstCaps(absl::string_view text) {
  GstCaps caps;
  ParseRate(Field(text, "framerate"), &caps);
  const absl::string_view media = text.substr(0, text.find(','));
  if (media == "image/jpeg") {
    caps.format = GstFormat::kJpeg;
    return caps;
  }
  const absl::string_view format = Field(text, "format");
  for (const auto& [name, value] : kFormats) {
    if (media != "video/x-raw" || format != name) continue;
    caps.format = value;
    if (ParseSide(Field(text, "width"), &caps.shape.width) && ParseSide(Field(text, "height"), &caps.shape.height)) {
      return caps;
    }
  }
  return CapsError(text);
}

void GstNotes::Add(absl::string_view bytes) {
  for (const char byte : bytes) {
    if (byte == '\n') {
      EndLine();
    } else if (line_.size() < kMaxLine) {
      line_ += byte;
    }
  }
}

void GstNotes::EndLine() {
  const std::string text = std::exchange(line_, "");
  const absl::string_view line = text;
  started_ = started_ || absl::StartsWith(line, kStarted);
  live_ = live_ || absl::StartsWith(line, kLive);
  if (absl::StartsWith(line, kClock)) clock_ = std::string(line.substr(kClock.size()));
  if (const size_t at = line.find(kCaps); at != absl::string_view::npos) {
    caps_ = std::make_shared<const std::string>(line.substr(at + kCaps.size()));
  }
  const size_t sink = absl::StrContains(line, kChain) ? line.find(kSink) : absl::string_view::npos;
  if (sink == absl::string_view::npos) return;
  const absl::string_view rest = line.substr(sink + kSink.size());
  GstFrame frame;
  if (!absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &frame.bytes)) return;
  frame.caps = caps_;
  if (const size_t pts = rest.find(kPts); pts != absl::string_view::npos) {
    const absl::string_view time = rest.substr(pts + kPts.size());
    frame.pts = ParseGstTime(time.substr(0, time.find(',')));
  }
  frames_.push_back(std::move(frame));
}

bool GstNotes::Take(GstFrame* frame) {
  if (frames_.empty()) return false;
  *frame = std::move(frames_.front());
  frames_.pop_front();
  return true;
}

}  // namespace glint::video
