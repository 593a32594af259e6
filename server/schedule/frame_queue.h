// Queue of frames that wait for a lane: bounded in frames and bytes, and fair between clients, then between the streams
// of a client.
//
// Every stream is a flow with a first-in, first-out list, and the flows of one client are a group. Groups are served by
// start-time fair queueing, and so are the flows of a group when its turn has come. Each is charged the time that its
// frames are expected to take when they go to a lane, and the rest of the time that they took when they are finished.
// So while several clients have frames waiting, each gets the same share of the lanes' time, whatever its frames are
// and however many streams it has. A client that took more keeps its debt while it is away, until it expires.
//
// Expected is the nominal cost, FrameJob::pixels, times the recent rate of such work (LaneRates) in the flow; of a new
// flow, in its group; of a new group, in the queue.
//
// Lanes do not preempt frames, so fairness alone would let a short frame find all lanes busy with long ones. Therefore
// the last idle lane is reserved: it takes no frame that is expected to take much longer than frames that kept arriving
// during the past second.
//
// A frame wakes the lane that had the stream's last frame, or else the lane that became idle last (IdleLanes): its
// caches are warm. Which frame a woken lane gets is decided when it pops.
//
// The first frame of a flow may wait for what a later message of its stream brings (LaneWork::WaitsUntil). Such a frame
// has no lane and, once a lane has seen that, no place among Limits::frames; its bytes count.
//
// While a frame waits for room, no later frame enters the queue, however small. The next frame admitted is the first of
// the group whose frames in the queue are expected to take the least time and, among equal ones, with the longest wait;
// otherwise many streams could fill the queue.
//
// A part of the bytes, the reserve, is only for small frames of groups that have no other frame in the queue or on a
// lane. Such a frame enters a full queue at once, takes nothing that others wait for, and has no place among
// Limits::frames: a client whose frames come one by one does not wait until those of others make room.
#ifndef GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_
#define GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>

#include "server/schedule/frame_job.h"
#include "server/schedule/idle_lanes.h"
#include "server/schedule/lane_rates.h"
#include "server/schedule/recent_costs.h"
#include "server/schedule/start_time_fair.h"

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

// The flows of one client. Must outlive them; as FrameFlow otherwise.
class FlowGroup {
 public:
  FlowGroup() = default;
  FlowGroup(const FlowGroup&) = delete;
  FlowGroup& operator=(const FlowGroup&) = delete;

 private:
  friend class FrameQueue;
  friend class StartTimeFair<FlowGroup>;
  StartTimeFair<FrameFlow> flows_;  // that have jobs
  int64_t expected_ns_ = 0;         // of these jobs
  int frames_ = 0;                  // these jobs, jobs being admitted, and jobs on lanes
  int64_t entry_ = 0;               // the number of its last job that came into the queue; 0: none has
  FairTag<FlowGroup> fair_;
  LaneRates rates_;
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
  friend class StartTimeFair<FrameFlow>;
  FlowGroup own_;
  FlowGroup* group_ = &own_;
  FrameList jobs_;
  FairTag<FrameFlow> fair_;
  LaneRates rates_;
  bool urgent_ = false;  // in no group
  bool serial_ = false;
  bool on_lane_ = false;              // a serial flow has a job on a lane: it is not among its group's flows_
  bool may_wait_ = false;             // more messages may come before a job is answered,
  const FrameJob* begins_ = nullptr;  // but for this one
  bool waits_ = false;                // its first job did when a lane last looked
  const LaneWaiter* lane_ = nullptr;  // of the last job's lane; may dangle: compared only
};

// Thread-safe. Allocates nothing. OnFrameAdmitted() is called without a lock held, from any function but the const
// ones.
class FrameQueue {
 public:
  // Number of much shorter frames within the past second for which a lane is reserved.
  static constexpr int kSteadyFrames = 4;
  // No lane is reserved for frames that are shorter than this: such a time counts as this.
  static constexpr int64_t kShortNs = 1'000'000;

  struct Limits {
    int frames = 1;                                       // that may wait for a lane
    int64_t bytes = std::numeric_limits<int64_t>::max();  // FrameJob::bytes of waiting jobs and of those on lanes
    int64_t reserve = 0;                                  // of these bytes
    int lanes = 1;                                        // threads that call Pop()
    int max_spinning = 0;                                 // lanes that may spin for a frame at the same time
    int64_t (*clock)() = MonotonicNs;                     // of ages, debts and the past second; tests have their own
  };
  // The reserve of `bytes`, where no frame has more than `largest`: an eighth, unless that leaves too little for a
  // frame.
  static int64_t ReserveOf(int64_t bytes, int64_t largest) {
    return std::max<int64_t>(std::min(bytes / 8, bytes - largest), 0);
  }
  // Of the reserve, a frame may take less than this part.
  static constexpr int64_t kReserveParts = 4;

  // limits.bytes - limits.reserve must be at least the bytes of any one frame.
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

  // Pops the next frame in turn; blocks while there is none. Cancelled and expired frames are expected to take no time.
  // `waiter` is the calling lane's, the same for all its calls. Null once the queue is closed and empty, or once
  // `*stop` is true, if given: WakeLanes() makes all calls read it.
  FrameJob* Pop(LaneWaiter* waiter, const std::atomic<bool>* stop = nullptr);
  FrameJob* Pop() {
    LaneWaiter waiter;
    return Pop(&waiter);
  }
  void WakeLanes();
  // A popped frame is finished after `lane_ns` on its lane, with its status: charges this time, and lets the next frame
  // of a serial flow go. Call once for each, while the flow lives, so before the job is handed back.
  void Finished(const FrameJob& job, int64_t lane_ns);
  // Whether messages may come before the flow's frames are answered, `but_for` excepted; one may just have come. At
  // first none may. For serial flows.
  void MoreMayCome(FrameFlow* flow, bool more, const FrameJob* but_for = nullptr);
  // Releases the bytes of a popped frame, in_queue.reserved or not; `lane_ns` is its time on the lane.
  void Release(int64_t bytes, int64_t lane_ns, bool reserved = false);
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
  // A part of the pool, and what is taken of it.
  struct Room {
    int frames = 0;     // jobs of all flows, and jobs being admitted, but for those that wait for later messages
    int64_t bytes = 0;  // of all these and of jobs on lanes
  };
  Room& RoomOf(const FrameJob& job) { return job.in_queue.reserved ? reserve_ : general_; }
  int Size() const { return general_.frames + reserve_.frames + waits_; }
  bool Fits(const FrameJob& job) const {
    return general_.frames < limits_.frames && general_.bytes <= limits_.bytes - limits_.reserve - job.bytes;
  }
  // `instead`: of a frame of its group that had a place there.
  bool FitsReserve(const FrameJob& job, bool instead = false) const {
    return (job.in_queue.flow->group_->frames_ == 0 || instead) && job.bytes < limits_.reserve / kReserveParts &&
           reserve_.bytes <= limits_.reserve - job.bytes;
  }
  // True if the job fits and takes no room that a waiting frame could have; says in it of which part of the pool.
  // `own_bytes`, `own_reserved`: what frames of its flow that made room for it had of each.
  bool FindRoom(FrameJob* job, int64_t own_bytes = 0, bool own_reserved = false) const;
  // The job comes into the queue (1) or is taken back (-1).
  void Count(const FrameJob& job, int change);
  void Add(FrameJob* job);
  // Adds the flow to its group's flows and the group to the queue's groups, if the flow has jobs and none of them
  // blocks it.
  void LinkIfReady(FrameFlow* flow);
  // Takes a job out of a flow's list; the flow leaves its group's flows by UnlinkUnlessReady() only.
  FrameJob* TakeFirst(FrameFlow* flow);
  static void LeaveGroup(const FrameJob& job);
  void UnlinkUnlessReady(FrameFlow* flow);
  FrameJob* FindRoomForWaiting() const;                   // whose turn it is; null: there is none
  bool AdmitWaiting(std::unique_lock<std::mutex>* lock);  // whether there were any
  // Time on a lane; 0 if nobody waits for the job any more.
  int64_t ExpectedNs(const FrameJob& job, int64_t now) const;
  void Learn(const FrameJob& job, int64_t lane_ns);
  // Until when the flow's first job waits for later messages; 0: it does not.
  int64_t WaitsUntil(const FrameFlow& flow, int64_t now) const;
  void SetWaits(FrameFlow* flow, const FrameJob& first, bool waits);
  // False while the flow's first job waits for later messages, or is kept from the last idle lane.
  bool MayStart(FrameFlow* flow, int64_t now);
  FrameFlow* NextFlow(const FlowGroup& group, int64_t now);
  FrameJob* TryPop();

  const Limits limits_;
  mutable std::mutex mutex_;
  IdleLanes idle_lanes_;
  StartTimeFair<FlowGroup> groups_;  // that have flows with jobs
  FrameList urgent_;                 // jobs of urgent flows; in no group
  FrameList waiting_;                // jobs without room, in order of arrival
  Room general_, reserve_;
  int64_t entries_ = 0;      // jobs that ever entered the queue
  int waits_ = 0;            // flows whose first job waits for later messages
  int64_t waits_until_ = 0;  // the first of those that were seen since a lane last looked for a job
  int lanes_;
  int idle_ = 0;              // lanes inside Pop()
  RecentCosts recent_;        // expected times, at least kShortNs
  LaneRates rates_;           // of all groups
  int64_t mean_lane_ns_ = 0;  // exponential mean
  bool closed_ = false;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_
