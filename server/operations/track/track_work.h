// A lane's part of a frame of tracked points.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_WORK_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_WORK_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "decode/decode.h"
#include "lane/lane.h"
#include "server/operations/track/track_lane.h"
#include "server/operations/track/track_session.h"
#include "server/pixels/job_pixels.h"
#include "server/schedule/frame_queue.h"

namespace glint {

// What following a point costs, as pixels of a detector: some 4 us of a processor's thread.
inline constexpr int64_t kPixelsOfTrack = 4000;
// Rows of images in memory are multiples of so many pixels.
inline constexpr int64_t kTrackRowUnit = 64;

// What a TrackStream keeps from frame to frame. One lane at a time has it (FrameFlow::MakeSerial()).
struct TrackedStream {
  // Valid options. `max_pixels`: of the images of a frame together, with rows in units of kTrackRowUnit.
  TrackedStream(const TrackingOptions& options, int64_t max_frame_pixels)
      : session(options), max_pixels(max_frame_pixels) {}

  TrackSession session;
  const int64_t max_pixels;
  TrackedCameras cameras;
};

// What a lane's thread reuses from frame to frame.
struct TrackWorkScratch {
  TrackScratch session;
  TrackPredictions predictions;
  std::array<CameraTracks, kMaxTrackCameras> found;
};

// Runs a job of Work::kTrack; job->tracked is set if the result is OK. Each image has up to `max_pixels`. `pixels` and
// `decoder` as for PixelsOf().
absl::Status RunTrack(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder, PixelScratch* pixels,
                      TrackWorkScratch* scratch, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_WORK_H_
