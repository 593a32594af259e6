// A lane's part of a frame of tracked points.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_WORK_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_WORK_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "decode/pieces.h"
#include "server/operations/track/track_lane.h"
#include "server/operations/track/track_session.h"
#include "server/pixels/image_source.h"
#include "server/schedule/lane_context.h"

namespace glint {

// What following a point costs, as pixels of a detector: some 4 us of a processor's thread.
inline constexpr int64_t kPixelsOfTrack = 4000;
// Rows of images in memory are multiples of so many pixels.
inline constexpr int64_t kTrackRowUnit = 64;

// What a TrackStream keeps from frame to frame. One lane at a time has it.
struct TrackedStream {
  // Valid options. `max_pixels`: of the images of a frame together, with rows in units of kTrackRowUnit.
  TrackedStream(const TrackingOptions& options, int64_t max_frame_pixels)
      : session(options), max_pixels(max_frame_pixels) {}

  TrackSession session;
  const int64_t max_pixels;
  TrackedCameras cameras;
};

// A frame of all cameras.
struct TrackTask {
  int64_t time_ns = 0;  // of capture; 0: unknown
  bool detect = false;
  std::array<ImageSource, kMaxTrackCameras> images;  // as many as the stream has cameras
  size_t predictions = 0;                            // in the message
  decode::Pieces message;

  // What was found, in memory of the lane.
  const CameraTracks* cameras = nullptr;
  size_t count = 0;
};

// Each image has up to the context's `max_pixels`. The job's track_ns are those of pyramids and following.
absl::Status RunTrack(const LaneContext& context, TrackedStream* stream, TrackTask* task, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_WORK_H_
