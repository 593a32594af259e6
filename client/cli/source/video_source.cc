#include "client/cli/source/video_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <opencv2/imgproc.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/cli/base/command.h"
#include "client/cli/source/live_source.h"
#include "client/cli/source/newest_frame.h"
#include "client/video/decoder.h"
#include "client/video/frame_times.h"
#include "client/video/process.h"
#include "client/video/read_ahead.h"
#include "client/video/y4m.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "features/steady_time.h"

namespace glint::cli {
namespace {

// Without a byte from the program: of an address, and of a file, which only has to be decoded.
constexpr absl::Duration kAddressPatience = absl::Seconds(10), kFilePatience = absl::Minutes(1);
// For a frame's time, once its pixels are there.
constexpr absl::Duration kTimePatience = absl::Seconds(5);
constexpr char kStandardInput[] = "-";

bool IsPipe(const std::string& name) {
  struct stat status = {};
  return stat(name.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

bool BeginsAsY4m(const std::string& path) {
  std::string begin(video::kY4mMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == video::kY4mMagic;
}

// Every frame, in order.
class VideoSource : public Source {
 public:
  VideoSource(std::string name, SendFormat format, const VideoOptions& options)
      : name_(std::move(name)),
        shown_(video::WithoutPassword(name_)),
        format_(format),
        decoder_(options.decoder),
        is_live_(video::IsLiveScheme(video::SchemeOf(name_).value_or(""))),
        is_pipe_(IsPipe(name_)),
        reads_ahead_(options.paired && (is_pipe_ || name_ == kStandardInput)),
        pipe_patience_(options.retry_time()) {}

  // Of a pipe or standard input beside others without the header, for which Begin() waits.
  absl::Status Open() {
    const video::Planes wanted = format_ == SendFormat::kColor ? video::Planes::kNv12 : video::Planes::kLuma;
    planes_ = is_live_ ? wanted : video::Planes::kLuma;
    if (reads_ahead_) return OpenBytes();
    absl::Status status = OpenFrames();
    // What a file has is seen by the luma that it gives, or does not give. One without frames fails again.
    const bool is_rgb = absl::IsInvalidArgument(status);
    if (is_ffmpeg_ && !is_live_ && (is_rgb || (status.ok() && planes_ != wanted))) {
      planes_ = is_rgb ? video::Planes::kRgb : wanted;
      status = OpenFrames();
    }
    if (status.ok()) status = CheckHeader();
    if (!status.ok()) reader_.reset();
    return status;
  }
  absl::Status Begin() override {
    if (!reads_ahead_ || reader_ != nullptr) return absl::OkStatus();
    absl::Status status = ReadHeader();
    if (status.ok()) status = CheckHeader();
    if (!status.ok()) reader_.reset();
    return status;
  }

  absl::Status Next(Picture* picture) override {
    if (reader_ == nullptr) return absl::OutOfRangeError("no more frames");
    picture->name = absl::StrFormat("%s#%06d", shown_, number_);
    absl::Status status = planes_ == video::Planes::kRgb ? ReadRgb(picture)
                          : format_ == SendFormat::kColor && reader_->header().chroma == video::Chroma::k420
                              ? ReadColor(picture)
                              : ReadGray(picture);
    if (status.ok()) {
      picture->time = process_ != nullptr ? DecodersTime(picture->name) : TimeByRate();
      if (number_ == 0 && process_ != nullptr) SayTurn();
      ++number_;
      return status;
    }
    if (absl::IsOutOfRange(status) && process_ != nullptr) {
      if (absl::Status ended = Finish(); !ended.ok()) status = Named(ended);
    } else if (!absl::IsOutOfRange(status)) {
      status = Explained(status);
    }
    reader_.reset();
    return absl::IsCancelled(status) ? absl::OutOfRangeError("interrupted") : status;
  }
  absl::Status Rewind() override {
    if (name_ == kStandardInput) return absl::UnimplementedError("standard input cannot be read twice");
    if (is_pipe_) return absl::UnimplementedError("a pipe cannot be read twice");
    number_ = 0;
    return Open();
  }
  absl::Status Reopen() override {
    GLINT_RETURN_IF_ERROR(Open());
    return Begin();
  }
  int64_t count() const override { return 0; }
  double rate() const override {
    if (reader_ == nullptr || reader_->header().rate_denominator == 0) return kDefaultRate;
    const double rate =
        static_cast<double>(reader_->header().rate_numerator) / static_cast<double>(reader_->header().rate_denominator);
    return rate >= 1 && rate <= 1000 ? rate : kDefaultRate;
  }
  // Before the first frame: its frames' times are not waited for.
  void LeaveOutTimes() { wants_times_ = gives_times_ = false; }

  void Cancel() override { cancelled_ = true; }

 private:
  absl::Status OpenFrames() {
    GLINT_RETURN_IF_ERROR(OpenBytes());
    return ReadHeader();
  }
  absl::Status ReadHeader() {
    reader_ = std::make_unique<video::Y4mReader>(bytes_.get());
    const absl::Status status = reader_->ReadHeader();
    return status.ok() ? status : Explained(status);
  }

  absl::Status OpenBytes() {
    reader_.reset();
    // A pipe that was lost stays open until it is open again, or its next writer is refused.
    if (!is_pipe_) bytes_.reset();
    process_ = nullptr;
    is_ffmpeg_ = false;
    const absl::Status status = OpenPipeOrProgram();
    return status.ok() ? status : Named(status);
  }
  absl::Status OpenPipeOrProgram() {
    video::Patience patience;
    patience.stop = [this] { return cancelled_ || Interrupted(); };
    if (name_ == kStandardInput || is_pipe_ || (!video::IsAddress(name_) && BeginsAsY4m(name_))) {
      if (is_pipe_ && pipe_patience_ > absl::ZeroDuration()) patience.timeout = pipe_patience_;
      // A pipe is open at once and waits for a writer in Read(), where an interrupt ends that.
      const int flags = O_RDONLY | O_CLOEXEC | (is_pipe_ ? O_NONBLOCK : 0);
      const int descriptor = name_ == kStandardInput ? STDIN_FILENO : open(name_.c_str(), flags);
      if (descriptor < 0) return absl::NotFoundError(std::strerror(errno));
      if (reads_ahead_) {
        GLINT_ASSIGN_OR_RETURN(bytes_, video::ReadAhead::Start(descriptor, std::move(patience)));
        return absl::OkStatus();
      }
      bytes_ = std::make_unique<video::DescriptorBytes>(descriptor, std::move(patience));
      return absl::OkStatus();
    }
    patience.timeout = video::IsAddress(name_) ? kAddressPatience : kFilePatience;
    GLINT_ASSIGN_OR_RETURN(const auto arguments, video::DecoderArguments(decoder_, name_, planes_));
    is_ffmpeg_ = !video::IsGstreamer(arguments);
    times_ = video::FrameTimes();
    clock_start_.reset();
    gives_times_ = wants_times_;
    GLINT_ASSIGN_OR_RETURN(
        auto process, video::Process::Start(arguments, std::move(patience), video::ChannelsOf(arguments, &times_)));
    process_ = process.get();
    bytes_ = std::move(process);
    return absl::OkStatus();
  }

  absl::Status CheckHeader() const {
    const video::Y4mHeader& header = reader_->header();
    const Shape shape = header.shape;
    const std::string size = absl::StrCat(shape.width, "x", shape.height);
    if (process_ != nullptr && !is_ffmpeg_ && (shape.width % 8 != 0 || shape.height % 2 != 0)) {
      return ContradictionError(
          shown_, absl::StrCat(size,
                               " cannot be read from GStreamer, whose y4menc needs widths that are multiples of "
                               "8 and even heights (--video-decoder ffmpeg reads all)"));
    }
    if (format_ != SendFormat::kColor || header.chroma == video::Chroma::kMono || planes_ == video::Planes::kRgb) {
      return absl::OkStatus();
    }
    if (header.chroma != video::Chroma::k420 || shape.width % 2 != 0 || shape.height % 2 != 0) {
      return ContradictionError(shown_, absl::StrCat(size, " has odd sides or is not 4:2:0, which --send color needs"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadGray(Picture* picture) {
    const Shape shape = reader_->header().shape;
    picture->file.clear();
    picture->raw.reset();
    picture->pixels.create(shape.height, shape.width, CV_8U);
    return reader_->Next(picture->pixels.data, nullptr);
  }
  // Of the planes G, B, R; the grey is that of pictures in colour.
  absl::Status ReadRgb(Picture* picture) {
    const Shape shape = reader_->header().shape;
    picture->file.clear();
    picture->raw.reset();
    cv::Mat green(shape.height, shape.width, CV_8U);
    chroma_.resize(reader_->header().chroma_bytes());
    GLINT_RETURN_IF_ERROR(reader_->Next(green.data, chroma_.data()));
    const cv::Mat blue(shape.height, shape.width, CV_8U, chroma_.data());
    const cv::Mat red(shape.height, shape.width, CV_8U, chroma_.data() + chroma_.size() / 2);
    cv::Mat colour;
    cv::merge(std::vector<cv::Mat>{blue, green, red}, colour);
    if (format_ == SendFormat::kColor) {
      picture->pixels = colour;
    } else {
      cv::cvtColor(colour, picture->pixels, cv::COLOR_BGR2GRAY);
    }
    return absl::OkStatus();
  }
  // NV12 has both chroma planes in one.
  absl::Status ReadColor(Picture* picture) {
    const video::Y4mHeader& header = reader_->header();
    picture->pixels.release();
    picture->raw = RawLayout{client::PixelFormat::kNv12, header.shape};
    picture->file.resize(picture->raw->bytes());
    chroma_.resize(header.chroma_bytes());
    auto* const to = reinterpret_cast<uint8_t*>(picture->file.data());
    GLINT_RETURN_IF_ERROR(reader_->Next(to, chroma_.data()));
    uint8_t* const both = to + header.luma_bytes();
    const size_t plane = chroma_.size() / 2;
    for (size_t i = 0; i < plane; ++i) {
      both[2 * i] = chroma_[i];
      both[2 * i + 1] = chroma_[plane + i];
    }
    return absl::OkStatus();
  }

  // Of frame number_, by the frame rate; nothing if that is unknown.
  std::optional<absl::Duration> TimeByRate() const {
    const video::Y4mHeader& header = reader_->header();
    if (header.rate_denominator == 0) return std::nullopt;
    return absl::Seconds(1) * number_ * header.rate_denominator / header.rate_numerator;
  }
  // What the decoder says of the frame that was just read; nothing: it knows no time of it, or says nothing any more.
  std::optional<absl::Duration> TakeTime() {
    const absl::Time end = SteadyNow() + kTimePatience;
    std::optional<absl::Duration> time;
    bool is_there = times_.Take(&time);
    while (gives_times_ && !is_there && process_->WaitForNotes(end)) is_there = times_.Take(&time);
    gives_times_ = gives_times_ && is_there;  // one that came later would be taken for the next frame's
    return gives_times_ ? time : std::nullopt;
  }
  // Of that frame, since the first one. A frame of which the decoder gives no time after the last one's comes one frame
  // of the frame rate after it, and so does the first one of a source that was lost and is back.
  absl::Duration DecodersTime(const std::string& frame) {
    const std::optional<absl::Duration> time = TakeTime();
    const absl::Duration next = number_ == 0 ? absl::ZeroDuration() : last_time_ + absl::Seconds(1 / rate());
    if (time.has_value() && !clock_start_.has_value()) clock_start_ = *time - next;
    const bool is_good = time.has_value() && (number_ == 0 || *time - *clock_start_ > last_time_);
    if (!is_good && wants_times_ && !told_of_times_ && !cancelled_ && !Interrupted()) {
      told_of_times_ = true;
      Complain("", absl::StrCat(frame, ": warning: ",
                                time.has_value() ? "its time in the video is not after that of the frame before"
                                                 : "the decoder gives no time of it",
                                "; the times of such frames follow from the frame rate"));
    }
    last_time_ = is_good ? *time - *clock_start_ : next;
    return last_time_;
  }

  // Once.
  void SayTurn() {
    const std::string& turn = is_ffmpeg_ ? process_->last_words().turn() : times_.turn();
    if (turn.empty() || std::exchange(told_of_turn_, true)) return;
    Complain("", absl::StrCat(shown_, ": warning: it is to be shown turned (", turn, "), and is read as it is stored"));
  }

  // After the last frame. An error: the program fails, or it went on after damage, as FFmpeg does, which ends with
  // status 0. Of a live source damage is the network's.
  absl::Status Finish() {
    absl::Status ended = process_->Finish();
    const std::string damage = ended.ok() && !is_live_ ? process_->ToldDamage() : "";
    if (!damage.empty()) ended = absl::InvalidArgumentError(absl::StrCat("cut off or damaged (", damage, ")"));
    if (ended.ok() || number_ == 0) return ended;
    return absl::Status(ended.code(), absl::StrCat("ends at frame ", number_, ": ", ended.message()));
  }

  absl::Status Named(const absl::Status& status) const {
    const std::string text = absl::StrReplaceAll(status.message(), {{name_, shown_}});
    return absl::Status(status.code(), absl::StrCat(name_ == kStandardInput ? "standard input" : shown_, ": ", text));
  }
  // What the program says is nearer to the cause than that its output ended or was no y4m.
  absl::Status Explained(const absl::Status& status) {
    if (process_ == nullptr || absl::IsCancelled(status)) return Named(status);
    if (process_->output_ended()) {
      if (absl::Status ended = process_->Finish(); !ended.ok()) return Named(ended);
    }
    return Named(absl::Status(status.code(), absl::StrCat(status.message(), " (", process_->Told(), ")")));
  }

  const std::string name_, shown_;
  const SendFormat format_;
  const video::Decoder decoder_;
  const bool is_live_;  // by its address
  const bool is_pipe_;
  const bool reads_ahead_;
  const absl::Duration pipe_patience_;  // zero: any
  std::atomic<bool> cancelled_{false};
  video::FrameTimes times_;  // what the decoder writes there
  std::unique_ptr<video::ByteSource> bytes_;
  video::Process* process_ = nullptr;  // bytes_, if a program writes them
  bool is_ffmpeg_ = false;
  video::Planes planes_ = video::Planes::kLuma;
  std::unique_ptr<video::Y4mReader> reader_;  // null: at the end
  std::vector<uint8_t> chroma_;
  int64_t number_ = 0;
  bool wants_times_ = true, told_of_times_ = false, told_of_turn_ = false;
  // Of the decoder that runs: whether it says when frames are, and where on its clock our zero is.
  bool gives_times_ = true;
  std::optional<absl::Duration> clock_start_;
  absl::Duration last_time_;  // of frame number_ - 1
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> OpenVideo(const std::string& name, SendFormat format,
                                                  const VideoOptions& options) {
  auto source = std::make_unique<VideoSource>(name, format, options);
  GLINT_RETURN_IF_ERROR(source->Open());
  const bool live_scheme = video::IsLiveScheme(video::SchemeOf(name).value_or(""));
  const bool newest = options.live.value_or(live_scheme);
  const bool can_be_lost = live_scheme || (video::IsAddress(name) && newest) ||
                           (IsPipe(name) && options.retry_time() > absl::ZeroDuration());
  std::unique_ptr<Source> opened;
  if (newest) {
    source->LeaveOutTimes();  // frames have the times at which they come
    opened = TakeNewest(std::move(source));
  } else {
    opened = std::move(source);
  }
  if (!options.paired) GLINT_RETURN_IF_ERROR(opened->Begin());
  if (!can_be_lost) return opened;
  return WatchForLoss(std::move(opened), video::WithoutPassword(name), options.retry_time());
}

}  // namespace glint::cli
