// A lane as the backend of a session of tracks.
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

// What a stream of tracks keeps of a camera from frame to frame.
struct TrackedCamera {
  std::unique_ptr<TrackFrames> frames;  // null: none are kept
  Shape shape;                          // theirs
  uint32_t set = 0;                     // a bit for each of them that has had an image
  bool has_last = false;                // one of them is of a good frame
};
using TrackedCameras = std::array<TrackedCamera, kMaxTrackCameras>;

// For one frame. Adds to `track_ns` what pyramids and following take, and to `stages` those of detection.
class TrackLane final : public TrackBackend {
 public:
  // All are borrowed.
  TrackLane(Lane* lane, const TrackingOptions* options, TrackedCameras* cameras, int64_t* track_ns, StageTimes* stages)
      : lane_(lane), options_(options), cameras_(cameras), track_ns_(track_ns), stages_(stages) {}
  // Images that SetFrame() had may be gone afterwards.
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

  // The frame was a good one.
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
