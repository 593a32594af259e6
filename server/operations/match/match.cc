#include "server/operations/match/match.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "server/operations/match/descriptor_sets.h"
#include "server/operations/match/match_convert.h"
#include "server/operations/match/match_parser.h"
#include "server/operations/match/match_reply.h"
#include "server/operations/match/match_work.h"
#include "server/wire/camera.h"
#include "server/wire/first_message.h"
#include "server/wire/rays.h"

namespace glint {
namespace {

// Resolves the kind of a side, and the upper bound of its descriptors. `sets` may be null.
absl::Status FindSide(const char* field, const WireMatchSide& from, const Message& message, const DescriptorSets* sets,
                      int max_features, MatchTask::Side* side, int64_t* count) {
  side->is_image = from.content == WireMatchSide::Content::kImage;
  if (from.content == WireMatchSide::Content::kSet) {
    if (sets == nullptr) return ContradictionError(absl::StrCat(field, ".set"), "sets are kept by MatchStream");
    GLINT_ASSIGN_OR_RETURN(side->kept, sets->Find(absl::StrCat(field, ".set"), NameFromWire(message.pieces, from.set)));
  }
  *count = side->is_image          ? max_features
           : side->kept != nullptr ? side->kept->count()
                                   : static_cast<int64_t>(from.sizes.count());
  return absl::OkStatus();
}

absl::Status LocateSide(const char* field, const WireMatchSide& from, const Message& message, size_t holder,
                        MatchTask::Side* side, FrameJob* job) {
  if (!side->is_image) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(side->image, LocateImage(field, from.image, message, holder, &job->pixels));
  return absl::OkStatus();
}

// Parses both sides of a task whose options are set. `wire` must outlive the task.
absl::Status LocateMatch(const WireMatch& wire, const Message& message, const DescriptorSets* sets, int max_descriptors,
                         MatchTask* task, FrameJob* job) {
  GLINT_RETURN_IF_ERROR(ValidateMatch(wire, task->detector, max_descriptors));
  task->message = message.pieces;
  task->wire = &wire;
  int64_t queries = 0, trains = 0;
  const int features = task->detector.max_features;
  GLINT_RETURN_IF_ERROR(FindSide("query", wire.query, message, sets, features, &task->query, &queries));
  GLINT_RETURN_IF_ERROR(FindSide("train", wire.train, message, sets, features, &task->train, &trains));
  job->pixels = MatchPixels(queries, trains);
  GLINT_RETURN_IF_ERROR(LocateSide("query.image", wire.query, message, 0, &task->query, job));
  return LocateSide("train.image", wire.train, message, 1, &task->train, job);
}

void CountImages(const WireMatch& wire, const Message& message, Metrics* metrics) {
  using Content = WireMatchSide::Content;
  if (wire.query.content == Content::kImage) CountImage(wire.query.image, message, 0, metrics);
  if (wire.train.content == Content::kImage) CountImage(wire.train.image, message, 1, metrics);
}

struct MatchCallPayload final : Payload {
  WireMatchRequest request;
  MatchTask task;
  Camera query_camera, train_camera;  // of the task, if it has them
  StreamRange range;

  void Reset() override {
    task = MatchTask();
    request.detector.clear();
    request.options.clear();
  }
};

class MatchCallState final : public StreamState {
 public:
  MatchCallState(const ServerOptions& server, prometheus::Histogram* match_seconds, Metrics* metrics)
      : server_(server), match_seconds_(match_seconds), metrics_(metrics) {}

  const WireEnvelope* Read(decode::Pieces message, FrameJob* job) override {
    static constexpr WireEnvelope kFrame = {WireContent::kFrame};
    return ParseMatchRequest(message, &PayloadOf(job)->request) ? &kFrame : nullptr;
  }

  absl::Status Parse(const Message& message, FrameJob* job) override {
    const WireMatchRequest& request = PayloadOf(job)->request;
    MatchTask& task = PayloadOf(job)->task;
    const absl::Span<const uint8_t> detector(reinterpret_cast<const uint8_t*>(request.detector.data()),
                                             request.detector.size());
    GLINT_ASSIGN_OR_RETURN(task.detector,
                           OptionsFromWire({&detector, 1}, MaxFeaturesPerImage(server_), kMatchDefaults));
    GLINT_ASSIGN_OR_RETURN(task.criteria, MatchOptionsFromWire(request.options));
    task.max_pairs = server_.max_match_pairs;
    task.unpack = UnpackRequest;
    MatchCallPayload& payload = *PayloadOf(job);
    if (request.has_query_camera) {
      GLINT_ASSIGN_OR_RETURN(payload.query_camera, CameraFromWire("query_camera", request.query_camera));
      task.query.camera = &payload.query_camera;
    }
    if (request.has_train_camera) {
      GLINT_ASSIGN_OR_RETURN(payload.train_camera, CameraFromWire("train_camera", request.train_camera));
      task.train.camera = &payload.train_camera;
    }
    Message ranged = message;
    GLINT_RETURN_IF_ERROR(UseRange(request.gray_range, &PayloadOf(job)->range, &ranged));
    absl::Status status = LocateMatch(request.match, ranged, nullptr, server_.max_features, &task, job);
    CountImages(request.match, message, metrics_);
    return status;
  }

  absl::Status Run(const LaneContext& context, FrameJob* job) override {
    return RunMatch(context, &PayloadOf(job)->task, job);
  }

  grpc::Slice Reply(const FrameJob& job) override {
    return SerializeMatchReply(0, PayloadOf(&job)->task, job.warnings);
  }
  void Answered(const FrameJob& job) override { match_seconds_->Observe(metric::Seconds(job.times.match_ns)); }

 private:
  static MatchCallPayload* PayloadOf(const FrameJob* job) { return static_cast<MatchCallPayload*>(job->payload); }

  const ServerOptions& server_;
  prometheus::Histogram* const match_seconds_;
  Metrics* const metrics_;
};

class MatchOperation final : public Operation {
 public:
  explicit MatchOperation(const Host& host)
      : Operation(host, "match"), match_seconds_(metric::Stage(host.metrics->registry(), "match")) {}

  std::unique_ptr<Payload> MakePayload() const override { return std::make_unique<MatchCallPayload>(); }
  absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message&, SessionOptions*) override {
    return std::make_unique<MatchCallState>(options(), match_seconds_, metrics());
  }

 private:
  prometheus::Histogram* const match_seconds_;
};

// Of the images of a stream.
struct MatchCameras {
  std::optional<Camera> query, train;
};

struct MatchStreamPayload final : Payload {
  WireMatchStreamRequest request;
  MatchTask task;
  int set_size = 0;  // descriptors of the set after an edit

  void Reset() override { task = MatchTask(); }
};

class MatchStreamState final : public StreamState {
 public:
  MatchStreamState(const DetectorOptions& detector, const MatchCriteria& criteria, const MatchCameras& cameras,
                   const ServerOptions& server, prometheus::Histogram* match_seconds, Metrics* metrics)
      : detector_(detector),
        criteria_(criteria),
        cameras_(cameras),
        max_features_(server.max_features),
        max_match_pairs_(server.max_match_pairs),
        match_seconds_(match_seconds),
        metrics_(metrics),
        sets_(server.max_features) {}

  const WireEnvelope* Read(decode::Pieces message, FrameJob* job) override {
    WireMatchStreamRequest& request = PayloadOf(job)->request;
    return ParseMatchStreamRequest(message, &request) ? &request : nullptr;
  }

  absl::Status Parse(const Message& message, FrameJob* job) override {
    const WireMatchStreamRequest& request = PayloadOf(job)->request;
    MatchTask& task = PayloadOf(job)->task;
    task.message = message.pieces;
    if (job->is_edit) return CheckUpdate(request.update);
    task.detector = detector_;
    task.criteria = criteria_;
    task.max_pairs = max_match_pairs_;
    task.unpack = UnpackPair;
    if (cameras_.query.has_value()) task.query.camera = &*cameras_.query;
    if (cameras_.train.has_value()) task.train.camera = &*cameras_.train;
    absl::Status status = LocateMatch(request.match, message, &sets_, max_features_, &task, job);
    CountImages(request.match, message, metrics_);
    return status;
  }

  absl::Status Run(const LaneContext& context, FrameJob* job) override {
    return RunMatch(context, &PayloadOf(job)->task, job);
  }

  bool Edit(FrameJob* job) override {
    MatchStreamPayload& payload = *PayloadOf(job);
    const decode::Pieces message = payload.task.message;
    const std::string set = NameFromWire(message, payload.request.set);
    payload.set_size = 0;
    if (payload.request.forgets) {
      job->status = sets_.Forget(set);
      return true;
    }
    SetUpdate update;
    UnpackUpdate(message, payload.request.update, &update);
    const absl::StatusOr<int> size = sets_.Update(set, update);
    job->status = size.status();
    if (size.ok()) payload.set_size = *size;
    return true;
  }

  grpc::Slice Reply(const FrameJob& job) override {
    if (job.is_edit) return SerializeSetReply(job.id, PayloadOf(&job)->set_size);
    return SerializeMatchReply(job.id, PayloadOf(&job)->task, job.warnings);
  }
  void Answered(const FrameJob& job) override { match_seconds_->Observe(metric::Seconds(job.times.match_ns)); }

 private:
  static MatchStreamPayload* PayloadOf(const FrameJob* job) { return static_cast<MatchStreamPayload*>(job->payload); }

  absl::Status CheckUpdate(const WireSetUpdate& update) const {
    GLINT_RETURN_IF_ERROR(ValidateSet("add", update.add, max_features_));
    if (static_cast<int64_t>(update.remove) <= max_features_) return absl::OkStatus();
    return LimitError("remove", static_cast<int64_t>(update.remove), max_features_, "--max-features");
  }

  const DetectorOptions detector_;
  const MatchCriteria criteria_;
  const MatchCameras cameras_;
  const int max_features_;
  const int64_t max_match_pairs_;
  prometheus::Histogram* const match_seconds_;
  Metrics* const metrics_;
  DescriptorSets sets_;  // read by Parse() and Run(), changed while no frame is unanswered
};

class MatchStreamOperation final : public Operation {
 public:
  explicit MatchStreamOperation(const Host& host)
      : Operation(host, "match", "edit_set"), match_seconds_(metric::Stage(host.metrics->registry(), "match")) {}

  std::unique_ptr<Payload> MakePayload() const override { return std::make_unique<MatchStreamPayload>(); }

  absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message& first, SessionOptions* session) override {
    GLINT_ASSIGN_OR_RETURN(const auto request,
                           ParseOptions<v1::MatchStreamRequest>(first.pieces, ParseMatchStreamRequest));
    const v1::MatchStreamOptions& proto = request.options();
    GLINT_ASSIGN_OR_RETURN(*session, SessionFromProto(proto, options()));
    GLINT_ASSIGN_OR_RETURN(const DetectorOptions detector,
                           FromProto(proto.detector(), MaxFeaturesPerImage(options()), kMatchDefaults));
    GLINT_ASSIGN_OR_RETURN(const MatchCriteria criteria, FromProto(proto.match()));
    MatchCameras cameras;
    if (proto.has_query_camera()) {
      GLINT_ASSIGN_OR_RETURN(cameras.query, FromProto("query_camera", proto.query_camera()));
    }
    if (proto.has_train_camera()) {
      GLINT_ASSIGN_OR_RETURN(cameras.train, FromProto("train_camera", proto.train_camera()));
    }
    return std::make_unique<MatchStreamState>(detector, criteria, cameras, options(), match_seconds_, metrics());
  }

 private:
  prometheus::Histogram* const match_seconds_;
};

}  // namespace

std::unique_ptr<Operation> MakeMatch(const Host& host) { return std::make_unique<MatchOperation>(host); }
std::unique_ptr<Operation> MakeMatchStream(const Host& host) { return std::make_unique<MatchStreamOperation>(host); }

}  // namespace glint
