// glint stream: all frames of a source through one stream, or through one after the other where servers go away.
#include <limits>
#include <utility>

#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/base/detector_flags.h"
#include "client/cli/output/live_view.h"
#include "client/cli/output/report.h"
#include "client/cli/output/scenes.h"
#include "client/cli/source/bag_flags.h"
#include "client/cli/source/camera_flags.h"
#include "client/cli/source/jpeg_flags.h"
#include "client/cli/source/raw_source.h"
#include "client/cli/source/shared_frames.h"
#include "client/cli/source/waiting.h"
#include "client/resilient_stream.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "stream";
// More than any server holds of a stream, so that it is the server that drops and not the client that waits.
constexpr int kInFlightWithDrops = 1024;

struct StreamFlags {
  SendFormat send = SendFormat::kGray;
  JpegFlags jpeg;
  std::optional<int> in_flight;
  std::optional<int> max_frames;
  std::optional<float> max_age;  // milliseconds
  client::OverloadPolicy policy = client::OverloadPolicy::kBlock;
  bool shared_memory = false;
  bool loop = false;
  view::ViewAddresses view;

  void AddTo(Flags* flags) {
    flags->Section("Stream");
    flags->Choice("send", {{"gray", SendFormat::kGray}, {"color", SendFormat::kColor}, {"jpeg", SendFormat::kJpeg}},
                  "How frames of videos and cameras travel. gray (the default) is taken here, color is sent whole (of "
                  "a video as NV12); with the same keypoints, but gray needs fewer bytes. jpeg: that grey as a JPEG "
                  "file, PNG files too, which changes keypoints a little.",
                  &send);
    jpeg.AddTo(flags);
    flags->Int("in-flight", "N",
               "Frames sent ahead of their results (1..4096, default 8, or 1024 where the server drops frames).",
               &in_flight);
    flags->Choice("policy",
                  {{"block", client::OverloadPolicy::kBlock},
                   {"drop-oldest", client::OverloadPolicy::kDropOldest},
                   {"latest", client::OverloadPolicy::kLatest},
                   {"reject", client::OverloadPolicy::kReject}},
                  "When frames come faster than they are answered: block (the default) waits; the others have the "
                  "server drop the oldest frame that waits, all but the latest, or the new one. Dropped frames are "
                  "counted and are no failures.",
                  &policy);
    flags->Float("max-age", "MS",
                 "Have the server drop frames that no lane has begun this long after they arrived (default 0: never).",
                 &max_age);
    flags->Bool("loop", "Begin again at the end of SOURCE, until --max-frames or an interrupt.", &loop);
    flags->Int("max-frames", "N", "Stop after N frames.", &max_frames);
    flags->Bool("shared-memory",
                "Hand pixels over in memory that is shared with the server, which must be at unix:PATH and have been "
                "started with --shared-memory. JPEG and PNG files travel as always.",
                &shared_memory);
    AddViewFlags(flags, true, &view);
  }
  // `retry`: whether --retry is above 0.
  absl::Status Validate(bool retry) const {
    GLINT_RETURN_IF_ERROR(CheckInFlight(in_flight));
    GLINT_RETURN_IF_ERROR(jpeg.Validate(send == SendFormat::kJpeg));
    GLINT_RETURN_IF_ERROR(CheckMaxFrames(max_frames));
    if (max_age.has_value() && (*max_age < 0 || *max_age > 86400e3f)) {
      return absl::InvalidArgumentError(absl::StrCat("option '--max-age': ", *max_age, " is not in 0..86400000"));
    }
    if (shared_memory && retry) {
      return absl::InvalidArgumentError(
          "option '--shared-memory': memory is shared with one server, so not with --retry");
    }
    return absl::OkStatus();
  }
  // Frames that will be sent from a source of `count` pictures; 0 if unknown.
  int64_t Total(int64_t count) const {
    if (!max_frames.has_value()) return loop ? 0 : count;
    return loop || count == 0 ? *max_frames : std::min<int64_t>(*max_frames, count);
  }
};

std::string Help(const Flags& flags) {
  return "Usage: glint stream [OPTION]... SOURCE\n"
         "       glint stream --bag FILE [--topic TOPIC] [OPTION]...\n\n" +
         Wrap(absl::StrCat(
                  "Sends all frames of SOURCE through one stream and reports where the time went. ", kSourceHelp,
                  " JPEG and PNG files are sent as they are. With --pixel-format it is a file of raw pictures, "
                  "one after the other, or '-', standard input."),
              0) +
         flags.Help() +
         "\nExit status\n"
         "  0 all frames were answered; 1 some were not; 2 wrong command line;\n"
         "  69 no server, or it went away; 74 an output cannot be written;\n"
         "  130 interrupted: frames already sent were answered and written\n"
         "\nExamples\n"
         "  glint stream --server inproc video.mp4 --draw annotated.avi\n"
         "  glint stream --server camera-box:50051 0 --format json | jq .count\n"
         "  glint stream rtsp://camera/stream --format json --output features.jsonl\n"
         "  glint stream --calibration camchain.yaml --format csv video.mp4\n"
         "  v4l2-ctl ... --stream-to=- | glint stream --pixel-format yuyv --size 640x480 -\n"
         "  glint stream 'frames/*.png' --loop --max-frames 10000 --in-flight 16\n";
}

// The report belongs to the reading thread while the stream is open; so the writing thread counts here.
struct Outcome {
  absl::Status stream;
  absl::Status output;
  int64_t unread = 0;
};

// `first`: what was taken of the source already.
Outcome StreamAll(const client::Client& client, client::StreamOptions options, Source* source,
                  std::optional<Picture> first, const StreamFlags& flags, absl::Duration patience, Report* report,
                  LiveView* live) {
  Outcome outcome;
  Waiting<Picture> waiting;
  SharedFrames shared_frames(&client, options.in_flight);
  client::RetryOptions retry;
  retry.patience = patience;
  retry.stop = Interrupted;
  std::unique_ptr<client::ResilientStream> stream;
  const auto deliver = [&](const client::FrameResult& result) {
    const Picture& picture = waiting.Front();
    if (outcome.output.ok())
      outcome.output =
          report->Add(picture, result.status, result.detection, result.drop_reason != client::DropReason::kNone);
    if (result.status.ok() && live->wanted()) {
      live->Show(KeypointScene(std::make_shared<Picture>(picture), result.detection));
    }
    waiting.Pop();
    if (!outcome.output.ok()) stream->Cancel();
  };
  const auto open = [&] { return std::make_unique<client::ResilientStream>(&client, options, retry, deliver); };
  stream = open();

  const int64_t limit = flags.max_frames.has_value() ? *flags.max_frames : std::numeric_limits<int64_t>::max();
  bool any = false;  // in this round, so that a source without pictures is not asked for ever
  for (int64_t id = 0; id < limit && outcome.stream.ok() && !Interrupted();) {
    if (live->Next(&options.detector)) {
      outcome.stream = stream->Finish();
      stream = open();
      continue;
    }
    Picture picture;
    absl::Status next = first.has_value() ? absl::OkStatus() : source->Next(&picture);
    if (first.has_value()) picture = *std::exchange(first, std::nullopt);
    if (next.ok() && flags.send == SendFormat::kJpeg) next = ToJpeg(flags.jpeg.Quality(), &picture);
    if (next.ok()) {
      any = true;
      absl::StatusOr<client::ImageInput> input = waiting.Push(std::move(picture)).input();
      if (flags.shared_memory) input = shared_frames.Put(*input);
      outcome.stream = input.ok() ? stream->Write(static_cast<uint64_t>(id++), *input) : input.status();
    } else if (!absl::IsOutOfRange(next)) {
      Complain(kName, next.message());
      ++outcome.unread;
    } else if (!flags.loop || !any || !source->Rewind().ok()) {
      break;
    } else {
      any = false;
    }
  }
  const absl::Status finished = stream->Finish();
  if (outcome.stream.ok()) outcome.stream = finished;
  return outcome;
}

}  // namespace

int RunStream(const std::vector<std::string>& arguments) {
  ConnectionFlags connection_flags;
  DetectorFlags detector_flags;
  StreamFlags stream_flags;
  RawFlags raw_flags;
  VideoOptions video;
  BagFlags bag_flags;
  CameraFlags camera_flags;
  ReportFlags report_flags(Format::kNone);
  Flags flags;
  connection_flags.AddTo(&flags);
  connection_flags.AddTraceparentTo(&flags);
  detector_flags.AddTo(&flags);
  stream_flags.AddTo(&flags);
  raw_flags.AddTo(&flags);
  video.AddTo(&flags);
  bag_flags.AddTo(&flags, BagFlags::Topics::kEach);
  camera_flags.AddTo(&flags, kRayRows);
  report_flags.AddTo(&flags);
  report_flags.mcap.AddTo(&flags);

  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) return Print(kName, Help(flags));
  auto names = bag_flags.Sources(*operands);
  if (!names.ok()) return UsageError(kName, names.status().message());
  if (names->size() != 1) return UsageError(kName, names->empty() ? "no SOURCE given" : "more than one SOURCE");
  const bool retries = video.retry_time() > absl::ZeroDuration();
  for (const absl::Status& status : {connection_flags.Validate(), video.Validate(), stream_flags.Validate(retries),
                                     camera_flags.Validate(), report_flags.mcap.Validate(bag_flags.path())}) {
    if (!status.ok()) return UsageError(kName, status.message());
  }
  if (stream_flags.loop && !report_flags.mcap.path.empty()) {
    return UsageError(kName, "option '--mcap': not with --loop, whose times come again");
  }
  const auto detector = detector_flags.Options();
  if (!detector.ok()) return UsageError(kName, detector.status().message());
  const auto mask = ReadMask(detector_flags.mask);
  if (!mask.ok()) return UsageError(kName, mask.status().message());
  const auto layout = raw_flags.Layout();
  if (!layout.ok()) return UsageError(kName, layout.status().message());
  if (layout->has_value() && stream_flags.send == SendFormat::kJpeg) {
    return UsageError(kName, "option '--send': jpeg is not for raw pictures (--pixel-format)");
  }
  if (layout->has_value() && bag_flags.given()) return UsageError(kName, "option '--bag': not with --pixel-format");
  if (const absl::Status s = bag_flags.Open(&*names, &video); !s.ok()) return SourceError(kName, s);
  const auto source = layout->has_value() ? OpenRawSource(names->front(), **layout)
                                          : OpenSource(names->front(), stream_flags.send, video);
  if (!source.ok()) return SourceError(kName, source.status());

  std::optional<Picture> first;  // for the camera's size
  std::optional<Camera> camera;
  if (camera_flags.given()) {
    const absl::Status next = (*source)->Next(&first.emplace());
    if (!next.ok()) return SourceError(kName, next);
    const auto read = camera_flags.ReadFor(*first, kName);
    if (!read.ok()) return UsageError(kName, read.status().message());
    camera = *read;
  }

  auto live = LiveView::Open(kName, stream_flags.view, absl::StrCat(names->front(), " on ", connection_flags.server),
                             &*detector);
  if (!live.ok()) return UsageError(kName, live.status().message());
  const auto connection = Connection::Open(connection_flags);
  if (!connection.ok()) return CallError(kName, connection.status());
  const auto report = Report::Open(kName, report_flags, detector->descriptor != Descriptor::kNone,
                                   stream_flags.Total((*source)->count()), (*source)->rate(), camera_flags.given());
  if (!report.ok()) return OutputError(kName, report.status());

  client::StreamOptions options;
  options.detector = *detector;
  options.region = detector_flags.region;
  options.camera = camera;
  options.mask = *mask;
  options.gray_range = detector_flags.gray_range();
  const bool drops = stream_flags.policy != client::OverloadPolicy::kBlock;
  options.in_flight = stream_flags.in_flight.value_or(drops ? kInFlightWithDrops : options.in_flight);
  options.overload_policy = stream_flags.policy;
  options.max_age = absl::Milliseconds(stream_flags.max_age.value_or(0));
  options.traceparent = connection_flags.traceparent;
  options.timeout = connection_flags.timeout_or(absl::InfiniteDuration());
  const Outcome outcome = StreamAll(connection->client(), options, source->get(), std::move(first), stream_flags,
                                    video.retry_time(), report->get(), &*live);
  (*report)->AddUnread(outcome.unread);
  const int status = bag_flags.ExitStatus(kName, (*report)->Close(outcome.output));
  return outcome.output.ok() && !outcome.stream.ok() ? CallError(kName, outcome.stream) : status;
}

}  // namespace glint::cli
