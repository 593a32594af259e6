#include "server/schedule/frame_queue.h"

#include <time.h>

namespace glint {

int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

void FrameList::PushBack(FrameJob* job) {
  job->next = nullptr;
  (head_ == nullptr ? head_ : tail_->next) = job;
  tail_ = job;
}

FrameJob* FrameList::PopFront() {
  FrameJob* job = head_;
  if (job != nullptr) head_ = job->next;
  return job;
}

FrameQueue::Admission FrameQueue::Push(FrameFlow* flow, FrameJob* job, WhenFull when_full) {
  job->flow = flow;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return Admission::kClosed;
    job->queue_depth = size_;
    if (size_ >= capacity_) {
      if (when_full == WhenFull::kReject) return Admission::kRejected;
      waiting_.PushBack(job);
      return Admission::kWaiting;
    }
    ++size_;
    Append(job);
  }
  not_empty_.notify_one();
  return Admission::kQueued;
}

FrameJob* FrameQueue::Pop() {
  std::unique_lock<std::mutex> lock(mutex_);
  not_empty_.wait(lock, [this] { return ring_tail_ != nullptr || closed_; });
  if (ring_tail_ == nullptr) return nullptr;
  FrameFlow* const flow = ring_tail_->next_;
  FrameJob* const job = flow->jobs_.PopFront();
  if (flow->jobs_.empty()) {
    Unlink(flow);
  } else {
    ring_tail_ = flow;  // to the end of the round
  }
  --size_;
  AdmitWaiting(&lock);
  return job;
}

FrameList FrameQueue::Remove(FrameFlow* flow) {
  std::unique_lock<std::mutex> lock(mutex_);
  FrameList removed = flow->jobs_;
  flow->jobs_ = FrameList();
  if (!removed.empty()) Unlink(flow);
  for (const FrameJob* job = removed.front(); job != nullptr; job = job->next) --size_;

  FrameList others;
  while (FrameJob* job = waiting_.PopFront()) (job->flow == flow ? removed : others).PushBack(job);
  waiting_ = others;
  AdmitWaiting(&lock);
  return removed;
}

void FrameQueue::AdmitWaiting(std::unique_lock<std::mutex>* lock) {
  while (size_ < capacity_ && !waiting_.empty()) {
    FrameJob* const job = waiting_.PopFront();
    ++size_;
    // Its sink hears of it before the job can be popped, hence be finished and gone; until then it is in no list.
    lock->unlock();
    job->sink->OnFrameAdmitted(job);
    lock->lock();
    Append(job);
    not_empty_.notify_one();
  }
}

void FrameQueue::Append(FrameJob* job) {
  FrameFlow* const flow = job->flow;
  if (flow->jobs_.empty()) {
    if (ring_tail_ == nullptr) {
      flow->next_ = flow;
    } else {
      flow->next_ = ring_tail_->next_;
      ring_tail_->next_ = flow;
    }
    ring_tail_ = flow;
  }
  flow->jobs_.PushBack(job);
}

void FrameQueue::Unlink(FrameFlow* flow) {
  FrameFlow* before = ring_tail_;
  while (before->next_ != flow) before = before->next_;
  before->next_ = flow->next_;
  if (ring_tail_ == flow) ring_tail_ = before == flow ? nullptr : before;
  flow->next_ = nullptr;
}

void FrameQueue::Close() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
  }
  not_empty_.notify_all();
}

int FrameQueue::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return size_;
}

}  // namespace glint
