#include "server/operations/detect/detect.h"

#include <utility>

#include "features/status_macros.h"
#include "server/operations/detect/detect_parser.h"
#include "server/operations/detect/detect_payloads.h"
#include "server/operations/detect/detect_reply.h"
#include "server/operations/detect/detect_work.h"
#include "server/operations/detect/stream_options.h"

namespace glint {
namespace {

// Locates the image of a message, and its mask if there is one.
absl::Status LocatePixels(const WireImage& image, const WireImage* mask, const Message& message, DetectTask* task) {
  GLINT_ASSIGN_OR_RETURN(task->image, FromWire(image, message.pieces, message.rules, &message.images[0]));
  if (mask == nullptr) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(task->mask, MaskFromWire(*mask, message.pieces, message.rules, &message.images[1]));
  return absl::OkStatus();
}

class DetectCallState final : public StreamState {
 public:
  DetectCallState(const ServerOptions& server, const DetectMetrics* detect_metrics, Metrics* metrics)
      : max_features_(server.max_features), detect_metrics_(detect_metrics), metrics_(metrics) {}

  const WireEnvelope* Read(decode::Pieces message, FrameJob* job) override {
    static constexpr WireEnvelope kFrame = {WireContent::kFrame};
    return ParseDetectRequest(message, &PayloadOf(job)->request) ? &kFrame : nullptr;
  }

  absl::Status Parse(const Message& message, FrameJob* job) override {
    const WireDetectRequest& request = PayloadOf(job)->request;
    DetectTask& task = PayloadOf(job)->task;
    Message ranged = message;
    const absl::Status range = UseRange(request.gray_range, &PayloadOf(job)->range, &ranged);
    const absl::Status pixels = LocatePixels(request.image, request.has_mask ? &request.mask : nullptr, ranged, &task);
    CountImage(request.image, message, 0, metrics_);
    GLINT_ASSIGN_OR_RETURN(task.options, OptionsFromWire(request.detector, max_features_));
    GLINT_RETURN_IF_ERROR(range);
    GLINT_RETURN_IF_ERROR(pixels);
    task.region = request.region;
    job->pixels = ExpectedPixels(task.image, task.region, job->bytes);
    return absl::OkStatus();
  }

  absl::Status Run(const LaneContext& context, FrameJob* job) override {
    return RunDetect(context, *detect_metrics_, &PayloadOf(job)->task, job);
  }

  grpc::Slice Reply(const FrameJob& job) override {
    return SerializeDetectReply(0, *PayloadOf(&job)->task.features, job.warnings);
  }

 private:
  static DetectCallPayload* PayloadOf(const FrameJob* job) { return static_cast<DetectCallPayload*>(job->payload); }

  const int max_features_;
  const DetectMetrics* const detect_metrics_;
  Metrics* const metrics_;
};

class DetectOperation final : public Operation {
 public:
  explicit DetectOperation(const Host& host) : Operation(host, "detect"), detect_metrics_(host.metrics->registry()) {}

  std::unique_ptr<Payload> MakePayload() const override { return std::make_unique<DetectCallPayload>(); }
  absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message&, SessionOptions*) override {
    return std::make_unique<DetectCallState>(options(), &detect_metrics_, metrics());
  }

 private:
  const DetectMetrics detect_metrics_;
};

class DetectStreamState final : public StreamState {
 public:
  // `mask` may be null.
  DetectStreamState(const DetectorOptions& detector, const Region& region, std::unique_ptr<StreamMask> mask,
                    const DetectMetrics* detect_metrics, Metrics* metrics)
      : detector_(detector),
        region_(region),
        mask_(std::move(mask)),
        detect_metrics_(detect_metrics),
        metrics_(metrics) {}

  const WireEnvelope* Read(decode::Pieces message, FrameJob* job) override {
    WireDetectStreamRequest& request = PayloadOf(job)->request;
    return ParseDetectStreamRequest(message, &request) ? &request : nullptr;
  }

  absl::Status Parse(const Message& message, FrameJob* job) override {
    const WireDetectStreamRequest& request = PayloadOf(job)->request;
    DetectTask& task = PayloadOf(job)->task;
    task.options = detector_;
    task.stream_mask = mask_.get();
    task.region = request.region.wanted ? request.region : region_;
    absl::Status status = LocatePixels(request.image, request.has_mask ? &request.mask : nullptr, message, &task);
    CountImage(request.image, message, 0, metrics_);
    job->pixels = ExpectedPixels(task.image, task.region, job->bytes);
    return status;
  }

  absl::Status Run(const LaneContext& context, FrameJob* job) override {
    return RunDetect(context, *detect_metrics_, &PayloadOf(job)->task, job);
  }

  grpc::Slice Reply(const FrameJob& job) override {
    return SerializeDetectReply(job.id, *PayloadOf(&job)->task.features, job.warnings);
  }

 private:
  static DetectStreamPayload* PayloadOf(const FrameJob* job) { return static_cast<DetectStreamPayload*>(job->payload); }

  const DetectorOptions detector_;
  const Region region_;  // of frames without one of their own
  const std::unique_ptr<StreamMask> mask_;
  const DetectMetrics* const detect_metrics_;
  Metrics* const metrics_;
};

class DetectStreamOperation final : public Operation {
 public:
  explicit DetectStreamOperation(const Host& host)
      : Operation(host, "detect"), detect_metrics_(host.metrics->registry()) {}

  std::unique_ptr<Payload> MakePayload() const override { return std::make_unique<DetectStreamPayload>(); }

  absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message& first, SessionOptions* session) override {
    StreamOptionsMessage message;
    GLINT_RETURN_IF_ERROR(ParseStreamOptions(first.pieces, &message));
    GLINT_ASSIGN_OR_RETURN(const DetectorOptions detector,
                           FromProto(message.options.detector(), options().max_features));
    GLINT_ASSIGN_OR_RETURN(*session, SessionFromProto(message.options, options()));
    Region region;
    if (message.options.has_region()) {
      const v1::ImageRegion& proto = message.options.region();
      region = {true, proto.x(), proto.y(), proto.width(), proto.height()};
    }
    std::unique_ptr<StreamMask> mask;
    if (message.has_mask) {
      GLINT_ASSIGN_OR_RETURN(const ImageSource source,
                             MaskFromWire(message.mask, message.mask_pieces, first.rules, &first.images[1]));
      mask = std::make_unique<StreamMask>(source);
    }
    return std::make_unique<DetectStreamState>(detector, region, std::move(mask), &detect_metrics_, metrics());
  }

 private:
  const DetectMetrics detect_metrics_;
};

}  // namespace

std::unique_ptr<Operation> MakeDetect(const Host& host) { return std::make_unique<DetectOperation>(host); }
std::unique_ptr<Operation> MakeDetectStream(const Host& host) { return std::make_unique<DetectStreamOperation>(host); }

}  // namespace glint
