// glint view: what a server finds in a source, on a web page, whether the server is there or not.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/base/detector_flags.h"
#include "client/cli/output/live_view.h"
#include "client/cli/output/output.h"
#include "client/cli/output/scenes.h"
#include "client/cli/source/bag_flags.h"
#include "client/cli/source/source.h"
#include "client/cli/source/waiting.h"
#include "features/steady_time.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "view";
constexpr char kDefaultListen[] = "127.0.0.1:8017";
constexpr float kMaxRate = 1000;
constexpr int kInFlight = 2;
constexpr absl::Duration kRetry = absl::Milliseconds(500), kPoll = absl::Milliseconds(20);

struct ViewFlags {
  ViewFlags() { addresses.page = kDefaultListen; }

  view::ViewAddresses addresses;
  std::optional<float> rate;
  bool loop = true;

  void AddTo(Flags* flags) {
    flags->Section("View");
    flags->String("view", "HOST:PORT",
                  absl::StrCat("Where the page is (default ", kDefaultListen,
                               "). Without HOST only this machine can see it; there is no password."),
                  &addresses.page);
    AddFoxgloveFlags(flags, &addresses);
    flags->Float("rate", "FPS",
                 "Pictures a second, of files (0..1000; default: the video's or the recording's own, else 30). 0: as "
                 "fast as they are answered.",
                 &rate);
    flags->Bool("loop", "Begin again at the end of SOURCE (default: yes).", &loop);
  }
  absl::Status Validate() const {
    if (addresses.page.empty()) return absl::InvalidArgumentError("option '--view': '' is not HOST:PORT");
    if (rate.has_value() && (*rate < 0 || *rate > kMaxRate)) {
      return absl::InvalidArgumentError(absl::StrCat("option '--rate': ", *rate, " is not in 0..1000"));
    }
    return absl::OkStatus();
  }
  // Between pictures; cameras and networks have a pace of their own.
  absl::Duration Period(const Source& source) const {
    const double wanted = rate.has_value() ? *rate : source.rate();
    const bool paced = wanted > 0 && (rate.has_value() || !source.live());
    return paced ? absl::Seconds(1 / wanted) : absl::ZeroDuration();
  }
};

std::string Help(const Flags& flags) {
  return "Usage: glint view [OPTION]... SOURCE\n"
         "       glint view --bag FILE [--topic TOPIC] [OPTION]...\n\n" +
         Wrap(
             "Serves a web page with the frames of SOURCE, what a server finds in them, and where the time goes; it "
             "can pause and change threshold and features. SOURCE is as for glint stream. While there is no server "
             "the page says so, and goes on when there is one. For tracks, disparities and paths: glint track, stereo "
             "and localize with --view.",
             0) +
         flags.Help() +
         "\nExit status\n"
         "  0 the end of SOURCE, with --no-loop; 1 SOURCE cannot be read;\n"
         "  2 wrong command line; 130 interrupted\n"
         "\nExamples\n"
         "  glint view --server inproc video.mp4\n"
         "  glint view --detector pyca --features 300 0\n"
         "  glint view --bag drive.mcap --topic /cam0/image_raw\n"
         "  ssh -L 8017:localhost:8017 robot glint view 0\n";
}

// One source on one page, over any number of streams.
class Viewer {
 public:
  // `options`: of every stream; their mask's pixels must outlive this.
  Viewer(const ViewFlags& flags, Source* source, const client::StreamOptions& options, LiveView* live)
      : source_(source), live_(live), loop_(flags.loop), period_(flags.Period(*source)), options_(options) {}

  // The exit status.
  int Run(const ConnectionFlags& flags) {
    std::optional<Connection> connection;
    while (!Interrupted() && !ended_) {
      absl::Status status;
      if (!connection.has_value()) {
        auto opened = Connection::Open(flags);
        status = opened.status();
        if (opened.ok()) connection.emplace(*std::move(opened));
      }
      if (connection.has_value()) status = Stream(connection->client());
      if (status.ok()) continue;
      if (!CanGoOn(flags.server, status)) return CallError(kName, status);
      // A new channel does not wait longer and longer, nor for a server that has fallen silent.
      if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) connection.reset();
      const absl::Time again = SteadyNow() + kRetry;
      while (SteadyNow() < again && !Interrupted()) absl::SleepFor(kPoll);
    }
    if (Interrupted()) return kInterrupted;
    return source_status_.ok() ? kOk : kFailed;
  }

 private:
  // Frames through one stream: until the source ends, a slider is moved, or something fails.
  absl::Status Stream(const client::Client& client) {
    const DetectorOptions opened_with = options_.detector;
    waiting_.Clear();
    const auto stream = client.OpenStream(options_, [this](const client::FrameResult& result) { Show(result); });
    if (!stream.ok()) return stream.status();
    // What was shown last comes again, with the new options or from the new server.
    absl::Status status = last_ != nullptr ? Write(stream->get()) : absl::OkStatus();
    bool moved = false;
    while (status.ok() && !moved && !Interrupted() && ReadNext(&moved)) status = Write(stream->get());
    const absl::Status end = (*stream)->Finish();
    if (answered_.exchange(false)) {
      good_ = opened_with;
      said_.clear();
    }
    return status.ok() || !end.ok() ? end : status;
  }

  absl::Status Write(client::DetectStream* stream) {
    waiting_.Push(last_);
    return stream->Write(next_id_++, last_->input());
  }

  // The next picture, when it is due. False: a slider was moved, the source has ended, or an interrupt.
  bool ReadNext(bool* moved) {
    while (!Interrupted()) {
      *moved = live_->Next(&options_.detector);
      if (*moved || Interrupted()) return false;
      if (const absl::Duration left = due_ - SteadyNow(); left > absl::ZeroDuration()) {
        absl::SleepFor(std::min(left, kPoll));
        continue;
      }
      due_ = std::max(due_, SteadyNow() - period_) + period_;
      auto picture = std::make_shared<Picture>();
      const absl::Status status = source_->Next(picture.get());
      if (status.ok()) {
        any_ = true;
        last_ = std::move(picture);
        return true;
      }
      if (!absl::IsOutOfRange(status)) {
        Complain(kName, status.message());
        live_->SetNotice(std::string(status.message()));
        source_status_ = status;
      } else if (!loop_ || !any_ || !source_->Rewind().ok()) {
        ended_ = true;
        return false;
      } else {
        any_ = false;
      }
    }
    return false;
  }

  // On the stream's thread.
  void Show(const client::FrameResult& result) {
    const SharedPicture picture = waiting_.Pop();
    if (!result.status.ok()) {
      const std::string why = Describe(result.status), notice = absl::StrCat(picture->name, ": ", why);
      if (why != failure_) Complain(kName, notice);  // most come with every picture
      failure_ = why;
      live_->SetNotice(notice);
      return;
    }
    failure_.clear();
    answered_ = true;
    live_->SetNotice("");
    if (live_->wanted()) live_->Show(KeypointScene(picture, result.detection));
  }

  // After a failure: says what is wrong. False: another attempt would fail as well.
  bool CanGoOn(const std::string& server, const absl::Status& status) {
    std::string notice;
    if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
      notice = absl::StrCat("no server at ", server, " (", Describe(status),
                            "); start glint-server there, and the view goes on");
    } else if (absl::IsInvalidArgument(status) && good_.has_value() && options_.detector != *good_) {
      notice = absl::StrCat("the server refuses these options: ", status.message());
      options_.detector = *good_;
      live_->PutSliders(*good_);
    } else {
      return false;
    }
    if (notice != said_) Complain(kName, notice);
    said_ = notice;
    live_->SetNotice(notice);
    return true;
  }

  Source* const source_;
  LiveView* const live_;
  const bool loop_;
  const absl::Duration period_;
  client::StreamOptions options_;
  std::optional<DetectorOptions> good_;  // with which a server answered
  SharedPicture last_;
  uint64_t next_id_ = 0;
  absl::Time due_ = SteadyNow();
  bool any_ = false;    // in this round, so that a source without pictures is not asked for ever
  bool ended_ = false;  // the source
  absl::Status source_status_;
  std::string said_;  // on standard error, since the last answer

  std::string failure_;                // of the last picture; of the stream's thread
  std::atomic<bool> answered_{false};  // in this stream
  Waiting<SharedPicture> waiting_;     // for their results
};

}  // namespace

int RunView(const std::vector<std::string>& arguments) {
  ConnectionFlags connection_flags;
  DetectorFlags detector_flags;
  ViewFlags view_flags;
  VideoOptions video;
  BagFlags bag_flags;
  Flags flags;
  connection_flags.AddTo(&flags);
  detector_flags.AddTo(&flags);
  view_flags.AddTo(&flags);
  video.AddTo(&flags);
  bag_flags.AddTo(&flags, BagFlags::Topics::kEach);

  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) return Print(kName, Help(flags));
  auto names = bag_flags.Sources(*operands);
  if (!names.ok()) return UsageError(kName, names.status().message());
  if (names->size() != 1) return UsageError(kName, names->empty() ? "no SOURCE given" : "more than one SOURCE");
  for (const absl::Status& status : {connection_flags.Validate(), video.Validate(), view_flags.Validate()}) {
    if (!status.ok()) return UsageError(kName, status.message());
  }
  const auto detector = detector_flags.Options();
  if (!detector.ok()) return UsageError(kName, detector.status().message());
  const auto mask = ReadMask(detector_flags.mask);
  if (!mask.ok()) return UsageError(kName, mask.status().message());
  if (const absl::Status s = bag_flags.Open(&*names, &video); !s.ok()) return SourceError(kName, s);
  const auto source = OpenSource(names->front(), SendFormat::kGray, video);
  if (!source.ok()) return SourceError(kName, source.status());
  const std::string title = absl::StrCat(names->front(), " on ", connection_flags.server);
  auto live = LiveView::Open(kName, view_flags.addresses, title, &*detector);
  if (!live.ok()) return UsageError(kName, live.status().message());
  client::StreamOptions options;
  options.detector = *detector;
  options.mask = *mask;
  options.gray_range = detector_flags.gray_range();
  options.region = detector_flags.region;
  options.in_flight = kInFlight;
  options.timeout = connection_flags.timeout_or(options.timeout);
  return bag_flags.ExitStatus(kName, Viewer(view_flags, source->get(), options, &*live).Run(connection_flags));
}

}  // namespace glint::cli
