// Worker threads, one per lane: each pops frames from the queue, runs their work on its lane and hands the jobs back.
//
// When a device is lost, the threads of its lanes end and the others go on. The last thread stays and refuses frames
// until the queue is closed.
#ifndef GLINT_SERVER_SCHEDULE_LANE_THREADS_H_
#define GLINT_SERVER_SCHEDULE_LANE_THREADS_H_

#include <atomic>
#include <functional>
#include <future>
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
  // Callbacks, on lanes' threads.
  struct Events {
    std::function<void()> warm;                     // the lane is warm
    std::function<void(int lane, bool busy)> busy;  // the lane has begun (true) or ended a frame
    std::function<void(int lane)> moves;            // the lane has finished a part of a long frame; on any thread
    std::function<void(const FrameJob&)> done;      // a lane has finished the frame; not handed back yet
    std::function<void(const std::string& device, bool warm)> left;  // a lane has left; `warm`: it had been warm
    // A device is lost or failed its warm-up; its lanes leave after this. `last`: no other device is left.
    std::function<void(const absl::Status&, bool last)> lost;
  };

  // `queue` and `lanes` must outlive this object.
  LaneThreads(FrameQueue* queue, LaneSet* lanes, int64_t max_image_pixels, Events events);
  // Makes the threads. RESOURCE_EXHAUSTED: one of them cannot be made.
  absl::Status Make();
  // Once, after Make(): they warm up and take frames.
  void Begin();
  // Waits for the threads: after Begin(), close the queue first.
  ~LaneThreads();
  LaneThreads(const LaneThreads&) = delete;
  LaneThreads& operator=(const LaneThreads&) = delete;

 private:
  struct Device {
    std::string name;
    std::atomic<bool> lost{false};
  };

  void Main(int index);
  void Serve(int index);
  // True if the calling thread must stay.
  bool Lose(Device* device, const absl::Status& why);
  Device* DeviceOf(const Lane& lane);

  FrameQueue* const queue_;
  LaneSet* const lanes_;
  const int64_t max_image_pixels_;
  const Events events_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::mutex lose_mutex_;
  std::promise<bool> begin_;  // false: the threads end at once
  const std::shared_future<bool> begins_ = begin_.get_future().share();
  bool begun_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_LANE_THREADS_H_
