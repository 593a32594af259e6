// The threads that work: one per lane, each takes the next frame from the queue, decodes it, runs its lane and hands
// the features back.
//
// When a device is lost, its lanes leave and the others go on. When the last one is, a thread stays to refuse what
// comes, until the queue is closed.
#ifndef GLINT_SERVER_SCHEDULE_LANE_THREADS_H_
#define GLINT_SERVER_SCHEDULE_LANE_THREADS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "lane/lane.h"
#include "server/schedule/frame_queue.h"

namespace glint {

class LaneThreads {
 public:
  // Called on lanes' threads.
  struct Events {
    std::function<void()> warm;                     // this lane's warm-up frame has passed
    std::function<void(int lane, bool busy)> busy;  // the lane has begun (true) or ended a frame
    std::function<void(const FrameJob&)> done;      // a lane has ended this frame, which is not handed back yet
    std::function<void(const std::string& device, bool warm)> left;  // a lane of it has; `warm` has been called
    // A device is lost, or its warm-up failed; after that its lanes leave. `last`: no other is left.
    std::function<void(const absl::Status&, bool last)> lost;
  };

  // `queue` and `lanes` must outlive this object; the threads start here.
  LaneThreads(FrameQueue* queue, LaneSet* lanes, int64_t max_image_pixels, Events events);
  // Waits for the threads: close the queue first.
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

 private:
  struct Device {
    std::string name;
    std::atomic<bool> lost{false};
  };

  void Main(int index);
  // True if the caller's thread is the one that has to stay.
  bool Lose(Device* device, const absl::Status& why);
  Device* DeviceOf(const Lane& lane);

  FrameQueue* const queue_;
  LaneSet* const lanes_;
  const int64_t max_image_pixels_;
  const Events events_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::mutex lose_mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_LANE_THREADS_H_
