// One frame on its way from a client to a lane and back.
#ifndef GLINT_SERVER_SCHEDULE_FRAME_JOB_H_
#define GLINT_SERVER_SCHEDULE_FRAME_JOB_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "decode/decode.h"
#include "decode/pieces.h"
#include "features/depth.h"
#include "features/options.h"
#include "features/types.h"
#include "lane/lane.h"
#include "proto/terms.h"
#include "server/base/clock.h"
#include "server/operations/localize/localization.h"
#include "server/operations/match/pair.h"
#include "server/operations/track/predictions.h"
#include "server/operations/track/tracks.h"

namespace glint {

struct FrameJob;
class FrameFlow;
class StreamMask;
struct TrackedStream;

// Pixels as a client sent them, borrowed like the array of their pieces. A raw source was inspected; an encoded one has
// yet to be.
struct ImageSource {
  enum class Kind { kNone, kRaw, kEncoded };
  Kind kind = Kind::kNone;
  decode::RawPlan raw;
  decode::Encoding encoding = decode::Encoding::kDetect;
  decode::Pieces bytes;
};

inline constexpr int kDropReasonCount = 4;  // of DropReason

// The part of an image to work on, as a client asked for it: nothing in it is trusted.
struct Region {
  bool wanted = false;  // else the whole image
  uint32_t x = 0, y = 0, width = 0, height = 0;
};

// Where the time of one frame went, in nanoseconds. `stages` is the lane's part.
struct FrameTimes {
  int64_t received_at = 0;  // MonotonicNs() when parsing began
  int64_t queued_at = 0;    // ... when it was submitted
  int64_t receive_ns = 0;
  int64_t queue_ns = 0;
  int64_t decode_ns = 0;  // of encoded pictures
  StageTimes stages;
  int64_t match_ns = 0;      // of descriptors, after detection
  int64_t track_ns = 0;      // pyramids and following, before detection
  int64_t locate_ns = 0;     // the pose of a localized pair, after matching
  int64_t adjust_ns = 0;     // its keyframe, after that; or what was done with a map
  int64_t done_at = 0;       // MonotonicNs() when its lane had ended it; 0: none has
  int64_t serialize_ns = 0;  // features into the reply
  int64_t order_ns = 0;      // waiting for the replies before it
};

// Who submitted a job, and gets it back exactly once.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // The job, which waited for room in the queue, has got it. On a lane's thread, before OnFrameDone() for this job.
  virtual void OnFrameAdmitted(FrameJob* job) = 0;
  // `job->status` says how it went. If OK, `features` are the lane's and only valid during the call; otherwise empty.
  // On a lane's thread.
  virtual void OnFrameDone(FrameJob* job, const Features& features) = 0;
};

// Predictions that lie in a message, which a lane unpacks into memory of its own.
class PackedPredictions {
 public:
  virtual ~PackedPredictions() = default;
  virtual void Unpack(TrackPredictions* predictions) const = 0;
};

// Of Work::kTrack: a frame of all cameras.
struct TrackRequest {
  TrackedStream* stream = nullptr;
  int64_t time_ns = 0;  // of capture; 0: unknown
  bool detect = false;
  std::array<ImageSource, kMaxTrackCameras> images;  // as many as the stream has cameras
  size_t predictions = 0;
  const PackedPredictions* packed = nullptr;  // these
};

// What a lane found of the tracks, a camera each.
struct TracksFound {
  const CameraTracks* cameras = nullptr;
  int count = 0;
};

// Of Work::kLocalize and kMap.
struct LocalizeRequest {
  enum class Wanted { kTrack, kRelocalize, kRead, kSave, kLoad };
  Localization* stream = nullptr;
  Wanted wanted = Wanted::kTrack;
  int64_t time_ns = 0;               // of capture
  bool side_by_side = false;         // the left image has both eyes
  std::optional<DepthSensor> depth;  // the second image has depths, of the camera's shape
  Shape camera;
  MapPosition from;  // of kRead
  std::string file;  // of kSave and kLoad
};

// What a lane found of the stream's camera and its map.
struct LocalizeFound {
  const Location* location = nullptr;  // of a pair
  const MapPart* part = nullptr;       // of kRead
  MapSize size;
};

// How a frame's JPEG files were decoded.
struct JpegsDecoded {
  int64_t by_gpu = 0, by_cpu = 0;
  JpegFallback fallback = JpegFallback::kNone;  // why its image was not decoded by the GPU that the lane has
};

// What the submitter asks for. Lanes and the queue only read it.
struct FrameRequest {
  FrameSink* sink = nullptr;
  Work work = Work::kDetect;
  DetectorOptions options;  // valid
  ImageSource image;
  // Work::kMatch: the train image; kStereo, kLocalize: the right eye, unless side by side; kLocalize: or depths.
  ImageSource second;
  MatchRequest match;
  StereoRequest stereo;
  TrackRequest track;
  LocalizeRequest localize;
  ImageSource mask;                   // or
  StreamMask* stream_mask = nullptr;  // shared by the frames of a stream; may be null
  Region region;
  int64_t pixels = 0;  // of the images, and for the matching; of an encoded one a guess, until it has been decoded
  int64_t bytes = 0;   // of the message that holds the pixels: what the job keeps from being freed
  int64_t expires_at_ns = 0;  // MonotonicNs() from which on no lane need begin; 0: never

  bool Expired(int64_t now) const { return expires_at_ns != 0 && now >= expires_at_ns; }
};

// What became of it. Written by whoever has the job: the submitter until it is pushed, the queue, its lane.
struct FrameResult {
  absl::Status status;
  DropReason drop = DropReason::kNone;  // else `status` is not OK
  int64_t retry_after_ns = 0;           // of kRejected: when trying again makes sense
  FrameTimes times;
  int queue_depth = 0;       // frames that waited when this one joined them
  int64_t copied_bytes = 0;  // of raw pixels, read from where they came in and written to where a lane needs them
  JpegsDecoded jpegs;
  int lane = 0;
  const std::string* device = nullptr;  // the lane's; null if no lane has run this job
  PairFound found;                      // as long as the features that FrameSink::OnFrameDone() has
  TracksFound tracked;                  // likewise
  LocalizeFound located;                // likewise
};

struct FrameJob : FrameRequest, FrameResult {
  // Set by the submitter at any time: a lane that has not begun returns the job as CANCELLED.
  std::atomic<bool> cancelled{false};

  // Session's.
  struct {
    bool done = false;  // OnFrameDone() has been, or the job never went to a lane
    bool live = false;
  } in_session;

  // FrameQueue's.
  struct {
    FrameFlow* flow = nullptr;
    FrameJob* next = nullptr;
    int64_t cost = 0;  // pixels that its flow was charged
  } in_queue;
};

// Pixels that a frame's stream is charged with before its picture has been decoded: files have about a bit per pixel.
inline int64_t ExpectedPixels(const ImageSource& image, const Region& region, int64_t message_bytes) {
  if (image.kind == ImageSource::Kind::kRaw && region.wanted) {
    const Shape& whole = image.raw.shape;
    return std::max<int64_t>(
        1, std::min<int64_t>(region.width, whole.width) * std::min<int64_t>(region.height, whole.height));
  }
  return image.kind == ImageSource::Kind::kRaw ? image.raw.shape.pixels() : 8 * message_bytes;
}

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_FRAME_JOB_H_
