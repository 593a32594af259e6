// Context that a lane's thread passes to the work of a job.
#ifndef GLINT_SERVER_SCHEDULE_LANE_CONTEXT_H_
#define GLINT_SERVER_SCHEDULE_LANE_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "decode/decode.h"
#include "lane/lane.h"
#include "server/base/allocations.h"
#include "server/schedule/frame_job.h"

namespace glint {

// Scratch memory of a lane's thread, reused from job to job and found by type. Each type is created once per lane,
// outside the allocation count of the frame path. Thread-compatible.
class LaneScratch {
 public:
  template <typename T>
  T* Of() {
    for (const auto& [type, part] : parts_) {
      if (type == typeid(T)) return static_cast<T*>(part.get());
    }
    const FramePathPause pause;
    parts_.emplace_back(typeid(T), std::make_shared<T>());
    return static_cast<T*>(parts_.back().second.get());
  }

 private:
  std::vector<std::pair<std::type_index, std::shared_ptr<void>>> parts_;
};

// All are borrowed.
struct LaneContext {
  Lane* lane;
  decode::Decoder* decoder;
  LaneScratch* scratch;
  int64_t max_pixels;  // of the images of a job
};

// The work that lanes do for the jobs of a stream or call. Thread-compatible; must be thread-safe if its flow is not
// serial, since jobs then run on several lanes at once.
class LaneWork {
 public:
  virtual ~LaneWork() = default;
  // Runs the job on a lane's thread: fills its payload and times. May throw std::bad_alloc, and std::system_error
  // if a thread cannot be made.
  virtual absl::Status Run(const LaneContext& context, FrameJob* job) = 0;
  // MonotonicNs() until which the job, the first of a serial flow, waits for something that a later message of its
  // stream may bring; past or 0: it may begin. The queue asks, with its lock held, on several threads.
  virtual int64_t WaitsUntil(const FrameJob&) { return 0; }
};

// CANCELLED or DEADLINE_EXCEEDED if no client waits for the frame any more.
absl::Status CheckNotCancelled(FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_LANE_CONTEXT_H_
