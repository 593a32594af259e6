// What the thread of a lane hands to the work of a job.
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
#include "server/schedule/frame_queue.h"

namespace glint {

// Memory of a lane's thread that work reuses from job to job, by type: whoever works decides what it has. Each part is
// made once for each lane, outside the count of the frame path. Thread-compatible.
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
  FrameQueue* queue;
  int64_t max_pixels;  // of the images of a job
};

// What lanes do with the jobs of a stream or call. Thread-compatible, but for one that says so: jobs of a flow that is
// not serial run on several lanes at once.
class LaneWork {
 public:
  virtual ~LaneWork() = default;
  // On a lane's thread. Fills the job's payload and times. May throw std::bad_alloc.
  virtual absl::Status Run(const LaneContext& context, FrameJob* job) = 0;
};

// CANCELLED or DEADLINE_EXCEEDED if nobody waits for the frame any more.
absl::Status CheckNotCancelled(FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_LANE_CONTEXT_H_
