#include "client/cli/source/gst_source.h"

#include <algorithm>
#include <atomic>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/base/command.h"
#include "client/cli/source/live_source.h"
#include "client/cli/source/newest_frame.h"
#include "client/video/decoder.h"
#include "client/video/gst_notes.h"
#include "client/video/process.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::cli {
namespace {

using video::GstFormat;

// Until the pipeline has started, until its next frame, and for a frame's bytes.
constexpr absl::Duration kFramePatience = absl::Seconds(10);
// The clock that all pipelines of a machine have in common: CLOCK_MONOTONIC.
constexpr char kSystemClock[] = "GstSystemClock";

// "gst:v4l2src device=/dev/video0": the first element, without passwords.
std::string ShownName(const std::string& name) {
  return video::WithoutPassword(absl::StripTrailingAsciiWhitespace(name.substr(0, name.find('!'))));
}

absl::string_view PackageOf(absl::string_view words) {
  if (!absl::StrContains(words, "no element \"")) return "";
  if (absl::StrContains(words, "no element \"nv")) return " (JetPack: package nvidia-l4t-gstreamer)";
  return " (Debian: packages gstreamer1.0-plugins-base, -good and -bad, and gstreamer1.0-libav)";
}

// Every frame, in order.
class GstSource : public Source {
 public:
  GstSource(const std::string& name, SendFormat format, const VideoOptions& options)
      : shown_(ShownName(name)), pipeline_(*video::PipelineOf(name)), format_(format), paired_(options.paired) {}

  // Until it is known whether the pipeline is live.
  absl::Status Open() {
    process_.reset();
    notes_ = video::GstNotes();
    next_.reset();
    caps_text_.reset();
    GLINT_ASSIGN_OR_RETURN(const auto arguments, video::PipelineArguments(pipeline_));
    video::Patience patience;
    patience.timeout = kFramePatience;
    patience.stop = [this] { return cancelled_ || Interrupted(); };
    video::Channels channels;
    channels.output = 3;
    channels.notes = 1;
    channels.take_notes = [this](absl::string_view bytes) { notes_.Add(bytes); };
    ClockZero();
    auto process = video::Process::Start(arguments, std::move(patience), std::move(channels));
    if (!process.ok()) return Named(process.status());
    process_ = *std::move(process);
    const absl::Status started = WaitFor([this] { return notes_.started(); }, "did not start");
    return started.ok() ? started : Named(started);
  }
  bool pipeline_is_live() const { return notes_.live(); }

  // Waits for the first frame.
  absl::Status Begin() override {
    absl::Status status = TakeNext();
    if (absl::IsOutOfRange(status)) status = absl::InvalidArgumentError("ended without a frame");
    if (!status.ok()) return Named(status);
    const bool clock_known = notes_.clock() == kSystemClock && process_->last_words().base_time().has_value();
    time_zero_ = !notes_.live() ? TimeZero::kFirstPicture : clock_known ? TimeZero::kSystemClock : TimeZero::kArrival;
    if (notes_.live() && !clock_known) {
      Complain("", absl::StrCat(shown_, ": warning: its clock is \"", notes_.clock(), "\" and not ", kSystemClock,
                                "; its frames have the times at which they come"));
    }
    if (paired_ && notes_.live() && caps_.rate_denominator == 0) {
      return Named(ContradictionError("caps",
                                      "of a pair of live pipelines have no framerate, which tells how near in "
                                      "time frames of one moment are; end it with ,framerate=30/1"));
    }
    return absl::OkStatus();
  }

  absl::Status Next(Picture* picture) override {
    if (process_ == nullptr) return absl::OutOfRangeError("no more frames");
    picture->name = absl::StrFormat("%s#%06d", shown_, number_);
    absl::Status status = next_.has_value() ? absl::OkStatus() : TakeNext();
    if (status.ok()) status = Read(next_->bytes, picture);
    if (status.ok()) {
      picture->time = TimeOf(*next_, picture->name);
      ++number_;
      next_.reset();
      return status;
    }
    process_.reset();
    if (absl::IsOutOfRange(status) || absl::IsCancelled(status)) return absl::OutOfRangeError("no more frames");
    return Named(absl::Status(status.code(), absl::StrCat("ends at frame ", number_, ": ", status.message())));
  }
  absl::Status Rewind() override {
    if (notes_.live()) return absl::UnimplementedError("a live source cannot be read twice");
    number_ = 0;
    return Reopen();
  }
  absl::Status Reopen() override {
    first_.reset();
    GLINT_RETURN_IF_ERROR(Open());
    return Begin();
  }
  int64_t count() const override { return 0; }
  double rate() const override {
    if (caps_.rate_denominator == 0) return kDefaultRate;
    const double rate = static_cast<double>(caps_.rate_numerator) / static_cast<double>(caps_.rate_denominator);
    return rate >= 1 && rate <= 1000 ? rate : kDefaultRate;
  }
  bool live() const override { return notes_.live(); }
  TimeZero time_zero() const override { return time_zero_; }
  void Cancel() override { cancelled_ = true; }

 private:
  // OUT_OF_RANGE: the program has ended well before. DEADLINE_EXCEEDED has `otherwise` in it.
  template <typename Condition>
  absl::Status WaitFor(Condition is_true, absl::string_view otherwise) {
    const absl::Time end = SteadyNow() + kFramePatience;
    while (!is_true()) {
      if (process_->WaitForNotes(end)) continue;
      if (cancelled_ || Interrupted()) return absl::CancelledError("interrupted");
      if (SteadyNow() >= end) {
        return absl::DeadlineExceededError(absl::StrCat(otherwise, " for ", absl::FormatDuration(kFramePatience),
                                                        ", and given up (", process_->Told(), ")"));
      }
      GLINT_RETURN_IF_ERROR(process_->Finish());
      if (is_true()) break;  // what it said last
      return absl::OutOfRangeError("no more frames");
    }
    return absl::OkStatus();
  }

  // The next frame's line, and caps that are taken.
  absl::Status TakeNext() {
    video::GstFrame frame;
    GLINT_RETURN_IF_ERROR(WaitFor([&] { return notes_.Take(&frame); }, "no frame came"));
    if (frame.caps == nullptr) return ContradictionError("caps", "are missing: the pipeline's last element has none");
    if (frame.caps != caps_text_) {
      GLINT_ASSIGN_OR_RETURN(caps_, video::ParseGstCaps(*frame.caps));
      GLINT_RETURN_IF_ERROR(CheckSides());
      caps_text_ = frame.caps;
    }
    if (caps_.format == GstFormat::kJpeg ? frame.bytes == 0 : frame.bytes != caps_.bytes()) {
      return ContradictionError(
          "frame", absl::StrCat("has ", frame.bytes, " bytes, where ", caps_.shape.width, "x", caps_.shape.height,
                                " has ", caps_.bytes(), ": its rows have gaps of their own, or bytes are missing"));
    }
    next_ = std::move(frame);
    return absl::OkStatus();
  }
  absl::Status CheckSides() const {
    const bool is_420 = caps_.format == GstFormat::kNv12 || caps_.format == GstFormat::kI420;
    if (format_ != SendFormat::kColor || !is_420 || (caps_.shape.width % 2 == 0 && caps_.shape.height % 2 == 0)) {
      return absl::OkStatus();
    }
    return ContradictionError("caps", absl::StrCat(caps_.shape.width, "x", caps_.shape.height,
                                                   " has odd sides, which --send color cannot have"));
  }

  absl::Status Read(size_t bytes, Picture* picture) {
    picture->file.clear();
    picture->raw.reset();
    if (caps_.format == GstFormat::kJpeg) {
      picture->pixels.release();
      picture->file.resize(bytes);
      return ReadBytes(reinterpret_cast<uint8_t*>(picture->file.data()), bytes);
    }
    if (format_ == SendFormat::kColor && caps_.format != GstFormat::kGray8) return ReadColor(picture);
    const Shape shape = caps_.shape;
    if (caps_.format == GstFormat::kBgrx) {
      bgrx_.create(shape.height, shape.width, CV_8UC4);
      GLINT_RETURN_IF_ERROR(ReadBytes(bgrx_.data, bytes));
      cv::cvtColor(bgrx_, picture->pixels, cv::COLOR_BGRA2GRAY);
      return absl::OkStatus();
    }
    picture->pixels.create(shape.height, shape.width, CV_8U);
    GLINT_RETURN_IF_ERROR(ReadRows(picture->pixels.data, caps_.row_bytes(), caps_.stride(), shape.height));
    return Skip(bytes - caps_.stride() * static_cast<size_t>(shape.height));
  }
  // As BGRA or NV12, of which I420 has the chroma planes apart.
  absl::Status ReadColor(Picture* picture) {
    const bool is_bgrx = caps_.format == GstFormat::kBgrx;
    picture->pixels.release();
    picture->raw = RawLayout{is_bgrx ? client::PixelFormat::kBgra8 : client::PixelFormat::kNv12, caps_.shape};
    picture->file.resize(picture->raw->bytes());
    auto* const to = reinterpret_cast<uint8_t*>(picture->file.data());
    const size_t row = caps_.row_bytes(), stride = caps_.stride();
    const int rows = caps_.shape.height;
    if (caps_.format != GstFormat::kI420) return ReadRows(to, row, stride, is_bgrx ? rows : rows / 2 * 3);
    GLINT_RETURN_IF_ERROR(ReadRows(to, row, stride, rows));
    uint8_t* const both = to + row * static_cast<size_t>(rows);
    const size_t plane_row = row / 2, plane_stride = (caps_.bytes() / static_cast<size_t>(rows)) - stride;
    plane_.resize(plane_row * static_cast<size_t>(rows / 2));
    for (const size_t first : {0, 1}) {
      GLINT_RETURN_IF_ERROR(ReadRows(plane_.data(), plane_row, plane_stride, rows / 2));
      for (size_t i = 0; i < plane_.size(); ++i) both[2 * i + first] = plane_[i];
    }
    return absl::OkStatus();
  }
  absl::Status ReadRows(uint8_t* to, size_t row, size_t stride, int rows) {
    if (row == stride) return ReadBytes(to, row * static_cast<size_t>(rows));
    for (int y = 0; y < rows; ++y, to += row) {
      GLINT_RETURN_IF_ERROR(ReadBytes(to, row));
      GLINT_RETURN_IF_ERROR(Skip(stride - row));
    }
    return absl::OkStatus();
  }
  absl::Status ReadBytes(uint8_t* to, size_t size) {
    while (size > 0) {
      GLINT_ASSIGN_OR_RETURN(const size_t count, process_->Read(to, size));
      if (count == 0) {
        GLINT_RETURN_IF_ERROR(process_->Finish());
        return absl::InvalidArgumentError(absl::StrCat("it is cut off (", process_->Told(), ")"));
      }
      to += count;
      size -= count;
    }
    return absl::OkStatus();
  }
  absl::Status Skip(size_t size) {
    skipped_.resize(std::max(skipped_.size(), size));
    return ReadBytes(skipped_.data(), size);
  }

  // A frame without a time after the last one's has, if live, the time at which it came, else that of the rate.
  absl::Duration TimeOf(const video::GstFrame& frame, const std::string& name) {
    if (time_zero_ == TimeZero::kArrival) return SteadyNow() - ClockZero();
    const bool on_clock = time_zero_ == TimeZero::kSystemClock;
    std::optional<absl::Duration> time = frame.pts;
    if (time.has_value() && on_clock) {
      *time += absl::UnixEpoch() + *process_->last_words().base_time() - ClockZero();
    } else if (time.has_value()) {
      if (!first_.has_value()) first_ = *time - (number_ == 0 ? absl::ZeroDuration() : NextByRate());
      *time -= *first_;
    }
    if (!time.has_value() || (number_ > 0 && *time <= last_time_)) {
      const absl::string_view why =
          time.has_value() ? "its time is not after that of the frame before" : "it has no time";
      time = on_clock ? SteadyNow() - ClockZero() : number_ == 0 ? absl::ZeroDuration() : NextByRate();
      if (!std::exchange(told_of_times_, true)) {
        Complain("", absl::StrCat(name, ": warning: ", why, "; such frames have the time ",
                                  on_clock ? "at which they come" : "that follows from the frame rate"));
      }
    }
    last_time_ = *time;
    return last_time_;
  }
  absl::Duration NextByRate() const { return last_time_ + absl::Seconds(1 / rate()); }

  absl::Status Named(const absl::Status& status) const {
    const std::string words = video::WithoutPassword(status.message());
    return absl::Status(status.code(), absl::StrCat(shown_, ": ", words, PackageOf(words)));
  }

  const std::string shown_, pipeline_;
  const SendFormat format_;
  const bool paired_;
  std::atomic<bool> cancelled_{false};
  video::GstNotes notes_;                    // before process_, which writes there
  std::unique_ptr<video::Process> process_;  // null: at the end
  std::optional<video::GstFrame> next_;      // its bytes are not read yet
  std::shared_ptr<const std::string> caps_text_;
  video::GstCaps caps_;  // of caps_text_
  cv::Mat bgrx_;
  std::vector<uint8_t> plane_, skipped_;
  int64_t number_ = 0;
  TimeZero time_zero_ = TimeZero::kFirstPicture;
  std::optional<absl::Duration> first_;  // PTS that is our zero, if that is the first picture
  absl::Duration last_time_;             // of frame number_ - 1
  bool told_of_times_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> OpenPipeline(const std::string& name, SendFormat format,
                                                     const VideoOptions& options) {
  auto source = std::make_unique<GstSource>(name, format, options);
  GLINT_RETURN_IF_ERROR(source->Open());
  const bool newest = options.live.value_or(source->pipeline_is_live());
  const bool can_be_lost = newest || source->pipeline_is_live();
  std::unique_ptr<Source> opened = std::move(source);
  if (newest) opened = TakeNewest(std::move(opened));
  if (!options.paired) GLINT_RETURN_IF_ERROR(opened->Begin());
  if (!can_be_lost) return opened;
  return WatchForLoss(std::move(opened), ShownName(name), options.retry_time());
}

}  // namespace glint::cli
