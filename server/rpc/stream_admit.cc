// Admission of frames that have been read: the policies of OverloadPolicy. All of it runs on the thread of the stream's
// completion queue; only lanes that finish frames change the session concurrently.
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "server/rpc/stream_call.h"

namespace glint {

void StreamCall::Admit(std::unique_ptr<Frame> owned) {
  AdmitByPolicy(owned.release());  // the session's, until ReleaseFirst()
  ++env_->frames_in_flight;        // ReleaseFirst() comes later: it runs on this thread, or after it has seen a Break()
}

void StreamCall::AdmitByPolicy(Frame* frame) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (phase_ == Phase::kBroken) frame->status = absl::CancelledError("the client has gone");
    if (frame->is_edit && frame->status.ok()) {
      state_->Accept(frame);
      session_.AddEdit(frame);
      if (!frame->lets_pass) {
        edit_ = frame;
      } else {
        frame->ReleaseAll();
      }
      return;
    }
    session_.Add(frame, !frame->status.ok());
    if (frame->in_session.done) {
      frame->ReleaseAll();
      return;
    }
  }
  switch (session_.options().policy) {
    case OverloadPolicy::kBlock:
      return AdmitOrWait(frame);
    case OverloadPolicy::kReject:
      return AdmitOrReject(frame);
    case OverloadPolicy::kDropOldest:
    case OverloadPolicy::kLatest:
      return AdmitNewest(frame);
  }
}

void StreamCall::AdmitOrWait(Frame* frame) {
  std::lock_guard<std::mutex> lock(mutex_);
  switch (env_->queue.Push(&flow_, frame, FrameQueue::WhenFull::kWait)) {
    case FrameQueue::Admission::kWaiting:
      waiting_for_room_ = true;
      ++references_;
      return;
    case FrameQueue::Admission::kQueued:
      ++references_;
      return;
    case FrameQueue::Admission::kRejected:
    case FrameQueue::Admission::kClosed:
      session_.Drop(frame, DropReason::kNone, Service::DrainingError());
  }
}

void StreamCall::AdmitOrReject(Frame* frame) {
  std::lock_guard<std::mutex> lock(mutex_);
  absl::Status full;
  if (session_.overloaded()) {
    const std::string limit = absl::StrCat(session_.options().max_in_flight);
    full = ExhaustedError("max_in_flight", limit + " frames of this stream are unanswered; try again later", limit, "");
  } else {
    switch (env_->queue.Push(&flow_, frame, FrameQueue::WhenFull::kReject)) {
      case FrameQueue::Admission::kQueued:
      case FrameQueue::Admission::kWaiting:
        ++references_;
        return;
      case FrameQueue::Admission::kClosed:
        session_.Drop(frame, DropReason::kNone, Service::DrainingError());
        return;
      case FrameQueue::Admission::kRejected:
        full = Service::QueueFullError();
    }
  }
  frame->retry_after_ns = env_->queue.ExpectedWaitNs();
  session_.Drop(frame, DropReason::kRejected, std::move(full));
  frame->ReleaseAll();
}

void StreamCall::AdmitNewest(Frame* frame) {
  bool full;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (session_.held() != nullptr) {  // then nothing older waits
      Supersede(session_.held());
      session_.Hold(frame);
      return;
    }
    full = session_.overloaded();
    ++references_;
  }
  const bool latest = session_.options().policy == OverloadPolicy::kLatest;
  PushNewest(frame, latest ? std::numeric_limits<int>::max() : full ? 1 : 0, full);
}

void StreamCall::AdmitHeld() {
  Frame* frame;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    frame = static_cast<Frame*>(session_.TakeHeld());
    if (frame == nullptr) return;
    ++references_;
  }
  PushNewest(frame, 0, false);
}

// The caller has counted the queue's reference.
void StreamCall::PushNewest(Frame* frame, int displace, bool must_displace) {
  FrameList displaced;
  const FrameQueue::Admission admission = env_->queue.PushNewest(&flow_, frame, displace, must_displace, &displaced);
  std::lock_guard<std::mutex> lock(mutex_);
  while (FrameJob* job = displaced.PopFront()) {
    Supersede(job);
    --references_;  // not the last: the caller's caller holds one
  }
  switch (admission) {
    case FrameQueue::Admission::kQueued:
    case FrameQueue::Admission::kWaiting:
      return;
    case FrameQueue::Admission::kRejected:  // lanes or the client have all the others
      session_.Hold(frame);
      break;
    case FrameQueue::Admission::kClosed:
      session_.Drop(frame, DropReason::kNone, Service::DrainingError());
      break;
  }
  --references_;
}

void StreamCall::Supersede(FrameJob* job) {
  session_.Drop(job, DropReason::kSuperseded, absl::AbortedError("superseded by a newer frame of the stream"));
  static_cast<Frame*>(job)->ReleaseAll();
}

}  // namespace glint
