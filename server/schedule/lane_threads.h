// The threads that work: one per lane, each takes the next frame from the queue, decodes it, runs its lane and hands
// the features back.
#ifndef GLINT_SERVER_SCHEDULE_LANE_THREADS_H_
#define GLINT_SERVER_SCHEDULE_LANE_THREADS_H_

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/lane/lane.h"
#include "server/schedule/frame_queue.h"

namespace glint {

class LaneThreads {
 public:
  // Called on lanes' threads.
  struct Events {
    std::function<void()> warm;                       // this lane's warm-up frame has passed
    std::function<void(const absl::Status&)> failed;  // warm-up failed, or the device is lost
    std::function<void(bool)> busy;                   // a lane has begun (true) or ended a frame
  };

  // `queue` and `lanes` must outlive this object; the threads start here.
  LaneThreads(FrameQueue* queue, LaneSet* lanes, int64_t max_image_pixels, Events events);
  // Waits for the threads: close the queue first.
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

 private:
  void Main(int index);

  FrameQueue* const queue_;
  LaneSet* const lanes_;
  const int64_t max_image_pixels_;
  const Events events_;
  std::vector<std::thread> threads_;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_LANE_THREADS_H_
