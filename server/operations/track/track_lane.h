// TrackBackend on a lane.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_LANE_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_LANE_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lane/lane.h"
#include "server/operations/track/track_session.h"

namespace glint {

// Frames of a camera that a tracking stream keeps on a device.
struct TrackedCamera {
  std::unique_ptr<TrackFrames> frames;  // null: none are kept
  Shape shape;                          // of the frames
  uint32_t set = 0;                     // bit i: frame i holds an image
  bool has_last = false;                // the image of the last successful frame is kept
};
using TrackedCameras = std::array<TrackedCamera, kMaxTrackCameras>;

// Backend of one frame. Adds the times of pyramids and tracking to `track_ns`, those of detection to `stages`.
class TrackLane final : public TrackBackend {
 public:
  // All are borrowed.
  TrackLane(Lane* lane, const TrackingOptions* options, TrackedCameras* cameras, int64_t* track_ns, StageTimes* stages)
      : lane_(lane), options_(options), cameras_(cameras), track_ns_(track_ns), stages_(stages) {}
  // Ends a running detection and releases the images: those passed to SetFrame() may be freed afterwards.
  ~TrackLane() override;
  TrackLane(const TrackLane&) = delete;
  TrackLane& operator=(const TrackLane&) = delete;

  bool HasFrames(int camera) const override { return Of(camera).has_last; }
  absl::StatusOr<ImageView> SetFrame(int camera, int number, const Pixels& image) override;
  absl::Status StartFollow(int camera, int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                           const TrackOptions& options, TrackResult* result) override;
  absl::Status FinishFollow(int camera, TrackResult* result) override;
  absl::Status StartDetect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                           Features* features) override;
  absl::Status FinishDetect() override;

  // Marks the frame as successful.
  void Keep();

 private:
  TrackedCamera& Of(int camera) const { return (*cameras_)[static_cast<size_t>(camera)]; }
  template <typename Work>
  absl::Status Timed(int camera, Work work);

  Lane* const lane_;
  const TrackingOptions* const options_;
  TrackedCameras* const cameras_;
  int64_t* const track_ns_;
  StageTimes* const stages_;
  bool detects_ = false;  // from StartDetect() to FinishDetect()
  StageTimes detection_;  // of that
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_LANE_H_
