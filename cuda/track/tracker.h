// The CUDA backend of tracking: one tracker with its stream and its memory, in which the pyramids of some frames stay
// on the device. Equal to reference::Track on pyramids of reference::HalveForTracking, element for element. A build
// without CUDA has the same functions; Create() then returns an error that says so.
//
// Thread-compatible: one call at a time per Tracker; Trackers share nothing. Create() takes all memory that calls need,
// so that no call allocates but for the largest result.
#ifndef GLINT_CUDA_TRACK_TRACKER_H_
#define GLINT_CUDA_TRACK_TRACKER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/tracker.h"
#include "features/types.h"

namespace glint::cuda {

// Bytes of device memory: 4/3 of max_shape for each frame; pinned: max_shape, and 48 for each point.
struct TrackerOptions {
  int device = 0;                  // CUDA ordinal
  int max_points = 4096;           // 1..kMaxTrackPoints
  Shape max_shape = {1920, 1080};  // sides 1..kMaxImageSide
  int frames = 2;                  // 2..kMaxTrackerFrames: pyramids that are kept
  int levels = kMaxTrackLevels;    // 1..kMaxTrackLevels: of these pyramids, the most that calls may ask for
  int sm_limit = 0;                // run on this many multiprocessors (a green context; CUDA 12.5+); 0 = all
};
inline constexpr int kMaxTrackerFrames = 16;

// Points, as in TrackInput, from one frame to another.
struct FramePoints {
  int from = 0;
  int to = 1;
  int count = 0;
  const float* x = nullptr;
  const float* y = nullptr;
  const float* to_x = nullptr;
  const float* to_y = nullptr;
};

class Tracker {
 public:
  // INVALID_ARGUMENT: a maximum out of its range. FAILED_PRECONDITION: built without CUDA, no driver, no such device.
  // RESOURCE_EXHAUSTED: out of device or pinned memory.
  static absl::StatusOr<std::unique_ptr<Tracker>> Create(const TrackerOptions& options);
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Copies an image to the device and makes its pyramid, in place of what frame number `frame` was.
  // INVALID_ARGUMENT: no such frame, or an image that is empty or beyond max_shape.
  absl::Status SetFrame(int frame, const ImageView& image);
  // The same in two steps, for pixels that are to be written straight to where the device takes them: `shape.width`
  // pixels of each row, row after row. They stay there until the next BeginFrame(). EndFrame() does not wait: it
  // returns before the device has them, and its failure may become known later, by an error of Start() or Finish().
  absl::StatusOr<uint8_t*> BeginFrame(int frame, Shape shape);
  absl::Status EndFrame();

  // SetFrame() of pixels in page-locked memory, from where the device takes them; they stay as they are until
  // Release(). False: they lie elsewhere, and nothing was done.
  absl::StatusOr<bool> LendFrame(int frame, const ImageView& image);
  // SetFrame() of an image that the device has, finished, at the view's address; it stays as it is until Release().
  absl::Status CopyFrame(int frame, const ImageView& on_device);
  // Until the device has taken what was lent or copied. Does not wait after Finish().
  absl::Status Release();

  // Points from frame `from` to frame `to`. `options` must be valid (ValidateTrackOptions), and the points finite and
  // within +-kMaxTrackCoordinate. INVALID_ARGUMENT: frames that are not set or of two sizes, more points than
  // max_points, or more levels than TrackerOptions::levels. After an error the result is empty. After INTERNAL from a
  // lost device this process can use the device no more.
  absl::Status Track(const FramePoints& points, const TrackOptions& options, TrackResult* result);

  // The same in two steps, from several frames: points of `segments`, one after the other, to frame `to`. Start() does
  // not wait, so that several trackers use the device at the same time; `points` (without pyramids) may be gone after
  // it. Arguments and errors as Track(). Finish(), once after each Start(): its result, in the order of the points.
  absl::Status Start(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                     const TrackOptions& options);
  absl::Status Finish(TrackResult* result);

  // Time of tracking on the device, microseconds: the mean over `launches` launches, one after another, of points that
  // are there already. Arguments and errors as Track().
  absl::StatusOr<float> TimeOnDevice(const FramePoints& points, const TrackOptions& options, int launches);

 private:
  friend class TrackerFactory;  // tests make trackers over a runtime of their own
  struct Impl;
  explicit Tracker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_TRACKER_H_
