#include <utility>

#include "features/status_macros.h"
#include "ros2/operations/features/features.h"
#include "ros2/operations/features/features_operation.h"

namespace glint::ros2 {
namespace {

class Track final : public FeaturesOperation {
 public:
  Track(const Context& context, client::TrackStreamOptions options, Topic<ros::PointCloud2> tracks)
      : FeaturesOperation(context, "track", /*needs_cameras=*/false),
        options_(std::move(options)),
        tracks_({std::move(tracks), {}}) {}
  ~Track() override { Stop(); }

 private:
  absl::StatusOr<std::unique_ptr<AnyStream>> Open(const client::Client& client, const Cameras&) override {
    GLINT_ASSIGN_OR_RETURN(auto stream, client.OpenTrackStream(options_, [this](const client::TrackAnswer& answer) {
      Answered(answer.frame_id, answer.status, answer.drop_reason, answer.timings,
               [&](const Frame& frame) { Publish(answer, frame); });
    }));
    return WrittenBy(std::move(stream), [this](client::TrackStream* to, uint64_t id, const Frame& frame) {
      images_.assign(1, frame.left.image);
      absl::Status status = to->Write(id, images_, frame.left.stamp_ns);
      images_.clear();  // the slot of shared memory
      return status;
    });
  }
  void Publish(const client::TrackAnswer& answer, const Frame& frame) {
    Note(answer.cameras.empty() ? 0 : answer.cameras[0].count(), answer.warnings);
    tracks_.Publish([&](std::vector<uint8_t>* bytes, ros::PointCloud2* message) {
      FillTracks(answer, frame.left.stamp_ns, NamesOf(frame), bytes, message);
    });
  }

  const client::TrackStreamOptions options_;
  std::vector<client::ImageInput> images_;  // of the thread that writes
  BytesTopic<ros::PointCloud2> tracks_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Operation>> MakeTrack(const Context& context) {
  const int target = context.config->track.max_keypoints;
  FeaturesConfig preset = context.config->track;
  preset.max_keypoints = 0;
  client::TrackStreamOptions options;
  GLINT_ASSIGN_OR_RETURN(options.detector, DetectorOf("track", preset, kTrackDefaults));
  if (target > options.detector.max_features) {  // so many that some are found where no track is
    GLINT_ASSIGN_OR_RETURN(options.detector, DetectorOf("track", context.config->track, kTrackDefaults));
  }
  if (target > 0) options.target = target;
  options.in_flight = kInFlight;
  options.timeout = kAnswerPatience;
  GLINT_ASSIGN_OR_RETURN(auto tracks, Topic<ros::PointCloud2>::Advertise(context, "tracks"));
  auto operation = std::make_unique<Track>(context, std::move(options), std::move(tracks));
  GLINT_RETURN_IF_ERROR(operation->Start());
  return operation;
}

}  // namespace glint::ros2
