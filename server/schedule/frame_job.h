// One frame on its way from a client to a lane and back.
#ifndef GLINT_SERVER_SCHEDULE_FRAME_JOB_H_
#define GLINT_SERVER_SCHEDULE_FRAME_JOB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "features/types.h"
#include "proto/terms.h"
#include "server/base/clock.h"

namespace glint {

struct FrameJob;
class FrameFlow;
class LaneWork;

inline constexpr int kDropReasonCount = 4;  // of DropReason

// Where the time of one frame went, in nanoseconds. `stages` is the detector's part of the time on a lane; what an
// operation does besides follows.
struct FrameTimes {
  int64_t received_at = 0;  // MonotonicNs() when parsing began
  int64_t queued_at = 0;    // ... when it was submitted
  int64_t receive_ns = 0;
  int64_t queue_ns = 0;
  int64_t decode_ns = 0;  // of encoded pictures
  StageTimes stages;
  int64_t match_ns = 0;      // of descriptors, or of the images of a pair
  int64_t track_ns = 0;      // pyramids, and points
  int64_t locate_ns = 0;     // matches with the map, and the pose
  int64_t adjust_ns = 0;     // the rest of what is done with the map
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
  // `job->status` says how it went. If OK, what its work left in the payload is the lane's and only valid during the
  // call. On a lane's thread.
  virtual void OnFrameDone(FrameJob* job) = 0;
};

// What the work of a job is asked and what it found. Kept with the job's memory and used again.
class Payload {
 public:
  virtual ~Payload() = default;
  // As new, but for memory that is worth keeping.
  virtual void Reset() = 0;
};

// What the submitter asks for. Lanes and the queue only read it.
struct FrameRequest {
  FrameSink* sink = nullptr;
  LaneWork* work = nullptr;  // what a lane does
  Payload* payload = nullptr;
  uint64_t id = 0;            // the client's
  bool is_edit = false;       // of what its stream keeps: in turn, once the frames before it are answered
  int64_t pixels = 0;         // of the images, and for other work; of an encoded one a guess, until it has been decoded
  int64_t bytes = 0;          // of the message that holds the pixels: what the job keeps from being freed
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
  int64_t jpegs = 0;         // files that the CPU decoded
  std::optional<size_t> keypoints;  // that were detected; none: nothing was looked for
  int lane = 0;
  const std::string* device = nullptr;  // the lane's; null if no lane has run this job
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

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_FRAME_JOB_H_
