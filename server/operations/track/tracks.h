// Options and results of point tracking. Plain values: thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACKS_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "features/camera/camera.h"
#include "features/options.h"
#include "features/tracker.h"
#include "proto/terms.h"
#include "server/config/track_limits.h"
#include "server/wire/rays.h"

namespace glint {

// Upper bound of the extrapolation factor of the last motion.
inline constexpr double kMaxPredictionRatio = 8;
// Limit and default of template frames.
inline constexpr int kMaxTemplateFrames = 8;
inline constexpr int kDefaultTemplateFrames = 4;  // when templates are used
// Template frames, the last and the next frame.
inline constexpr int kMaxKeptFrames = kMaxTemplateFrames + 2;

struct TrackingOptions {
  DetectorOptions detector;  // its cells are those in which tracks begin
  TrackOptions track;
  int cameras = 1;          // images per frame, 1..kMaxTrackCameras
  int target = 200;         // tracks per camera, 1..kMaxTrackPoints
  float min_share = 0.8f;   // detect when fewer than this share of `target` live, 0..1
  bool on_request = false;  // detect only in frames that request it
  bool predict = false;     // extrapolate the motion between the last two frames
  int max_tracks = 4096;    // live tracks of all cameras
  // Frames kept per camera as templates, 1..kMaxTemplateFrames: a point is compared with its patch in the frame where
  // it began. 0: with its patch in the previous frame.
  int template_frames = 0;
  std::vector<Camera> calibrations;  // none, or a valid one of each camera: its tracks have rays

  // Frames kept per camera: the last and the next one, and templates.
  int kept_frames() const { return 2 + template_frames; }
};

// Checks all options but the detector's, which must be valid. INVALID_ARGUMENT names the first bad field, its value and
// its range; RESOURCE_EXHAUSTED: all cameras' targets exceed max_tracks.
absl::Status ValidateTrackingOptions(const TrackingOptions& options);

// Position of a track's template; used with TrackingOptions::template_frames only.
struct TrackOrigin {
  float x, y;
  uint32_t age;   // successful frames since then
  int32_t frame;  // its number among the camera's kept frames
};

// Tracks of one camera in one frame, as a structure of arrays that ascend by id. Fields are those of
// glint.v1.CameraTracks.
struct CameraTracks {
  std::vector<uint64_t> id;
  std::vector<uint32_t> age;  // frames in which it was tracked
  std::vector<float> x, y;    // pixels
  std::vector<float> last_x, last_y;
  std::vector<TrackState> state;
  std::vector<float> residual, gain, offset;
  std::vector<TrackOrigin> origin;  // origin.age is template_age
  Rays rays;                        // of (x, y), with calibrations, else empty
  bool detected = false;            // detection ran
  bool has_templates = false;       // `origin` is valid

  size_t count() const { return id.size(); }
  bool lives(size_t i) const { return state[i] == TrackState::kTracked; }
  // Allocates only beyond the largest count so far, as the functions below. They leave rays alone.
  void Resize(size_t count);
  void Clear() {
    Resize(0);
    detected = false;
  }
  // Appends new tracks, in kept frame number `frame`, with ids from `first_id` on.
  void Begin(uint64_t first_id, absl::Span<const float> new_x, absl::Span<const float> new_y, int frame);
  // Appends element `i` of `from`.
  void Append(const CameraTracks& from, size_t i);
  // Replaces the content by the live tracks of `from`.
  void TakeLiving(const CameraTracks& from);
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACKS_H_
