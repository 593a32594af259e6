// Lucas-Kanade tracking of points: streams of the client, opened by Client. Rules and ranges are those of
// features/tracker.h; messages and errors are those of proto/glint/v1/tracking.proto.
//
//   auto stream = client.OpenTrackStream({}, [](const TrackAnswer& answer) { ... answer.cameras[0].x ... });
//   status = (*stream)->Write(1, {image}, time_ns);                // blocks while `in_flight` are unanswered
//   status = (*stream)->Forget(2, {17, 23});
//   status = (*stream)->Finish();
#ifndef GLINT_CLIENT_TRACKING_H_
#define GLINT_CLIENT_TRACKING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/image.h"
#include "client/matching.h"
#include "client/result.h"
#include "features/camera/camera.h"
#include "features/operation_defaults.h"
#include "features/options.h"
#include "features/tracker.h"
#include "features/warning.h"
#include "proto/terms.h"

namespace glint::client {

using glint::TrackState;

struct TrackStreamOptions : PairStreamOptions {
  DetectorOptions detector = DefaultDetector(kTrackDefaults);
  TrackOptions track;
  bool on_request = false;  // detection only at frames that ask for it
  int cameras = 1;          // images per frame, 1..8
  int target = 200;         // tracks per camera
  float min_share = 0.8f;   // detection when fewer than this share of `target` are tracked
  bool predict = false;     // constant-velocity prediction from the last two frames
  // 1..8: the template of a track is its patch in the frame where it began, and so many such frames are kept per
  // camera. 0: its patch in the previous frame.
  int template_frames = 0;
  // Where tracks may begin and live: none, or one of each camera, GRAY8 of its images' size: where it is not 0. For
  // frames without masks of their own. Read by OpenTrackStream() only.
  std::vector<ImageInput> masks;
  Region region;  // likewise, of the images of all cameras
  // None, or one of each camera, of its images' size: answers then have rays. The images are not changed.
  std::vector<Camera> calibrations;
};

// Predicted positions of the tracks of one camera.
struct Prediction {
  int camera = 0;
  // Homography from the last frame to this one, 3x3, row-major; or empty.
  std::vector<float> homography;
  // Predicted positions of single tracks, pixels, instead of the homography's; arrays of one length.
  std::vector<uint64_t> ids;
  std::vector<float> x, y;
};

// Tracks of one camera, ascending by id; arrays of one length. Tracks that ended are reported once more.
struct TrackArrays {
  int camera = 0;
  std::vector<uint64_t> id;
  std::vector<int32_t> age;           // frames in which it was found again
  std::vector<float> x, y;            // pixels
  std::vector<float> last_x, last_y;  // pixels, in the previous frame
  std::vector<TrackState> state;
  std::vector<float> residual, gain, offset;
  std::vector<int32_t> template_age;  // frames since that of its template; empty without template_frames
  Rays rays;                          // what (x, y) sees; empty without calibrations
  bool detected = false;              // new points were looked for

  size_t count() const { return id.size(); }
};

// Answer to one frame or edit. If `status` is not OK, it has no cameras; the stream goes on.
struct TrackAnswer {
  uint64_t frame_id = 0;
  absl::Status status;
  DropReason drop_reason = DropReason::kNone;
  absl::Duration retry_after;

  std::vector<TrackArrays> cameras;  // all of a frame, in order; after an edit those that it changed
  std::vector<Warning> warnings;     // what makes the images doubtful
  Timings timings;
  absl::Duration round_trip;
};
using TrackCallback = std::function<void(const TrackAnswer& answer)>;

// Stream of tracks. Thread-safe apart from destruction; the callback has the rules of ResultCallback.
class TrackStream {
 public:
  ~TrackStream();
  // One image per camera. `time_ns`: capture time of any clock; 0: unknown. `detect`: detect new points.
  // `predictions`: at most one per camera. `masks`: none, or one per camera, in place of the stream's.
  absl::Status Write(uint64_t frame_id, const std::vector<ImageInput>& images, int64_t time_ns = 0, bool detect = false,
                     const std::vector<Prediction>& predictions = {}, const std::vector<ImageInput>& masks = {});
  // Begins tracks at these positions, pixels, of the last frame that was answered without an error.
  absl::Status Add(uint64_t frame_id, int camera, const std::vector<float>& x, const std::vector<float>& y);
  absl::Status Forget(uint64_t frame_id, const std::vector<uint64_t>& ids);
  // Ends all tracks, of one camera or of all.
  absl::Status Reset(uint64_t frame_id, std::optional<int> camera = std::nullopt);
  absl::Status Finish();
  void Cancel();

 private:
  friend class Client;
  struct Impl;
  explicit TrackStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_TRACKING_H_
