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
#include "server/wire/first_message.h"

namespace glint {
namespace {

static_assert(kMaxTrackCameras <= static_cast<int>(kMaxMessageImages));

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
  TrackStreamState(const TrackingOptions& options, int64_t max_pixels, TrackStreams* streams, Metrics* metrics)
      : tracked_(options, max_pixels), streams_(streams), metrics_(metrics) {}
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
    return absl::OkStatus();
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
    GLINT_ASSIGN_OR_RETURN(const auto request,
                           ParseOptions<v1::TrackStreamRequest>(first.pieces, ParseTrackStreamRequest));
    GLINT_ASSIGN_OR_RETURN(const TrackingOptions tracking, FromProto(request.options(), options(), session));
    streams_.metrics.StreamsAre(++streams_.count);
    return std::make_unique<TrackStreamState>(tracking, options().max_track_pixels, &streams_, metrics());
  }

 private:
  TrackStreams streams_;
  PlacePart places_;
};

}  // namespace

std::unique_ptr<Operation> MakeTrackStream(const Host& host) { return std::make_unique<TrackOperation>(host); }

}  // namespace glint
