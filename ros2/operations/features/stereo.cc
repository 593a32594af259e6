#include <utility>

#include "client/calibration/cameras.h"
#include "features/status_macros.h"
#include "ros2/operations/features/features.h"
#include "ros2/operations/features/features_operation.h"

namespace glint::ros2 {
namespace {

class Stereo final : public FeaturesOperation {
 public:
  Stereo(const Context& context, client::StereoStreamOptions options, Topic<ros::PointCloud2> points,
         Topic<ros::DisparityImage> disparity)
      : FeaturesOperation(context, "stereo", /*needs_cameras=*/true),
        options_(std::move(options)),
        points_({std::move(points), {}}),
        disparity_({std::move(disparity), {}}) {}
  ~Stereo() override { Stop(); }

 private:
  absl::StatusOr<std::unique_ptr<AnyStream>> Open(const client::Client& client, const Cameras& cameras) override {
    client::PairCameras pair;
    pair.camera = camera_ = cameras.camera.value_or(client::StereoCamera());
    options_.rig = cameras.rig;
    options_.stereo.focal_length = pair.focal_length();
    options_.stereo.baseline = pair.baseline();
    GLINT_ASSIGN_OR_RETURN(auto stream, client.OpenStereoStream(options_, [this](const client::StereoAnswer& answer) {
      Answered(answer.frame_id, answer.status, answer.drop_reason, answer.timings,
               [&](const Frame& frame) { Publish(answer, frame); });
    }));
    return WrittenBy(std::move(stream), [](client::StereoStream* to, uint64_t id, const Frame& frame) {
      return to->Write(id, frame.left.image, frame.right.image, frame.left.stamp_ns, frame.right.stamp_ns);
    });
  }
  void Publish(const client::StereoAnswer& answer, const Frame& frame) {
    Note(answer.disparity.size(), answer.warnings);
    points_.Publish([&](std::vector<uint8_t>* bytes, ros::PointCloud2* message) {
      FillStereoPoints(answer, camera_, frame.left.stamp_ns, NamesOf(frame), bytes, message);
    });
    disparity_.Publish([&](std::vector<uint8_t>* bytes, ros::DisparityImage* message) {
      FillDisparity(answer, camera_, frame.left.stamp_ns, NamesOf(frame), bytes, message);
    });
  }

  // Of the thread that writes, which changes them while there is no stream.
  client::StereoStreamOptions options_;
  client::StereoCamera camera_;  // of rectified images
  BytesTopic<ros::PointCloud2> points_;
  BytesTopic<ros::DisparityImage> disparity_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> MakeStereo(const Context& context) {
  if (context.config->camera.right.empty()) {
    return absl::InvalidArgumentError("stereo.enabled: true, but camera.right is not set");
  }
  client::StereoStreamOptions options;
  GLINT_ASSIGN_OR_RETURN(options.detector, DetectorOf("stereo", context.config->stereo, kStereoDefaults));
  options.max_time_difference = absl::Seconds(context.config->camera.max_time_difference);
  options.in_flight = kInFlight;
  options.timeout = kAnswerPatience;
  GLINT_ASSIGN_OR_RETURN(auto points, Topic<ros::PointCloud2>::Advertise(context, "stereo_points"));
  GLINT_ASSIGN_OR_RETURN(auto disparity, Topic<ros::DisparityImage>::Advertise(context, "disparity"));
  auto operation = std::make_unique<Stereo>(context, std::move(options), std::move(points), std::move(disparity));
  GLINT_RETURN_IF_ERROR(operation->Start());
  return operation;
}

}  // namespace glint::ros2
