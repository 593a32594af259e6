#include <utility>

#include "features/status_macros.h"
#include "ros2/operations/features/features.h"
#include "ros2/operations/features/features_operation.h"
#include "ros2/operations/live.h"

namespace glint::ros2 {
namespace {

class Detect final : public FeaturesOperation {
 public:
  Detect(const Context& context, client::StreamOptions options, Topic<ros::PointCloud2> keypoints)
      : FeaturesOperation(context, "detect", /*needs_cameras=*/false),
        options_(std::move(options)),
        keypoints_({std::move(keypoints), {}}) {}
  ~Detect() override { Stop(); }

 private:
  absl::StatusOr<std::unique_ptr<AnyStream>> Open(const client::Client& client, const Cameras&) override {
    GLINT_ASSIGN_OR_RETURN(auto stream, client.OpenStream(options_, [this](const client::FrameResult& result) {
      Answered(result.frame_id, result.status, result.drop_reason, result.detection.timings,
               [&](const Frame& frame) { Publish(result.detection, frame); });
    }));
    return WrittenBy(std::move(stream), [](client::DetectStream* to, uint64_t id, const Frame& frame) {
      return to->Write(id, frame.left.image);
    });
  }
  void Publish(const client::Detection& found, const Frame& frame) {
    Note(found.features.count(), found.warnings);
    if (Live* const live = context().live; live != nullptr && live->wanted()) live->ShowKeypoints(found, frame);
    keypoints_.Publish([&](std::vector<uint8_t>* bytes, ros::PointCloud2* message) {
      FillKeypoints(found.features, frame.left.stamp_ns, NamesOf(frame), bytes, message);
    });
  }

  const client::StreamOptions options_;
  BytesTopic<ros::PointCloud2> keypoints_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> MakeDetect(const Context& context) {
  client::StreamOptions options;
  GLINT_ASSIGN_OR_RETURN(options.detector, DetectorOf("detect", context.config->detect, kDetectDefaults));
  options.in_flight = kInFlight;
  options.timeout = kAnswerPatience;
  GLINT_ASSIGN_OR_RETURN(auto keypoints, Topic<ros::PointCloud2>::Advertise(context, "keypoints"));
  auto operation = std::make_unique<Detect>(context, std::move(options), std::move(keypoints));
  GLINT_RETURN_IF_ERROR(operation->Start());
  return operation;
}

}  // namespace glint::ros2
