// The tracks of one stream: live points, their ids, and the decision when to detect new ones. A backend follows and
// detects; everything else is decided here, so equal backends give equal tracks.
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

// Keeps TrackingOptions::kept_frames() frames of each camera, which have numbers from 0 on.
class TrackBackend {
 public:
  virtual ~TrackBackend() = default;
  // False if the camera's frames were lost, or never were.
  virtual bool HasFrames(int camera) const = 0;
  // Makes `image` the camera's frame `number`; one of another shape than the others replaces them all. `image` stays
  // until the frame has ended. Where its grey pixels lie until then.
  virtual absl::StatusOr<ImageView> SetFrame(int camera, int number, const Pixels& image) = 0;
  // Begins to follow points from the frames of `segments` to frame `to`; all have one shape. `points` are without
  // pyramids: the backend has these. They may be gone after the call; `result` is there after FinishFollow().
  virtual absl::Status StartFollow(int camera, int to, const TrackInput& points,
                                   absl::Span<const TrackSegment> segments, const TrackOptions& options,
                                   TrackResult* result) = 0;
  virtual absl::Status FinishFollow(int camera, TrackResult* result) = 0;
  // Begins to find keypoints where `mask` is not 0; an empty mask: everywhere. `features` are there after
  // FinishDetect(), and until then no other detection begins.
  virtual absl::Status StartDetect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                                   Features* features) = 0;
  virtual absl::Status FinishDetect() = 0;
};

// Memory of a thread that works on frames of any session.
struct TrackScratch {
  // Of a camera, from Start() to Finish().
  struct Camera {
    std::vector<uint32_t> order;  // of its tracks, by the frames of their templates
    TrackResult followed;         // in this order
    ImageView image;
    TrackState lost = TrackState::kTracked;  // why all tracks end; kTracked: they need not
    bool detects = false;                    // detection began with the frame
    Features found;
  };
  std::array<Camera, kMaxTrackCameras> cameras;
  // Of tracks: where they are expected; and the same, with their templates, in order.
  std::vector<float> expected_x, expected_y, x, y, to_x, to_y;
  std::vector<uint8_t> occupied;  // cells
  std::vector<uint32_t> best;     // keypoints of cells
  Image mask;
  std::vector<uint32_t> order;
  int detecting = -1;  // the camera whose detection is under way, if there is one
};

// Thread-compatible. Frames allocate only beyond twice the target, and beyond the largest number of tracks so far.
class TrackSession {
 public:
  // Valid options.
  explicit TrackSession(const TrackingOptions& options);

  const TrackingOptions& options() const { return options_; }
  // Tracks of all cameras.
  size_t live() const;

  // `detect`: look for new points where there is room. `predictions` are borrowed until Commit(). INVALID_ARGUMENT: a
  // time that is not above the last frame's; also errors of ValidatePredictions().
  absl::Status Begin(int64_t time_ns, bool detect, absl::Span<const TrackPrediction> predictions,
                     TrackScratch* scratch);
  // Takes the camera's image. Errors of the backend.
  absl::Status Start(int camera, const Pixels& image, TrackBackend* backend, TrackScratch* scratch,
                     CameraTracks* tracks);
  // What becomes of the camera's tracks, and those that begin. Errors of the backend.
  absl::Status Finish(int camera, TrackBackend* backend, TrackScratch* scratch, CameraTracks* tracks);
  // `tracks`: options().cameras of them, as Finish() made them.
  void Commit(const CameraTracks* tracks);

  // Edits, between frames; the tracks that they begin or end are in `changed`. On error nothing has changed.

  // INVALID_ARGUMENT: no such camera, arrays of two lengths, a point outside the last frame or not finite.
  // FAILED_PRECONDITION: there was no frame. RESOURCE_EXHAUSTED: more than max_tracks.
  absl::Status Add(uint32_t camera, absl::Span<const float> x, absl::Span<const float> y, CameraTracks* changed);
  // `changed`: options().cameras of them. NOT_FOUND: an id that no live track has. INVALID_ARGUMENT: one is there
  // twice.
  absl::Status Forget(absl::Span<const uint64_t> ids, CameraTracks* changed);
  // The same of all tracks of a camera. INVALID_ARGUMENT: no such camera.
  absl::Status Reset(uint32_t camera, CameraTracks* changed);
  // Times may begin anew, too.
  void ResetAll(CameraTracks* changed);

 private:
  struct Camera {
    Shape shape;          // of the last frame; empty: there was none
    bool begins = true;   // its next frame is as its first
    int frame = 0;        // number of the last one
    CameraTracks tracks;  // live ones
  };
  // The frame that is being worked on.
  struct Next {
    int64_t time_ns = 0;
    bool detect = false;
    double ratio = 1;  // of the time since the last frame and that before it
    uint64_t next_id = 1;
    size_t live = 0;  // tracks of all cameras, as far as it is known by now
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
  // False: a live track is in every cell.
  static bool FindFreeCells(const TrackCells& cells, const CameraTracks& tracks, std::vector<uint8_t>* occupied);
  // For a camera of whose tracks at most `live` live on. Does nothing where that can't be known to serve.
  absl::Status StartDetectEarly(int camera, size_t live, TrackBackend* backend, TrackScratch* scratch) const;
  absl::Status StartDetect(const TrackCells& cells, int camera, size_t live, TrackBackend* backend,
                           TrackScratch* scratch) const;
  // Of whichever camera it is under way.
  static absl::Status FinishDetect(TrackBackend* backend, TrackScratch* scratch);
  // From what was detected: the best of each free cell, the best first.
  void BeginTracks(const TrackCells& cells, int camera, size_t live, TrackScratch* scratch, CameraTracks* tracks);
  // So that templates lie in no more than options().template_frames frames. The tracks are in frame `last`.
  void LimitTemplates(int last, CameraTracks* tracks) const;

  const TrackingOptions options_;
  std::array<Camera, kMaxTrackCameras> cameras_;
  uint64_t next_id_ = 1;
  int64_t last_time_ns_ = 0, time_before_ns_ = 0;  // of the last frame and of the one before; 0: unknown
  Next next_;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_SESSION_H_
