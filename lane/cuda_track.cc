#include "lane/cuda_track.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "cuda/track/tracker.h"
#include "features/status_macros.h"

namespace glint {
namespace {

class CudaTrackFrames final : public TrackFrames {
 public:
  CudaTrackFrames(std::unique_ptr<cuda::Tracker> tracker, int ordinal)
      : tracker_(std::move(tracker)), ordinal_(ordinal) {}

  absl::StatusOr<ImageView> Set(int number, const Pixels& pixels) {
    const Shape shape = pixels.shape();
    GLINT_ASSIGN_OR_RETURN(const auto memory, tracker_->BeginFrame(number, shape));
    if (pixels.view.empty()) {
      pixels.rows->CopyRows(0, shape.height, memory, shape.width);
    } else if (pixels.view.stride == shape.width) {
      std::memcpy(memory, pixels.view.data, static_cast<size_t>(shape.pixels()));
    } else {
      for (int y = 0; y < shape.height; ++y) {
        std::memcpy(memory + static_cast<ptrdiff_t>(y) * shape.width, pixels.view.row(y),
                    static_cast<size_t>(shape.width));
      }
    }
    GLINT_RETURN_IF_ERROR(tracker_->EndFrame());
    return ImageView{memory, shape.width, shape.height, shape.width};
  }
  absl::StatusOr<ImageView> Lend(int number, const Pixels& pixels) {
    if (pixels.rows == nullptr) {
      GLINT_ASSIGN_OR_RETURN(const auto lent, tracker_->LendFrame(number, pixels.view));
      if (lent) return pixels.view;
    }
    return Set(number, pixels);
  }
  absl::Status Copy(int number, const ImageView& on_device) { return tracker_->CopyFrame(number, on_device); }
  absl::Status Release() { return tracker_->Release(); }
  absl::Status Start(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                     const TrackOptions& options) {
    return tracker_->Start(to, points, segments, options);
  }
  absl::Status Finish(TrackResult* result) { return tracker_->Finish(result); }
  int ordinal() const { return ordinal_; }

 private:
  const std::unique_ptr<cuda::Tracker> tracker_;
  const int ordinal_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TrackFrames>> MakeCudaTrackFrames(int ordinal, int sm_limit, Shape shape, int max_points,
                                                                 int levels, int count) {
  cuda::TrackerOptions options;
  options.device = ordinal;
  options.sm_limit = sm_limit;
  options.max_shape = shape;
  options.max_points = max_points;
  options.levels = levels;
  options.frames = count;
  GLINT_ASSIGN_OR_RETURN(auto tracker, cuda::Tracker::Create(options));
  return std::make_unique<CudaTrackFrames>(std::move(tracker), ordinal);
}

absl::StatusOr<ImageView> SetCudaTrackFrame(TrackFrames* frames, int number, const Pixels& image) {
  return static_cast<CudaTrackFrames*>(frames)->Set(number, image);
}

absl::StatusOr<ImageView> LendCudaTrackFrame(TrackFrames* frames, int number, const Pixels& image) {
  return static_cast<CudaTrackFrames*>(frames)->Lend(number, image);
}

absl::Status CopyCudaTrackFrame(TrackFrames* frames, int number, const ImageView& on_device) {
  return static_cast<CudaTrackFrames*>(frames)->Copy(number, on_device);
}

absl::Status ReleaseCudaTrackPixels(TrackFrames* frames) { return static_cast<CudaTrackFrames*>(frames)->Release(); }

absl::Status StartFollowOnCuda(TrackFrames* frames, int to, const TrackInput& points,
                               absl::Span<const TrackSegment> segments, const TrackOptions& options) {
  return static_cast<CudaTrackFrames*>(frames)->Start(to, points, segments, options);
}

absl::Status FinishFollowOnCuda(TrackFrames* frames, TrackResult* result) {
  return static_cast<CudaTrackFrames*>(frames)->Finish(result);
}

int OrdinalOf(const TrackFrames& frames) { return static_cast<const CudaTrackFrames&>(frames).ordinal(); }

}  // namespace glint
