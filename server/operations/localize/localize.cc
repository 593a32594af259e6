#include "server/operations/localize/localize.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "server/base/allocations.h"
#include "server/operations/localize/imu_inbox.h"
#include "server/operations/localize/imu_wait.h"
#include "server/operations/localize/localize_convert.h"
#include "server/operations/localize/localize_metrics.h"
#include "server/operations/localize/localize_parser.h"
#include "server/operations/localize/localize_reply.h"
#include "server/operations/localize/localize_work.h"
#include "server/operations/localize/map_directory.h"
#include "server/pixels/pair_masks.h"
#include "server/wire/options_images.h"

namespace glint {
namespace {

struct LocalizePayload final : Payload {
  WireLocalizeStreamRequest request;
  LocalizeTask task;

  void Reset() override { task = LocalizeTask(); }
};

// What the streams of a server share.
struct LocalizeStreams {
  LocalizeStreams(const ServerOptions& options, prometheus::Registry* registry)
      : maps(options.map_directory, options.max_maps), metrics(registry) {}

  MapDirectory maps;
  const LocalizeMetrics metrics;
  std::atomic<int> count{0};  // that have their options
};

// Poses at the sensor's rate that are found between two pairs, not by a lane: up to a millisecond. Of all readings that
// wait for their turn likewise.
constexpr size_t kMostQuickPoses = 64;

// Readings of a message wait for its turn twice: to be taken, by a pair that they are of, and to be answered, once all
// that came before them is. The localization is touched by lanes, one after the other, and, between two of them, by
// answers to readings (see imu_mutex_).
class LocalizeState final : public StreamState {
 public:
  // Counted in `streams` already.
  LocalizeState(std::unique_ptr<Localization> localization, const LocalizationOptions& options,
                const PairMaskSources& masks, const Region& region, LocalizeStreams* streams, Metrics* metrics)
      : localization_(std::move(localization)),
        detector_(options.detector),
        depth_(options.depth),
        depth_shape_(DepthShapeOf(options)),
        rectification_(options.rectification),
        masks_(masks, region),
        streams_(streams),
        metrics_(metrics) {
    if (!options.localizer.odometry.imu.has_value()) return;
    imu_.emplace();
    wait_.emplace(options.max_wait_for_readings_ns);
    imu_offset_ns_ = options.localizer.odometry.imu->imu_time_minus_camera_time_ns;
  }
  ~LocalizeState() override {
    streams_->metrics.MapLeft(map_size_);
    streams_->metrics.StreamsAre(--streams_->count);
  }

  bool serial() const override { return true; }
  bool awaits_messages() const override { return wait_.has_value(); }

  const WireEnvelope* Read(decode::Pieces message, FrameJob* job) override {
    WireLocalizeStreamRequest& request = PayloadOf(job)->request;
    ImuValues* const readings = imu_.has_value() ? imu_->values() : nullptr;
    return ParseLocalizeStreamRequest(message, &request, readings) ? &request : nullptr;
  }

  absl::Status Parse(const Message& message, FrameJob* job) override {
    const WireLocalizeStreamRequest& request = PayloadOf(job)->request;
    LocalizeTask& task = PayloadOf(job)->task;
    task.turn = ++turn_;
    if (job->is_edit && request.has_imu) {
      task.kind = LocalizeTask::Kind::kImu;
      GLINT_RETURN_IF_ERROR(ReceiveImu("readings", request));
      AskForPoses(request.wants_poses, &task, job);
      return absl::OkStatus();
    }
    if (job->is_edit) {
      job->pixels = kPixelsOfLocation;
      return ParseMapRequest(message.pieces, streams_->maps, &task);
    }
    absl::Status status;
    if (request.has_imu) {
      status = ReceiveImu("imu", request);
      if (status.ok()) KeepImu(task.turn);
    }
    task.had_readings = imu_.has_value() && imu_->newest_ns() >= SensorTime(request.time_ns);
    status.Update(Locate(request, message, &task, job));
    CountImagePair(request.pair, message, metrics_);
    if (request.has_depth && !request.pair.has_right) CountImage(request.depth, message, 1, metrics_);
    return status;
  }

  absl::Status Run(const LaneContext& context, FrameJob* job) override {
    LocalizeTask& task = PayloadOf(job)->task;
    AnswerReadingsBefore(task.turn);
    if (task.kind == LocalizeTask::Kind::kImu) return AnswerReadings(&task);
    GLINT_RETURN_IF_ERROR(TakeImu(task.kind == LocalizeTask::Kind::kTrack ? BeginPair(*job, &task) : task.turn));
    absl::Status status = RunLocalize(context, &streams_->maps, localization_.get(), &task, job);
    if (!status.ok()) {
      if (wait_.has_value()) wait_->Answered(task.turn);
      return status;
    }
    streams_->metrics.Located(task, map_size_);
    map_size_ = task.size;
    return absl::OkStatus();
  }

  void Accept(FrameJob* job) override {
    LocalizeTask& task = PayloadOf(job)->task;
    if (task.kind != LocalizeTask::Kind::kImu) return;
    KeepImu(task.turn);
    if (!job->lets_pass) return;
    const std::lock_guard<std::mutex> lock(imu_mutex_);
    unanswered_poses_ += task.pose_times.size();
    unanswered_.push_back({task.turn, std::move(task), absl::OkStatus()});
  }

  int64_t WaitsUntil(const FrameJob& job) override {
    const LocalizeTask& task = PayloadOf(&job)->task;
    if (job.is_edit || task.kind != LocalizeTask::Kind::kTrack || imu_->newest_ns() >= SensorTime(task.time_ns)) {
      return 0;
    }
    return wait_->Until(job.times.received_at, job.expires_at_ns);
  }

  // Maps are large, so a lane has to do what is about them. So it has where many poses are wanted.
  bool Edit(FrameJob* job) override {
    if (!job->lets_pass) return false;
    LocalizeTask& task = PayloadOf(job)->task;
    const std::lock_guard<std::mutex> lock(imu_mutex_);
    Unanswered& readings = unanswered_.front();
    if (!readings.is_answered) Answer(&readings);
    unanswered_poses_ -= readings.answer.pose_times.size();
    job->status = readings.status;
    task = std::move(readings.answer);
    unanswered_.pop_front();
    return true;
  }

  grpc::Slice Reply(const FrameJob& job) override { return SerializeLocalizeReply(job.id, PayloadOf(&job)->task); }
  void Answered(const FrameJob& job) override {
    if (wait_.has_value()) wait_->Answered(PayloadOf(&job)->task.turn);
    streams_->metrics.Answered(job.times);
  }

 private:
  // Readings that let others pass.
  struct Unanswered {
    int64_t turn;
    LocalizeTask answer;
    absl::Status status;
    bool is_answered = false;
  };

  // Of the images of depth, if there are any.
  static Shape DepthShapeOf(const LocalizationOptions& options) {
    const Rectification* const raw = options.rectification.get();
    if (raw == nullptr || !raw->rgbd().has_value()) return options.camera.image;
    return raw->rgbd()->depth_camera.value_or(raw->rgbd()->camera).image;
  }
  static LocalizePayload* PayloadOf(const FrameJob* job) { return static_cast<LocalizePayload*>(job->payload); }

  // INVALID_ARGUMENT: errors of ImuInbox, and readings of a stream without an inertial sensor.
  absl::Status ReceiveImu(absl::string_view field, const WireLocalizeStreamRequest& request) {
    if (imu_.has_value()) return imu_->Receive(field, request.imu);
    return ContradictionError("imu", "is given, but the stream's options say nothing of an inertial sensor");
  }

  // Saturates.
  int64_t SensorTime(int64_t time_ns) const {
    int64_t time = 0;
    if (!__builtin_add_overflow(time_ns, imu_offset_ns_, &time)) return time;
    return time_ns > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  }

  // Those last received.
  void KeepImu(int64_t turn) {
    imu_->Keep(turn);
    wait_->Came(imu_->newest_ns());
  }

  // At the times of the gyroscope's readings that were last received.
  void AskForPoses(bool wants_poses, LocalizeTask* task, FrameJob* job) {
    const FramePathPause pause;
    task->wants_poses = wants_poses;
    if (wants_poses) task->pose_times = imu_->times();
    job->pixels = kPixelsOfLocation;
    const std::lock_guard<std::mutex> lock(imu_mutex_);
    job->lets_pass = unanswered_poses_ + task->pose_times.size() <= kMostQuickPoses;
  }

  // What the pair and all that came before it say of readings must not depend on it. After this call, no answer to
  // readings before it touches the localization.
  void AnswerReadingsBefore(int64_t turn) {
    const std::lock_guard<std::mutex> lock(imu_mutex_);
    for (Unanswered& readings : unanswered_) {
      if (readings.turn < turn && !readings.is_answered) Answer(&readings);
    }
  }
  void Answer(Unanswered* readings) {
    readings->status = AnswerReadings(&readings->answer);
    readings->is_answered = true;
  }
  absl::Status AnswerReadings(LocalizeTask* task) {
    const FramePathPause pause;
    GLINT_RETURN_IF_ERROR(TakeImu(task->turn));
    task->received = received_;
    task->size = map_size_;
    if (task->wants_poses) localization_->PredictPoses(task->pose_times, &task->poses);
    return absl::OkStatus();
  }

  // The turn up to which a pair takes readings: its own, or as many more as have readings up to its time, so that the
  // same messages in the same order give the same; all, if there are not so many.
  int64_t BeginPair(const FrameJob& job, LocalizeTask* task) {
    if (!imu_.has_value()) return task->turn;
    const int64_t time_ns = SensorTime(task->time_ns), turn = imu_->TurnOf(time_ns);
    task->ahead_of_readings = turn == std::numeric_limits<int64_t>::max();
    wait_->Begin(task->turn, time_ns, task->had_readings, !task->ahead_of_readings,
                 job.times.queued_at + job.times.queue_ns);
    return std::max(task->turn, turn);
  }

  // The localization takes what came up to this turn.
  absl::Status TakeImu(int64_t turn) {
    if (!imu_.has_value()) return absl::OkStatus();
    const FramePathPause pause;
    int64_t lost = 0;
    while (imu_->Take(turn, &readings_, &lost)) GLINT_RETURN_IF_ERROR(localization_->AddImu(readings_, lost));
    const ImuReceived before = std::exchange(received_, localization_->imu_received());
    streams_->metrics.Received(before, received_);
    return absl::OkStatus();
  }

  // INVALID_ARGUMENT: it has depths, and the stream's camera has none, or the other way round.
  absl::Status Locate(const WireLocalizeStreamRequest& request, const Message& message, LocalizeTask* task,
                      FrameJob* job) const {
    task->kind = request.relocalize ? LocalizeTask::Kind::kRelocalize : LocalizeTask::Kind::kTrack;
    task->time_ns = request.time_ns;
    task->depth = depth_;
    task->depth_shape = depth_shape_;
    task->rectification = rectification_.get();
    task->stream_masks = &masks_;
    task->detector = &detector_;
    const bool has_depth = depth_.has_value();
    if (has_depth && request.pair.has_right) {
      return ContradictionError("right", "is given, but the stream's camera has `depth` in its place");
    }
    if (has_depth && !request.has_depth) {
      return ContradictionError("depth", "is missing, but the stream's options say that its camera has depth");
    }
    if (!has_depth && request.has_depth) {
      return ContradictionError("depth", "is given, but the stream's options say nothing of depth");
    }
    job->pixels = kPixelsOfLocation;
    GLINT_ASSIGN_OR_RETURN(const ImagePairSources pair, LocateImagePair(request.pair, message, &job->pixels));
    task->left = pair.left;
    task->right = pair.right;
    task->masks = pair.masks;
    if (!has_depth) return absl::OkStatus();
    int64_t pixels = 0;  // as the sensor's instead
    GLINT_ASSIGN_OR_RETURN(task->right, LocateImage("depth", request.depth, message, 1, &pixels));
    job->pixels += depth_shape_.pixels();
    return absl::OkStatus();
  }

  const std::unique_ptr<Localization> localization_;
  const DetectorOptions detector_;
  const std::optional<DepthSensor> depth_;
  const Shape depth_shape_;
  const std::shared_ptr<const Rectification> rectification_;
  const PairMasks masks_;
  int64_t turn_ = 0;             // of the last message
  std::optional<ImuInbox> imu_;  // of a stream with an inertial sensor
  std::optional<ImuWait> wait_;  // likewise
  int64_t imu_offset_ns_ = 0;    // time of its clock = time of the images + this
  slam::ImuReadings readings_;   // that have been taken
  ImuReceived received_;         // as metrics have it
  MapSize map_size_;             // likewise
  std::mutex imu_mutex_;         // answers to readings are found by a lane, or in Edit(): whoever comes first
  std::deque<Unanswered> unanswered_;
  size_t unanswered_poses_ = 0;  // of these
  LocalizeStreams* const streams_;
  Metrics* const metrics_;
};

class LocalizeOperation final : public Operation {
 public:
  explicit LocalizeOperation(const Host& host)
      : Operation(host, "localize", "map"),
        streams_(*host.options, host.metrics->registry()),
        places_{host.options->max_localize_streams, "streams that localize", "--max-localize-streams"},
        threads_(host.background) {}

  std::unique_ptr<Payload> MakePayload() const override { return std::make_unique<LocalizePayload>(); }
  PlacePart* places() override { return &places_; }

  absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message& first, SessionOptions* session) override {
    OptionImages images[2];
    images[0].field = v1::LocalizeStreamOptions::kMaskFieldNumber;
    images[1].field = v1::LocalizeStreamOptions::kRightMaskFieldNumber;
    GLINT_ASSIGN_OR_RETURN(const auto request,
                           ParseOptionsAndImages<v1::LocalizeStreamRequest>(
                               first.pieces, v1::LocalizeStreamRequest::kAddImuFieldNumber, absl::MakeSpan(images)));
    GLINT_ASSIGN_OR_RETURN(*session, SessionFromProto(request.options(), options()));
    GLINT_ASSIGN_OR_RETURN(const LocalizationOptions localization,
                           FromProto(request.options(), options(), rectifications()));
    if (images[1].count > 0 && localization.depth.has_value()) {
      return ContradictionError("right_mask", "is given, but a camera with depth has no right image");
    }
    GLINT_ASSIGN_OR_RETURN(const PairMaskSources masks, LocateStreamMasks(images, first));
    GLINT_ASSIGN_OR_RETURN(auto made, Localization::Create(localization, threads_));
    streams_.metrics.StreamsAre(++streams_.count);
    return std::make_unique<LocalizeState>(std::move(made), localization, masks, RegionFromProto(request.options()),
                                           &streams_, metrics());
  }

 private:
  LocalizeStreams streams_;
  PlacePart places_;
  BackgroundThreads* const threads_;
};

}  // namespace

std::unique_ptr<Operation> MakeLocalizeStream(const Host& host) { return std::make_unique<LocalizeOperation>(host); }

}  // namespace glint
