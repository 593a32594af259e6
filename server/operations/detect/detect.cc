#include "server/operations/detect/detect.h"

#include <optional>
#include <utility>

#include "features/status_macros.h"
#include "glint/v1/feature_detection.pb.h"
#include "server/operations/detect/detect_parser.h"
#include "server/operations/detect/detect_payloads.h"
#include "server/operations/detect/detect_reply.h"
#include "server/operations/detect/detect_work.h"
#include "server/wire/camera.h"
#include "server/wire/options_images.h"
#include "server/wire/rays.h"

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
    if (request.has_camera) {
      GLINT_ASSIGN_OR_RETURN(PayloadOf(job)->camera, CameraFromWire("camera", request.camera));
      task.camera = &PayloadOf(job)->camera;
    }
    GLINT_RETURN_IF_ERROR(pixels);
    task.region = request.region;
    job->pixels = ExpectedPixels(task.image, task.region, job->bytes);
    return absl::OkStatus();
  }

  absl::Status Run(const LaneContext& context, FrameJob* job) override {
    return RunDetect(context, *detect_metrics_, &PayloadOf(job)->task, job);
  }

  grpc::Slice Reply(const FrameJob& job) override {
    const DetectTask& task = PayloadOf(&job)->task;
    return SerializeDetectReply(0, *task.features, job.warnings, task.rays);
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
                    const std::optional<Camera>& camera, const DetectMetrics* detect_metrics, Metrics* metrics)
      : detector_(detector),
        region_(region),
        mask_(std::move(mask)),
        camera_(camera),
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
    task.camera = camera_.has_value() ? &*camera_ : nullptr;
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
    const DetectTask& task = PayloadOf(&job)->task;
    return SerializeDetectReply(job.id, *task.features, job.warnings, task.rays);
  }

 private:
  static DetectStreamPayload* PayloadOf(const FrameJob* job) { return static_cast<DetectStreamPayload*>(job->payload); }

  const DetectorOptions detector_;
  const Region region_;  // of frames without one of their own
  const std::unique_ptr<StreamMask> mask_;
  const std::optional<Camera> camera_;
  const DetectMetrics* const detect_metrics_;
  Metrics* const metrics_;
};

class DetectStreamOperation final : public Operation {
 public:
  explicit DetectStreamOperation(const Host& host)
      : Operation(host, "detect"), detect_metrics_(host.metrics->registry()) {}

  std::unique_ptr<Payload> MakePayload() const override { return std::make_unique<DetectStreamPayload>(); }

  absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message& first, SessionOptions* session) override {
    OptionImages masks;
    masks.field = v1::DetectStreamOptions::kMaskFieldNumber;
    GLINT_ASSIGN_OR_RETURN(const auto message,
                           ParseOptionsAndImages<v1::DetectStreamRequest>(
                               first.pieces, v1::DetectStreamRequest::kFrameFieldNumber, {&masks, 1}));
    GLINT_ASSIGN_OR_RETURN(const DetectorOptions detector,
                           FromProto(message.options().detector(), options().max_features));
    GLINT_ASSIGN_OR_RETURN(*session, SessionFromProto(message.options(), options()));
    const Region region = RegionFromProto(message.options());
    std::optional<Camera> camera;
    if (message.options().has_camera()) {
      GLINT_ASSIGN_OR_RETURN(camera, FromProto("camera", message.options().camera()));
    }
    std::unique_ptr<StreamMask> mask;
    if (masks.count > 0) {
      GLINT_ASSIGN_OR_RETURN(const ImageSource source,
                             MaskFromWire(masks.images[0], first.pieces, first.rules, &first.images[1]));
      mask = std::make_unique<StreamMask>(source);
    }
    return std::make_unique<DetectStreamState>(detector, region, std::move(mask), camera, &detect_metrics_, metrics());
  }

 private:
  const DetectMetrics detect_metrics_;
};

}  // namespace

std::unique_ptr<Operation> MakeDetect(const Host& host) { return std::make_unique<DetectOperation>(host); }
std::unique_ptr<Operation> MakeDetectStream(const Host& host) { return std::make_unique<DetectStreamOperation>(host); }

}  // namespace glint
