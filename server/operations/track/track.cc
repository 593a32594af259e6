#include "server/operations/track/track.h"

#include <array>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "server/operations/track/track_convert.h"
#include "server/operations/track/track_metrics.h"
#include "server/operations/track/track_parser.h"
#include "server/operations/track/track_reply.h"
#include "server/operations/track/track_work.h"
#include "server/pixels/job_pixels.h"
#include "server/wire/options_images.h"

namespace glint {
namespace {

static_assert(2 * kMaxTrackCameras <= static_cast<int>(kMaxMessageImages));

// The masks of an options message or of a frame, whose bytes `holders` hold: none, or one of each camera.
absl::Status LocateMasks(absl::Span<const WireImage> wire, size_t count, int cameras, const Message& message,
                         absl::Span<ImageBytes> holders, std::array<ImageSource, kMaxTrackCameras>* masks) {
  if (count == 0) return absl::OkStatus();
  if (count != static_cast<size_t>(cameras)) {
    return ContradictionError("masks", absl::StrCat(count, ", but the stream has cameras: ", cameras));
  }
  for (size_t c = 0; c < count; ++c) {
    GLINT_ASSIGN_OR_RETURN(
        (*masks)[c], MaskFromWire(wire[c], message.pieces, message.rules, &holders[c], absl::StrCat("masks[", c, "]")));
  }
  return absl::OkStatus();
}

struct TrackPayload final : Payload {
  WireTrackStreamRequest request;
  TrackTask task;

  void Reset() override { task = TrackTask(); }
};

// State that the tracking streams of a server share.
struct TrackStreams {
  explicit TrackStreams(prometheus::Registry* registry) : metrics(registry) {}

  const TrackMetrics metrics;
  std::atomic<int> count{0};  // streams whose options have been read
};

class TrackStreamState final : public StreamState {
 public:
  // Counted in `streams` already.
  TrackStreamState(const TrackingOptions& options, absl::Span<const ImageSource> masks, const Region& region,
                   int64_t max_pixels, TrackStreams* streams, Metrics* metrics)
      : tracked_(options, masks, region, max_pixels), streams_(streams), metrics_(metrics) {}
  ~TrackStreamState() override {
    streams_->metrics.Left(tracked_.session.live());
    streams_->metrics.StreamsAre(--streams_->count);
  }

  bool serial() const override { return true; }

  const WireEnvelope* Read(decode::Pieces message, FrameJob* job) override {
    WireTrackStreamRequest& request = PayloadOf(job)->request;
    return ParseTrackStreamRequest(message, &request) ? &request : nullptr;
  }

  absl::Status Parse(const Message& message, FrameJob* job) override {
    TrackTask& task = PayloadOf(job)->task;
    task.message = message.pieces;
    if (!job->is_edit) return Locate(PayloadOf(job)->request, message, &task, job);
    if (job->bytes <= static_cast<int64_t>(kMaxOptionsBytes)) return absl::OkStatus();
    return ContradictionError(
        "edit", absl::StrCat(job->bytes, " bytes are more than ", kMaxOptionsBytes, "; send it in parts"));
  }

  absl::Status Run(const LaneContext& context, FrameJob* job) override {
    TrackTask& task = PayloadOf(job)->task;
    GLINT_RETURN_IF_ERROR(RunTrack(context, &tracked_, &task, job));
    for (size_t c = 0; c < task.count; ++c) streams_->metrics.Changed(task.cameras[c]);
    return absl::OkStatus();
  }

  bool Edit(FrameJob* job) override {
    changed_ = {};
    job->status = ApplyTrackEdit(PayloadOf(job)->task.message, &tracked_.session, &changed_);
    if (!job->status.ok()) return true;
    for (const CameraTracks& tracks : changed_) streams_->metrics.Changed(tracks);
    const std::vector<Camera>& calibrations = tracked_.session.options().calibrations;
    for (size_t c = 0; c < calibrations.size(); ++c)
      RaysOf(calibrations[c], changed_[c].x, changed_[c].y, &changed_[c].rays);
    return true;
  }

  grpc::Slice Reply(const FrameJob& job) override {
    if (job.is_edit) return SerializeTrackReply(job.id, changed_, true, {});
    const TrackTask& task = PayloadOf(&job)->task;
    return SerializeTrackReply(job.id, {task.cameras, task.count}, false, job.warnings);
  }
  void Answered(const FrameJob& job) override { streams_->metrics.Tracked(job.times.track_ns); }

 private:
  static TrackPayload* PayloadOf(const FrameJob* job) { return static_cast<TrackPayload*>(job->payload); }

  absl::Status Locate(const WireTrackStreamRequest& request, const Message& message, TrackTask* task,
                      FrameJob* job) const {
    const TrackingOptions& options = tracked_.session.options();
    task->time_ns = request.time_ns;
    task->detect = request.detect;
    if (request.images != static_cast<size_t>(options.cameras)) {
      return ContradictionError("images",
                                absl::StrCat(request.images, ", but the stream has cameras: ", options.cameras));
    }
    GLINT_RETURN_IF_ERROR(CheckPredictions(request, options));
    task->predictions = request.predictions;
    job->pixels = int64_t{options.cameras} * options.target * kPixelsOfTrack;
    for (size_t c = 0; c < request.images; ++c) {
      auto source = FromWire(request.image[c], message.pieces, message.rules, &message.images[c]);
      CountImage(request.image[c], message, c, metrics_);
      if (!source.ok()) return WithField(absl::StrCat("images[", c, "]"), source.status());
      task->images[c] = *source;
      job->pixels +=
          ExpectedPixels(*source, Region(), static_cast<int64_t>(decode::TotalBytes(message.images[c].pieces)));
    }
    return LocateMasks(request.mask, request.masks, options.cameras, message, message.images.subspan(kMaxTrackCameras),
                       &task->masks);
  }

  TrackedStream tracked_;                               // a lane changes it, or an edit while no frame is unanswered
  std::array<CameraTracks, kMaxTrackCameras> changed_;  // by the last edit
  TrackStreams* const streams_;
  Metrics* const metrics_;
};

class TrackOperation final : public Operation {
 public:
  explicit TrackOperation(const Host& host)
      : Operation(host, "track", "edit_tracks"),
        streams_(host.metrics->registry()),
        places_{host.options->max_track_streams, "streams that track", "--max-track-streams"} {}

  std::unique_ptr<Payload> MakePayload() const override { return std::make_unique<TrackPayload>(); }
  PlacePart* places() override { return &places_; }

  absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message& first, SessionOptions* session) override {
    OptionImages wire = {v1::TrackStreamOptions::kMasksFieldNumber, kMaxTrackCameras};
    GLINT_ASSIGN_OR_RETURN(const auto request,
                           ParseOptionsAndImages<v1::TrackStreamRequest>(
                               first.pieces, v1::TrackStreamRequest::kAddPointsFieldNumber, {&wire, 1}));
    GLINT_ASSIGN_OR_RETURN(const TrackingOptions tracking, FromProto(request.options(), options(), session));
    std::array<ImageSource, kMaxTrackCameras> masks;
    GLINT_RETURN_IF_ERROR(LocateMasks(wire.images, wire.count, tracking.cameras, first, first.images, &masks));
    streams_.metrics.StreamsAre(++streams_.count);
    return std::make_unique<TrackStreamState>(tracking, absl::MakeSpan(masks).first(wire.count),
                                              RegionFromProto(request.options()), options().max_track_pixels, &streams_,
                                              metrics());
  }

 private:
  TrackStreams streams_;
  PlacePart places_;
};

}  // namespace

std::unique_ptr<Operation> MakeTrackStream(const Host& host) { return std::make_unique<TrackOperation>(host); }

}  // namespace glint
