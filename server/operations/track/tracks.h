// Options and results of point tracking. Plain values: thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACKS_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "features/options.h"
#include "features/tracker.h"
#include "proto/terms.h"
#include "server/config/track_limits.h"

namespace glint {

// With predictions: how many times the last move a point may be expected to go on.
inline constexpr double kMaxPredictionRatio = 8;
// Frames that are kept as templates.
inline constexpr int kMaxTemplateFrames = 8;
inline constexpr int kDefaultTemplateFrames = 4;  // if there are any
// ... and the last and the next one.
inline constexpr int kMaxKeptFrames = kMaxTemplateFrames + 2;

struct TrackingOptions {
  DetectorOptions detector;  // its cells are those in which tracks begin
  TrackOptions track;
  int cameras = 1;          // images of a frame, 1..kMaxTrackCameras
  int target = 200;         // tracks that each camera is to have, 1..kMaxTrackPoints
  float min_share = 0.8f;   // of `target`: with fewer live tracks new ones are looked for, 0..1
  bool on_request = false;  // ... only where a frame asks for it
  bool predict = false;     // that points move on as between the last two frames
  int max_tracks = 4096;    // of all cameras, live at the same time
  // A point is compared with its patch in the frame where it began; of such frames so many are kept for each camera,
  // 1..kMaxTemplateFrames. 0: with its patch in the frame before.
  int template_frames = 0;

  // Of each camera: the last and the next one, and templates.
  int kept_frames() const { return 2 + template_frames; }
};

// OK if the detector is, or INVALID_ARGUMENT that names the first bad field, its value and its range;
// RESOURCE_EXHAUSTED: all cameras' targets are more than max_tracks.
absl::Status ValidateTrackingOptions(const TrackingOptions& options);

// Where the template of a track is; of use with TrackingOptions::template_frames alone.
struct TrackOrigin {
  float x, y;
  uint32_t age;   // good frames since then
  int32_t frame;  // its number among the camera's kept ones
};

// Tracks of one camera in one frame, as a structure of arrays that ascend by id. Fields are those of
// glint.v1.CameraTracks.
struct CameraTracks {
  std::vector<uint64_t> id;
  std::vector<uint32_t> age;  // frames in which it was found again
  std::vector<float> x, y;    // pixels
  std::vector<float> last_x, last_y;
  std::vector<TrackState> state;
  std::vector<float> residual, gain, offset;
  std::vector<TrackOrigin> origin;  // its age is template_age
  bool detected = false;            // new ones were looked for
  bool has_templates = false;       // whether `origin` is of use

  size_t count() const { return id.size(); }
  bool lives(size_t i) const { return state[i] == TrackState::kTracked; }
  // Allocates only beyond the largest count so far, as the functions below.
  void Resize(size_t count);
  void Clear() {
    Resize(0);
    detected = false;
  }
  // New ones, in kept frame number `frame`, with ids from `first_id` on.
  void Begin(uint64_t first_id, absl::Span<const float> new_x, absl::Span<const float> new_y, int frame);
  // Element `i` of `from`.
  void Append(const CameraTracks& from, size_t i);
  // Those of `from` that live, in place of all.
  void TakeLiving(const CameraTracks& from);
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACKS_H_
