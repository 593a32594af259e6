#include "server/operations/track/track_lane.h"

#include <optional>
#include <utility>

#include "server/base/allocations.h"
#include "server/base/clock.h"

namespace glint {

static_assert(2 + kMaxTemplateFrames <= 32, "TrackedCamera::set has a bit for each kept frame");

absl::StatusOr<ImageView> TrackLane::SetFrame(int camera, int number, const Pixels& image) {
  const int64_t start = MonotonicNs();
  TrackedCamera& of = Of(camera);
  if (of.frames == nullptr || of.shape != image.shape()) {
    const FramePathPause pause;
    of = TrackedCamera();  // its memory first
    auto made = lane_->MakeTrackFrames(image.shape(), options_->track, options_->max_tracks, options_->kept_frames());
    if (!made.ok()) return made.status();
    of.frames = *std::move(made);
    of.shape = image.shape();
  }
  // The first image of each kept frame allocates memory that the stream keeps.
  const uint32_t bit = uint32_t{1} << number;
  std::optional<FramePathPause> first;
  if ((of.set & bit) == 0) first.emplace();
  of.set |= bit;
  auto view = lane_->LendTrackFrame(of.frames.get(), number, image);
  if (!view.ok()) of = TrackedCamera();
  *track_ns_ += MonotonicNs() - start;
  return view;
}

// A camera whose work fails loses its frames.
template <typename Work>
absl::Status TrackLane::Timed(int camera, Work work) {
  const int64_t start = MonotonicNs();
  absl::Status status = work(Of(camera).frames.get());
  if (!status.ok()) Of(camera) = TrackedCamera();
  *track_ns_ += MonotonicNs() - start;
  return status;
}

absl::Status TrackLane::StartFollow(int camera, int to, const TrackInput& points,
                                    absl::Span<const TrackSegment> segments, const TrackOptions& options,
                                    TrackResult* result) {
  return Timed(camera,
               [&](TrackFrames* frames) { return lane_->StartFollow(frames, to, points, segments, options, result); });
}

absl::Status TrackLane::FinishFollow(int camera, TrackResult* result) {
  return Timed(camera, [&](TrackFrames* frames) { return lane_->FinishFollow(frames, result); });
}

absl::Status TrackLane::StartDetect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                                    Features* features) {
  absl::Status status = lane_->StartRun(options, image, mask, features, &detection_);
  detects_ = status.ok();
  return status;
}

absl::Status TrackLane::FinishDetect() {
  detects_ = false;
  absl::Status status = lane_->FinishRun();
  AddTimes(detection_, stages_);
  return status;
}

TrackLane::~TrackLane() {
  if (detects_) (void)lane_->FinishRun();  // the frame has its error
  for (int c = 0; c < options_->cameras; ++c) {
    TrackedCamera& of = Of(c);
    if (of.frames != nullptr && !lane_->ReleasePixels(of.frames.get()).ok()) of = TrackedCamera();
  }
}

void TrackLane::Keep() {
  for (int c = 0; c < options_->cameras; ++c) Of(c).has_last = true;
}

}  // namespace glint
