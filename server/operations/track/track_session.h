// Tracks of one stream: live points, their ids, and the decision when to detect new ones. A backend tracks and detects;
// everything else is decided here, so equal backends give equal tracks.
//
// The calls of a frame are Begin(), Start() for each camera, Finish() for each camera in order, then Commit(). The work
// that Start() begins runs concurrently for all cameras. State changes only in Commit(), so a failed frame has no
// effect.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_SESSION_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_SESSION_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/pixels.h"
#include "features/types.h"
#include "server/operations/track/predictions.h"
#include "server/operations/track/track_cells.h"
#include "server/operations/track/tracks.h"

namespace glint {

// Tracker and detector of a session. Keeps TrackingOptions::kept_frames() frames of each camera, numbered from 0.
class TrackBackend {
 public:
  virtual ~TrackBackend() = default;
  // True if the camera's frames are kept; false if they were lost or never set.
  virtual bool HasFrames(int camera) const = 0;
  // Stores `image` as the camera's frame `number`; an image of another shape replaces all frames. `image` must stay
  // valid until the frame has ended. Returns the grey pixels, valid until then.
  virtual absl::StatusOr<ImageView> SetFrame(int camera, int number, const Pixels& image) = 0;
  // Starts tracking points from the frames of `segments` to frame `to`; all have one shape. `points` come without
  // pyramids, which the backend has, and may be freed after the call; `result` is valid after FinishFollow().
  virtual absl::Status StartFollow(int camera, int to, const TrackInput& points,
                                   absl::Span<const TrackSegment> segments, const TrackOptions& options,
                                   TrackResult* result) = 0;
  virtual absl::Status FinishFollow(int camera, TrackResult* result) = 0;
  // Starts detection where `mask` is not 0; an empty mask: everywhere. `features` are valid after FinishDetect(); only
  // one detection runs at a time.
  virtual absl::Status StartDetect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                                   Features* features) = 0;
  virtual absl::Status FinishDetect() = 0;
};

// Scratch memory of a thread that works on frames of any session.
struct TrackScratch {
  // State of a camera from Start() to Finish().
  struct Camera {
    std::vector<uint32_t> order;  // track indices, sorted by the frames of their templates
    TrackResult followed;         // in the order of `order`
    ImageView image, mask;
    TrackState lost = TrackState::kTracked;  // reason to end all tracks; kTracked: none
    bool detects = false;                    // detection started in Start()
    Features found;
  };
  std::array<Camera, kMaxTrackCameras> cameras;
  // Per track: expected positions; then template positions and expected positions in the order of Camera::order.
  std::vector<float> expected_x, expected_y, x, y, to_x, to_y;
  std::vector<uint8_t> occupied;  // cells
  std::vector<uint32_t> best;     // best keypoint of each cell
  Image mask;
  std::vector<uint32_t> order;
  int detecting = -1;  // camera of the running detection; -1: none
};

// Thread-compatible. Frames allocate only beyond twice the target, and beyond the largest number of tracks so far.
class TrackSession {
 public:
  // Valid options.
  explicit TrackSession(const TrackingOptions& options);

  const TrackingOptions& options() const { return options_; }
  // Number of live tracks of all cameras.
  size_t live() const;

  // Begins a frame. `detect`: detect new points where there is room. `predictions` are borrowed until Commit().
  // INVALID_ARGUMENT: a time not above the last frame's; also errors of ValidatePredictions().
  absl::Status Begin(int64_t time_ns, bool detect, absl::Span<const TrackPrediction> predictions,
                     TrackScratch* scratch);
  // Starts work on the camera's image. `mask`, of its shape and borrowed until Finish(): 255 where tracks may begin and
  // live, else 0; empty: everywhere. Errors of the backend.
  absl::Status Start(int camera, const Pixels& image, TrackBackend* backend, TrackScratch* scratch,
                     CameraTracks* tracks, const ImageView& mask = {});
  // Finishes the camera: `tracks` receives its continued, ended and new tracks. Errors of the backend.
  absl::Status Finish(int camera, TrackBackend* backend, TrackScratch* scratch, CameraTracks* tracks);
  // Commits the frame. `tracks`: results of Finish(), options().cameras elements.
  void Commit(const CameraTracks* tracks);

  // Edits, between frames. `changed` receives the tracks that begin or end. On error nothing has changed.

  // Begins tracks at the given points, in pixels. INVALID_ARGUMENT: unknown camera, arrays of different lengths, a
  // point outside the last frame or not finite. FAILED_PRECONDITION: no frame yet. RESOURCE_EXHAUSTED: more than
  // max_tracks.
  absl::Status Add(uint32_t camera, absl::Span<const float> x, absl::Span<const float> y, CameraTracks* changed);
  // Ends tracks by id. `changed`: options().cameras elements. NOT_FOUND: an id without a live track. INVALID_ARGUMENT:
  // a repeated id.
  absl::Status Forget(absl::Span<const uint64_t> ids, CameraTracks* changed);
  // Ends all tracks of a camera. INVALID_ARGUMENT: unknown camera.
  absl::Status Reset(uint32_t camera, CameraTracks* changed);
  // Ends all tracks; capture times may start anew.
  void ResetAll(CameraTracks* changed);

 private:
  struct Camera {
    Shape shape;          // of the last frame; empty: none yet
    bool begins = true;   // the next frame is treated as the first
    int frame = 0;        // number of the last frame
    CameraTracks tracks;  // live tracks
  };
  // The current frame, uncommitted.
  struct Next {
    int64_t time_ns = 0;
    bool detect = false;
    double ratio = 1;  // time since the last frame / time between the last two
    uint64_t next_id = 1;
    size_t live = 0;  // tracks of all cameras, as far as known
    std::array<Shape, kMaxTrackCameras> shapes;
    std::array<int, kMaxTrackCameras> frames = {};  // numbers
    absl::Span<const TrackPrediction> predictions;
  };

  absl::Status CheckCamera(uint32_t camera) const;
  int FreeFrame(const Camera& camera) const;
  void Expect(int camera, const CameraTracks& tracks, TrackScratch* scratch) const;
  absl::Status StartFollow(int camera, TrackBackend* backend, TrackScratch* scratch, const CameraTracks& tracks) const;
  absl::Status FinishFollow(int camera, TrackBackend* backend, TrackScratch* scratch, CameraTracks* tracks) const;
  bool WantsMore(bool begins, size_t live) const;
  // Marks the cells without a live track. False: there are none.
  static bool FindFreeCells(const TrackCells& cells, const CameraTracks& tracks, std::vector<uint8_t>* occupied);
  // Starts detection before tracking has finished, for a camera with at most `live` surviving tracks. No-op if its
  // result might not be used.
  absl::Status StartDetectEarly(int camera, size_t live, TrackBackend* backend, TrackScratch* scratch) const;
  absl::Status StartDetect(const TrackCells& cells, int camera, size_t live, TrackBackend* backend,
                           TrackScratch* scratch) const;
  // Finishes the running detection, of any camera.
  static absl::Status FinishDetect(TrackBackend* backend, TrackScratch* scratch);
  // Begins tracks at detected keypoints: the best of each free cell, best first.
  void BeginTracks(const TrackCells& cells, int camera, size_t live, TrackScratch* scratch, CameraTracks* tracks);
  // Limits templates to options().template_frames frames. `last`: the frame that the tracks are in.
  void LimitTemplates(int last, CameraTracks* tracks) const;

  const TrackingOptions options_;
  std::array<Camera, kMaxTrackCameras> cameras_;
  uint64_t next_id_ = 1;
  int64_t last_time_ns_ = 0, time_before_ns_ = 0;  // of the last two frames; 0: unknown
  Next next_;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_SESSION_H_
