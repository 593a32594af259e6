#include "server/lane/cuda_track.h"

#include <utility>

#include "cuda/track/tracker.h"

namespace glint {
namespace {

class CudaTrackFrames final : public TrackFrames {
 public:
  CudaTrackFrames(std::unique_ptr<cuda::Tracker> tracker, int ordinal)
      : tracker_(std::move(tracker)), ordinal_(ordinal) {}

  void Advance() override { next_ = 1 - next_; }

  absl::Status SetNext(const ImageView& image) { return tracker_->SetFrame(next_, image); }
  absl::Status Track(const TrackInput& points, const TrackOptions& options, TrackResult* result) {
    return tracker_->Track({1 - next_, next_, points.count, points.x, points.y, points.to_x, points.to_y}, options,
                           result);
  }
  int ordinal() const { return ordinal_; }

 private:
  const std::unique_ptr<cuda::Tracker> tracker_;
  const int ordinal_;
  int next_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TrackFrames>> MakeCudaTrackFrames(int ordinal, int sm_limit, Shape shape,
                                                                 int max_points) {
  cuda::TrackerOptions options;
  options.device = ordinal;
  options.sm_limit = sm_limit;
  options.max_shape = shape;
  options.max_points = max_points;
  options.frames = 2;
  auto tracker = cuda::Tracker::Create(options);
  if (!tracker.ok()) return tracker.status();
  return std::make_unique<CudaTrackFrames>(*std::move(tracker), ordinal);
}

absl::Status SetNextCudaFrame(TrackFrames* frames, const ImageView& image) {
  return static_cast<CudaTrackFrames*>(frames)->SetNext(image);
}

absl::Status TrackOnCuda(TrackFrames* frames, const TrackInput& points, const TrackOptions& options,
                         TrackResult* result) {
  return static_cast<CudaTrackFrames*>(frames)->Track(points, options, result);
}

int OrdinalOf(const TrackFrames& frames) { return static_cast<const CudaTrackFrames&>(frames).ordinal(); }

}  // namespace glint
