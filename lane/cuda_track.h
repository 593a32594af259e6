// Tracking on a GPU: a tracker of the device for each camera, in which the pyramids of its frames stay.
#ifndef GLINT_LANE_CUDA_TRACK_H_
#define GLINT_LANE_CUDA_TRACK_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lane/lane.h"

namespace glint {

// Implementation of Lane's functions of these names. Thread-safe for different frames.
absl::StatusOr<std::unique_ptr<TrackFrames>> MakeCudaTrackFrames(int ordinal, int sm_limit, Shape shape, int max_points,
                                                                 int levels, int count);
absl::StatusOr<ImageView> SetCudaTrackFrame(TrackFrames* frames, int number, const Pixels& image);
absl::StatusOr<ImageView> LendCudaTrackFrame(TrackFrames* frames, int number, const Pixels& image);
// `on_device`: on the device of the frames, as Tracker::CopyFrame() has it.
absl::Status CopyCudaTrackFrame(TrackFrames* frames, int number, const ImageView& on_device);
absl::Status ReleaseCudaTrackPixels(TrackFrames* frames);
absl::Status StartFollowOnCuda(TrackFrames* frames, int to, const TrackInput& points,
                               absl::Span<const TrackSegment> segments, const TrackOptions& options);
absl::Status FinishFollowOnCuda(TrackFrames* frames, TrackResult* result);
// The device of the frames.
int OrdinalOf(const TrackFrames& frames);

}  // namespace glint

#endif  // GLINT_LANE_CUDA_TRACK_H_
