// Tracking on a lane.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_WORK_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_WORK_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "decode/pieces.h"
#include "server/operations/track/track_lane.h"
#include "server/operations/track/track_masks.h"
#include "server/operations/track/track_session.h"
#include "server/pixels/image_source.h"
#include "server/schedule/lane_context.h"

namespace glint {

// Cost of tracking a point, in pixels of a detector: about 4 us of a processor's thread.
inline constexpr int64_t kPixelsOfTrack = 4000;
// Stored rows are padded to multiples of this number of pixels.
inline constexpr int64_t kTrackRowUnit = 64;

// State of a TrackStream. Used by one lane at a time.
struct TrackedStream {
  // Valid options. `max_frame_pixels`: limit of all images of a frame, with rows padded to kTrackRowUnit.
  // `stream_masks`: none, or one of each camera; they are copied.
  TrackedStream(const TrackingOptions& options, absl::Span<const ImageSource> stream_masks, const Region& region,
                int64_t max_frame_pixels)
      : session(options), masks(stream_masks, region), max_pixels(max_frame_pixels) {}

  TrackSession session;
  TrackMasks masks;
  const int64_t max_pixels;
  TrackedCameras cameras;
};

// One frame of all cameras.
struct TrackTask {
  int64_t time_ns = 0;  // of capture; 0: unknown
  bool detect = false;
  std::array<ImageSource, kMaxTrackCameras> images;  // one per camera of the stream
  std::array<ImageSource, kMaxTrackCameras> masks;   // likewise; or all of kind kNone: the stream's
  size_t predictions = 0;                            // number in the message
  decode::Pieces message;

  // Results, in the lane's memory.
  const CameraTracks* cameras = nullptr;
  size_t count = 0;
};

// Runs the frame; each image has at most the context's `max_pixels`. The job's track_ns are those of pyramids and
// tracking.
absl::Status RunTrack(const LaneContext& context, TrackedStream* stream, TrackTask* task, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_WORK_H_
