// Frames that wait for a lane: bounded, and fair between streams. Every stream is a flow with a first-in, first-out
// list of its own; lanes take one frame of each flow in turn, so a stream with many frames waiting delays another
// stream by one frame at most.
#ifndef GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_
#define GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_

#include <condition_variable>
#include <mutex>

#include "server/schedule/frame_job.h"

namespace glint {

// A first-in, first-out list through FrameJob::next. Owns nothing.
class FrameList {
 public:
  bool empty() const { return head_ == nullptr; }
  FrameJob* front() const { return head_; }
  void PushBack(FrameJob* job);
  FrameJob* PopFront();

 private:
  FrameJob* head_ = nullptr;
  FrameJob* tail_ = nullptr;
};

// One stream's place in a queue. Must be empty when destroyed; belongs to the queue while it is not.
class FrameFlow {
 public:
  FrameFlow() = default;
  FrameFlow(const FrameFlow&) = delete;
  FrameFlow& operator=(const FrameFlow&) = delete;

 private:
  friend class FrameQueue;
  FrameList jobs_;
  FrameFlow* next_ = nullptr;  // in the ring of flows that have jobs
};

// Thread-safe. Allocates nothing. OnFrameAdmitted() is called without a lock held, from Pop() and Remove().
class FrameQueue {
 public:
  explicit FrameQueue(int capacity) : capacity_(capacity) {}
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  enum class WhenFull { kReject, kWait };
  enum class Admission {
    kQueued,
    kWaiting,   // outside the queue, first come first served, until OnFrameAdmitted()
    kRejected,  // full; the job is the caller's again
    kClosed,    // likewise
  };
  // `flow` must live until it has no jobs here. A flow with a waiting job must push no more until it is admitted.
  Admission Push(FrameFlow* flow, FrameJob* job, WhenFull when_full);

  // The next frame in turn; blocks while there is none. Null once closed and empty.
  FrameJob* Pop();

  // Takes back the flow's jobs that no lane has popped and that are not being admitted at this moment.
  FrameList Remove(FrameFlow* flow);

  // No more pushes; Pop() hands out what is left.
  void Close();

  int size() const;
  int capacity() const { return capacity_; }

 private:
  // These hold mutex_.
  void AdmitWaiting(std::unique_lock<std::mutex>* lock);
  void Append(FrameJob* job);
  void Unlink(FrameFlow* flow);

  const int capacity_;
  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  FrameFlow* ring_tail_ = nullptr;  // circular list; its head is ring_tail_->next_
  FrameList waiting_;               // without room; one job of a flow at most
  int size_ = 0;                    // jobs of all flows, and those that are being admitted
  bool closed_ = false;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_FRAME_QUEUE_H_
