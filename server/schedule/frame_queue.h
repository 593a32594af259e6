// Frames that wait for a lane: bounded in number and bytes, and fair between clients, then between their streams.
//
// Every stream is a flow with a first-in, first-out list of its own, and the flows of one client are a group. Groups
// take turns by deficit round robin, and so do the flows of a group when its turn has come: at each turn one is
// credited kQuantumPixels and its frames go out as long as the credit covers their pixels. So while several clients
// have frames waiting, each gets the same share of pixels, whatever the size of its pictures and the number of its
// streams.
//
// Lanes finish what they have begun, so fairness alone would let a small frame find all lanes busy with large ones. So
// the last idle lane is kept from frames that are much larger than frames which kept coming during the past second.
//
// A frame wakes the lane that had the stream's last one, or else the lane that became idle last (IdleLanes): caches and
// processor of that lane are warm. Which frame a woken lane gets is decided when it looks.
//
// Room goes to those who wait for some: while a frame does, none that comes later is let in, however small. The next is
// the first of the group that has the fewest pixels in the queue and, of those, has had to wait for longest: many
// streams could fill it otherwise.
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

// A first-in, first-out list through FrameJob::next. Owns nothing.
class FrameList {
 public:
  bool empty() const { return head_ == nullptr; }
  FrameJob* front() const { return head_; }
  void PushBack(FrameJob* job);
  FrameJob* PopFront();
  // False if it is not in the list.
  bool Remove(FrameJob* job);
  // Puts `job` where `old` was, which must be in the list.
  void Replace(FrameJob* old, FrameJob* job);

 private:
  FrameJob* head_ = nullptr;
  FrameJob* tail_ = nullptr;
};

// The credit of one turn, and what a smaller picture counts as: a 640x480 frame. Then flows of such frames take one
// each in turn.
inline constexpr int64_t kQuantumPixels = 640 * 480;

// The flows of one client. Must outlive them, and what is said of FrameFlow.
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

// One stream's place in a queue. Must be empty when destroyed; belongs to the queue while it is not.
class FrameFlow {
 public:
  FrameFlow() = default;
  explicit FrameFlow(FlowGroup* group) : group_(group) {}
  // Before the first Push(): one of this group's flows. Otherwise it is a group by itself.
  void Join(FlowGroup* group) { group_ = group; }
  // Before the first Push(): frames of this flow always have room, and go before those of all other flows. For the
  // server's own; the flow sees to it that they are few and small.
  void MakeUrgent() { urgent_ = true; }
  // Before the first Push(): one frame at a time goes to a lane, and the next only after Finished().
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
  bool urgent_ = false;  // then no round ever has it
  bool serial_ = false;
  bool on_lane_ = false;            // a job of a serial flow is: no round has the flow
  const LaneSeat* lane_ = nullptr;  // that had the last job; compared only, as it may be gone
};

// Thread-safe. Allocates nothing. OnFrameAdmitted() is called without a lock held, from any function but the const
// ones.
class FrameQueue {
 public:
  static constexpr int64_t kQuantumPixels = glint::kQuantumPixels;
  // Frames within the past second, much smaller than another, for whose sake a lane is kept from that one.
  static constexpr int kSteadyFrames = 4;

  struct Limits {
    int frames = 1;                                       // that wait
    int64_t bytes = std::numeric_limits<int64_t>::max();  // FrameJob::bytes of those that wait or are worked on
    int lanes = 1;                                        // threads that call Pop()
    int looking = 0;  // of them, at the same time, that look for a frame for a while before they sleep
  };
  // limits.bytes must not be less than those of any frame.
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

  // For flows whose newest frame matters most. First takes back the `displace` oldest of the flow's jobs that no lane
  // has popped, and when there is no room, more of them. One that waits outside the queue gives `job` its place there.
  // kRejected, with nothing changed, if `must_displace` and there is none to take back. Not for urgent flows.
  Admission PushNewest(FrameFlow* flow, FrameJob* job, int displace, bool must_displace, FrameList* displaced);

  // The next frame in turn; blocks while there is none. A frame that was cancelled or has expired costs nothing. Null
  // once closed and empty.
  // Null, too, once `*stop` is true, if that is given: WakeLanes() makes all calls look at it.
  // `seat` is the calling lane's from call to call.
  FrameJob* Pop(LaneSeat* seat, const std::atomic<bool>* stop = nullptr);
  FrameJob* Pop() {
    LaneSeat seat;
    return Pop(&seat);
  }
  void WakeLanes();
  // The popped frame had that many pixels after all. On the thread that popped it, before it is handed back.
  void CorrectPixels(const FrameJob& job, int64_t pixels);
  // A popped frame has been worked on: what a serial flow waits for. While its flow lives, so before it is handed back.
  void Finished(const FrameJob& job);
  // A popped frame's bytes are free again; `lane_ns` is how long it was on its lane.
  void Release(int64_t bytes, int64_t lane_ns);
  // One thread less calls Pop().
  void LaneLeaves();

  // Takes back the flow's jobs that no lane has popped and that are not being admitted at this moment.
  FrameList Remove(FrameFlow* flow);
  // The same for one job. False if it is too late.
  bool Remove(FrameJob* job);

  // No more pushes; Pop() hands out what is left.
  void Close();

  int size() const;
  int64_t bytes() const;
  // Lanes that wait for a frame.
  int idle_lanes() const;
  const Limits& limits() const { return limits_; }
  // When a frame that came now could begin, by what the past ones took; at least a millisecond.
  int64_t ExpectedWaitNs() const;

 private:
  // These hold mutex_.
  void WaitAt(LaneSeat* seat, std::unique_lock<std::mutex>* lock);
  bool Fits(const FrameJob& job) const { return size_ < limits_.frames && bytes_ <= limits_.bytes - job.bytes; }
  // Fits, and takes no room that a frame which waits for some could have: `own_bytes` are those of one or more frames
  // of its flow that have made room for it.
  bool MayEnter(const FrameJob& job, int64_t own_bytes = 0) const {
    return Fits(job) && (waiting_.empty() || (own_bytes > 0 && job.bytes <= own_bytes));
  }
  void Add(FrameJob* job);
  // Its group's round, and that of all, have a flow with jobs, unless one of them holds up the others.
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
  FrameList urgent_;                         // of urgent flows; in no round
  FrameList waiting_;                        // without room, in the order in which they came
  int size_ = 0;                             // jobs of all flows, and those that are being admitted
  int64_t bytes_ = 0;                        // of these and of those on lanes
  int64_t entries_ = 0;                      // jobs that came into the queue, ever
  int lanes_;
  int idle_ = 0;  // lanes inside Pop()
  RecentCosts recent_;
  int64_t mean_lane_ns_ = 0;  // weighted towards the latest
  bool closed_ = false;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_
