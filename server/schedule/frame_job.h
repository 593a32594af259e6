// One frame on its way from a client to a lane and back.
#ifndef GLINT_SERVER_SCHEDULE_FRAME_JOB_H_
#define GLINT_SERVER_SCHEDULE_FRAME_JOB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "features/types.h"
#include "features/warning.h"
#include "proto/terms.h"
#include "server/base/clock.h"

namespace glint {

struct FrameJob;
class FrameFlow;
class LaneWork;

inline constexpr int kDropReasonCount = 4;  // number of DropReason values

// Stage times of one frame, in nanoseconds. `stages` is the detector's part of the time on a lane; the times of other
// operations follow.
struct FrameTimes {
  int64_t received_at = 0;  // MonotonicNs() when parsing began
  int64_t queued_at = 0;    // MonotonicNs() when it was submitted
  int64_t receive_ns = 0;
  int64_t queue_ns = 0;
  int64_t decode_ns = 0;  // of encoded images
  StageTimes stages;
  int64_t match_ns = 0;      // of descriptors, or of the images of a pair
  int64_t track_ns = 0;      // pyramids and point tracking
  int64_t locate_ns = 0;     // matching with the map, and the pose
  int64_t adjust_ns = 0;     // other work on the map
  int64_t done_at = 0;       // MonotonicNs() when its lane had finished; 0: not yet
  int64_t serialize_ns = 0;  // serialization of the reply
  int64_t order_ns = 0;      // wait for the replies before it
};

// The submitter of a job, which gets it back exactly once.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // A job that waited for room was admitted to the queue. Called on a lane's thread, before OnFrameDone() for this job.
  virtual void OnFrameAdmitted(FrameJob* job) = 0;
  // A lane has run the job, with `job->status`. If OK, the results in the payload belong to the lane and are valid
  // during this call only, which is charged like the rest of the job's time. Called on a lane's thread.
  virtual void OnFrameRun(FrameJob*) {}
  // The job is done. Called on a lane's thread, after OnFrameRun().
  virtual void OnFrameDone(FrameJob* job) = 0;
};

// Input and results of a job's work. Pooled with the job, so that memory is reused.
class Payload {
 public:
  virtual ~Payload() = default;
  // Resets to the initial state, but may keep memory.
  virtual void Reset() = 0;
};

// Request. Lanes and the queue only read it.
struct FrameRequest {
  FrameSink* sink = nullptr;
  LaneWork* work = nullptr;  // what a lane does
  Payload* payload = nullptr;
  uint64_t id = 0;            // the client's
  size_t kind = 0;            // of work: times on lanes are remembered for each, and for its edits
  bool is_edit = false;       // edits its stream's state, once the frames before it are answered
  bool lets_pass = false;     // an edit whose message is read already: those after it do not wait for it
  int64_t pixels = 0;         // nominal cost, in pixels of a detector; >= 0; of encoded images a guess
  int64_t bytes = 0;          // of the message that the job keeps in memory
  int64_t expires_at_ns = 0;  // MonotonicNs() after which lanes skip it; 0: never

  bool Expired(int64_t now) const { return expires_at_ns != 0 && now >= expires_at_ns; }
};

// Result. Written by the current owner: submitter, queue, lane.
struct FrameResult {
  absl::Status status;
  DropReason drop = DropReason::kNone;  // else `status` is not OK
  int64_t retry_after_ns = 0;           // of kRejected: earliest useful retry
  FrameTimes times;
  int queue_depth = 0;              // length of the queue when this job entered it
  int64_t copied_bytes = 0;         // bytes of raw pixels copied for the lane
  int64_t jpegs = 0;                // files that the CPU decoded
  std::optional<size_t> keypoints;  // detected; nullopt: no detection
  std::vector<Warning> warnings;    // of its images and mask
  int lane = 0;
  const std::string* device = nullptr;  // the lane's; null if no lane has run this job
};

struct FrameJob : FrameRequest, FrameResult {
  // Set by the submitter at any time: a lane that has not begun the job, or comes to a checkpoint of it, returns it as
  // CANCELLED.
  std::atomic<bool> cancelled{false};

  // State of Session.
  struct {
    bool done = false;  // OnFrameDone() was called, or the job never went to a lane
    bool live = false;
  } in_session;

  // State of FrameQueue.
  struct {
    FrameFlow* flow = nullptr;
    FrameJob* next = nullptr;
    bool reserved = false;    // its bytes are the reserve's
    int64_t expected_ns = 0;  // on a lane: when it entered the queue, or when it was popped
  } in_queue;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_FRAME_JOB_H_
