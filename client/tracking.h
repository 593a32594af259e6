// Tracking of points by a Glint server. Opened by Client; rules and ranges are those of features/tracker.h, and
// messages and errors those of proto/glint/v1/tracking.proto.
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
#include "features/options.h"
#include "features/tracker.h"
#include "proto/terms.h"

namespace glint::client {

using glint::TrackState;

struct TrackStreamOptions : PairStreamOptions {
  DetectorOptions detector = *PresetOptions("fast_grid");
  TrackOptions track;
  bool on_request = false;  // new points are looked for at frames that ask for it alone
  int cameras = 1;          // images of each frame, 1..8
  int target = 200;         // tracks of each camera
  float min_share = 0.8f;   // of `target`: with fewer, new points are looked for
  bool predict = false;     // that points move on as between the last two frames
  // 1..8: each point is compared with its patch in the frame where it began, and so many such frames of each camera are
  // kept. 0: with its patch in the frame before.
  int template_frames = 0;
};

// Where the points of one camera are expected.
struct Prediction {
  int camera = 0;
  // Of nothing, or 3x3, row by row: from positions in the last frame to those in this one.
  std::vector<float> homography;
  // Positions of single tracks, in place of the homography's; of one length.
  std::vector<uint64_t> ids;
  std::vector<float> x, y;
};

// Tracks of one camera, ascending by id; arrays of one length. Those that ended are here for the last time.
struct TrackArrays {
  int camera = 0;
  std::vector<uint64_t> id;
  std::vector<uint32_t> age;          // frames in which it was found again
  std::vector<float> x, y;            // pixels
  std::vector<float> last_x, last_y;  // in the frame before
  std::vector<TrackState> state;
  std::vector<float> residual, gain, offset;
  std::vector<uint32_t> template_age;  // frames since that of its template; empty without template_frames
  bool detected = false;               // new points were looked for

  size_t count() const { return id.size(); }
};

// The answer to one frame or edit. Without OK it failed, and has no cameras; the stream lives on.
struct TrackAnswer {
  uint64_t frame_id = 0;
  absl::Status status;
  DropReason drop_reason = DropReason::kNone;
  absl::Duration retry_after;

  std::vector<TrackArrays> cameras;  // of a frame all, in order; of an edit those that it changed
  int64_t track_ns = 0;              // pyramids and following
  Timings timings;
  absl::Duration round_trip;
};
using TrackCallback = std::function<void(const TrackAnswer& answer)>;

// As DetectStream: thread-safe apart from destruction; the callback as ResultCallback.
class TrackStream {
 public:
  ~TrackStream();
  // One image of each camera. `time_ns`: of capture, by any clock; 0: unknown. `detect`: look for new points.
  // `predictions`: of each camera at most one.
  absl::Status Write(uint64_t frame_id, const std::vector<ImageInput>& images, int64_t time_ns = 0, bool detect = false,
                     const std::vector<Prediction>& predictions = {});
  // Tracks begin at these positions in the last frame that was answered without an error.
  absl::Status Add(uint64_t frame_id, int camera, const std::vector<float>& x, const std::vector<float>& y);
  absl::Status Forget(uint64_t frame_id, const std::vector<uint64_t>& ids);
  // All tracks end, of one camera or of all.
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
