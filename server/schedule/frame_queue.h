// Queue of frames that wait for a lane: bounded in frames and bytes, and fair between clients, then between the streams
// of a client.
//
// Every stream is a flow with a first-in, first-out list, and the flows of one client are a group. Groups take turns by
// deficit round robin, and so do the flows of a group when its turn has come: at each turn one is credited
// kQuantumPixels, and its frames are popped while the credit covers their pixels. So while several clients have frames
// waiting, each gets the same share of pixels, independent of image size and number of streams.
//
// Lanes do not preempt frames, so fairness alone would let a small frame find all lanes busy with large ones. Therefore
// the last idle lane is reserved: it takes no frame that is much larger than frames that kept arriving during the past
// second.
//
// A frame wakes the lane that had the stream's last frame, or else the lane that became idle last (IdleLanes): its
// caches are warm. Which frame a woken lane gets is decided when it pops.
//
// While a frame waits for room, no later frame enters the queue, however small. The next frame admitted is the first of
// the group with the fewest pixels in the queue and, among equal ones, with the longest wait; otherwise many streams
// could fill the queue.
#ifndef GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_
#define GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>

#include "server/schedule/frame_job.h"
#include "server/schedule/idle_lanes.h"
#include "server/schedule/recent_costs.h"
#include "server/schedule/round_robin.h"

namespace glint {

// First-in, first-out list through FrameJob::in_queue.next. Owns nothing.
class FrameList {
 public:
  bool empty() const { return head_ == nullptr; }
  FrameJob* front() const { return head_; }
  void PushBack(FrameJob* job);
  FrameJob* PopFront();
  // Removes `job`; false if it is not in the list.
  bool Remove(FrameJob* job);
  // Replaces `old`, which must be in the list, by `job`.
  void Replace(FrameJob* old, FrameJob* job);

 private:
  FrameJob* head_ = nullptr;
  FrameJob* tail_ = nullptr;
};

// Credit of one turn, and the minimum cost of a frame: a 640x480 image. Flows of such frames take one each in turn.
inline constexpr int64_t kQuantumPixels = 640 * 480;

// The flows of one client. Must outlive them; as FrameFlow otherwise.
class FlowGroup {
 public:
  FlowGroup() = default;
  FlowGroup(const FlowGroup&) = delete;
  FlowGroup& operator=(const FlowGroup&) = delete;

 private:
  friend class FrameQueue;
  friend class Round<FlowGroup, kQuantumPixels>;
  Round<FrameFlow, kQuantumPixels> flows_;  // that have jobs
  int64_t pixels_ = 0;                      // of these jobs
  int64_t entry_ = 0;                       // the number of its last job that came into the queue; 0: none has
  Turn<FlowGroup> turn_;
};

// State of one stream in a queue. Must be empty when destroyed; owned by the queue while it is not empty.
class FrameFlow {
 public:
  FrameFlow() = default;
  explicit FrameFlow(FlowGroup* group) : group_(group) {}
  // Makes this flow one of the group's. Call before the first Push(); a flow without a group is a group by itself.
  void Join(FlowGroup* group) { group_ = group; }
  // Makes frames of this flow bypass limits and order of the queue. Call before the first Push(). For the server's own
  // frames, which must be few and small.
  void MakeUrgent() { urgent_ = true; }
  // Lets only one frame at a time go to a lane; the next follows after Finished(). Call before the first Push().
  void MakeSerial() { serial_ = true; }
  FrameFlow(const FrameFlow&) = delete;
  FrameFlow& operator=(const FrameFlow&) = delete;

 private:
  friend class FrameQueue;
  friend class Round<FrameFlow, kQuantumPixels>;
  FlowGroup own_;
  FlowGroup* group_ = &own_;
  FrameList jobs_;
  Turn<FrameFlow> turn_;
  bool urgent_ = false;  // in no round
  bool serial_ = false;
  bool on_lane_ = false;              // a serial flow has a job on a lane: it is in no round
  const LaneWaiter* lane_ = nullptr;  // of the last job's lane; may dangle: compared only
};

// Thread-safe. Allocates nothing. OnFrameAdmitted() is called without a lock held, from any function but the const
// ones.
class FrameQueue {
 public:
  static constexpr int64_t kQuantumPixels = glint::kQuantumPixels;
  // Number of much smaller frames within the past second for which a lane is reserved.
  static constexpr int kSteadyFrames = 4;

  struct Limits {
    int frames = 1;                                       // that may wait
    int64_t bytes = std::numeric_limits<int64_t>::max();  // FrameJob::bytes of waiting jobs and of those on lanes
    int lanes = 1;                                        // threads that call Pop()
    int max_spinning = 0;                                 // lanes that may spin for a frame at the same time
  };
  // limits.bytes must be at least the bytes of any one frame.
  explicit FrameQueue(const Limits& limits) : limits_(limits), lanes_(limits.lanes) {}
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  enum class WhenFull { kReject, kWait };
  enum class Admission {
    kQueued,
    kWaiting,   // outside the queue until OnFrameAdmitted()
    kRejected,  // no room; the job is the caller's again
    kClosed,    // likewise
  };
  // `flow` must live until it has no jobs here. A flow with a waiting job must push no more until it is admitted.
  Admission Push(FrameFlow* flow, FrameJob* job, WhenFull when_full);

  // Push() for flows whose newest frame matters most. Takes back the `displace` oldest queued jobs of the flow into
  // `*displaced`, and more if there is no room. If one of them waits for room, `job` takes its position. kRejected,
  // with nothing changed, if `must_displace` and there is none to take back. Not for urgent flows.
  Admission PushNewest(FrameFlow* flow, FrameJob* job, int displace, bool must_displace, FrameList* displaced);

  // Pops the next frame in turn; blocks while there is none. Cancelled and expired frames cost nothing. `waiter` is the
  // calling lane's, the same for all its calls. Null once the queue is closed and empty, or once `*stop` is true, if
  // given: WakeLanes() makes all calls read it.
  FrameJob* Pop(LaneWaiter* waiter, const std::atomic<bool>* stop = nullptr);
  FrameJob* Pop() {
    LaneWaiter waiter;
    return Pop(&waiter);
  }
  void WakeLanes();
  // Corrects the cost of a popped frame to `pixels`. Call on the thread that popped it, before the job is handed back.
  void CorrectPixels(const FrameJob& job, int64_t pixels);
  // A popped frame is finished: lets the next frame of a serial flow go. Call while the flow lives, so before the job
  // is handed back.
  void Finished(const FrameJob& job);
  // Releases the bytes of a popped frame; `lane_ns` is its time on the lane.
  void Release(int64_t bytes, int64_t lane_ns);
  // Removes one lane: its thread calls Pop() no more.
  void LaneLeaves();

  // Removes and returns the flow's jobs that no lane has popped and that are not being admitted at this moment.
  FrameList Remove(FrameFlow* flow);
  // Removes one job. False if a lane has popped it or it is being admitted.
  bool Remove(FrameJob* job);

  // Refuses further pushes; Pop() returns what is left.
  void Close();

  int size() const;
  int64_t bytes() const;
  // Lanes that wait for a frame.
  int idle_lanes() const;
  const Limits& limits() const { return limits_; }
  // Expected wait of a frame that arrives now, from past frames; at least a millisecond.
  int64_t ExpectedWaitNs() const;

 private:
  // All functions below require mutex_.
  void WaitAt(LaneWaiter* waiter, std::unique_lock<std::mutex>* lock);
  bool Fits(const FrameJob& job) const { return size_ < limits_.frames && bytes_ <= limits_.bytes - job.bytes; }
  // True if the job fits and takes no room that a waiting frame could have. `own_bytes`: of frames of its flow that
  // made room for it.
  bool MayEnter(const FrameJob& job, int64_t own_bytes = 0) const {
    return Fits(job) && (waiting_.empty() || (own_bytes > 0 && job.bytes <= own_bytes));
  }
  void Add(FrameJob* job);
  // Adds the flow to its group's round and the group to the round of groups, if the flow has jobs and none of them
  // blocks it.
  void LinkIfReady(FrameFlow* flow);
  // Takes a job out of a flow's list; the flow leaves its round by UnlinkUnlessReady() only.
  FrameJob* TakeFirst(FrameFlow* flow);
  void Took(const FrameJob& job);
  static void LeaveGroup(const FrameJob& job);
  void UnlinkUnlessReady(FrameFlow* flow);
  FrameJob* NextWaiting() const;
  void AdmitWaiting(std::unique_lock<std::mutex>* lock);
  bool MayStart(int64_t cost, int64_t now);
  int64_t PriceOf(const FrameFlow& flow, int64_t now);
  FrameFlow* NextFlow(FlowGroup* group, int64_t now);
  FrameJob* TryPop();

  const Limits limits_;
  mutable std::mutex mutex_;
  IdleLanes idle_lanes_;
  Round<FlowGroup, kQuantumPixels> groups_;  // that have flows with jobs
  FrameList urgent_;                         // jobs of urgent flows; in no round
  FrameList waiting_;                        // jobs without room, in order of arrival
  int size_ = 0;                             // jobs of all flows, and jobs being admitted
  int64_t bytes_ = 0;                        // of these and of jobs on lanes
  int64_t entries_ = 0;                      // jobs that ever entered the queue
  int lanes_;
  int idle_ = 0;  // lanes inside Pop()
  RecentCosts recent_;
  int64_t mean_lane_ns_ = 0;  // exponential mean
  bool closed_ = false;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_
