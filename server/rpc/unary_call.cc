#include "server/rpc/unary_call.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "proto/grpc_deadline.h"
#include "server/net/listen.h"
#include "server/wire/client_status.h"
#include "server/wire/convert.h"
#include "server/wire/status_details.h"

namespace glint {
namespace {

// Time that the client of a preempted call has to take its reply or status.
constexpr absl::Duration kUnaryEviction = absl::Milliseconds(500);

std::string UnaryNames() {
  std::string names;
  for (const OperationMethod& row : OperationMethods()) {
    if (row.unary) absl::StrAppend(&names, names.empty() ? "" : " and ", row.name);
  }
  return names;
}

}  // namespace

void UnaryCall::Request(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue) {
  auto* const call = new UnaryCall(method, service, queue);
  call->context_.AsyncNotifyWhenDone(&call->ended_);
  service->async()->Request(method.async(), &call->context_, &call->stream_, queue, &call->arrived_);
}

UnaryCall::UnaryCall(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue)
    : method_(method), service_(service), env_(service->env()), queue_(queue), stream_(&context_) {}

void UnaryCall::OnArrived(bool ok) {
  if (!ok) {  // the server stops; ended_ never comes
    delete this;
    return;
  }
  Request(method_, service_, queue_);
  arrived_at_ = MonotonicNs();
  env_->metrics.CallStarted(method_.counted());
  trace_.Begin(env_, &context_);
  const absl::Status welcome = service_->Register(this, method_.async(), &context_);
  std::unique_lock<std::mutex> lock(mutex_);
  references_ = 2;  // ended_, and this function
  if (welcome.ok()) {
    ++references_;
    alarm_.Set(queue_, GrpcDeadline(env_->options.detect_receive_timeout), &alarmed_);
    lock.unlock();
    Enter();
    lock.lock();
  } else {
    Finish(welcome);
  }
  Unref(std::move(lock));
}

void UnaryCall::Enter() {
  const Places::Admission admission = service_->unary_places()->Enter(counted_as(), nullptr, &place_);
  if (admission == Places::Admission::kGranted || admission == Places::Admission::kWaiting) return;
  env_->metrics.PlaceRefused(PlaceKind::kUnary);
  std::lock_guard<std::mutex> lock(mutex_);
  alarm_.Cancel();
  if (phase_ == Phase::kWaiting) Finish(TooMany());
}

void UnaryCall::PlaceGranted() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (phase_ != Phase::kWaiting) return;
  phase_ = Phase::kReceiving;
  ++references_;
  stream_.Read(&request_, &read_);
}

void UnaryCall::Preempt() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (phase_ == Phase::kFinished) return;
  env_->metrics.PlacePreempted(PlaceKind::kUnary);
  preempted_ = true;
  if (phase_ == Phase::kWaiting) alarm_.Cancel();
  if (phase_ == Phase::kWaiting || phase_ == Phase::kReceiving) {
    Finish(TryLater(service_->unary_places()->PreemptedError(), env_->queue.ExpectedWaitNs()));
  } else if (phase_ == Phase::kReplying) {
    ++references_;
    eviction_.Set(queue_, GrpcDeadline(kUnaryEviction), &evicted_);
  }  // else the lane is quicker
}

void UnaryCall::OnLate(bool ok) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ok && phase_ == Phase::kWaiting) {
    Finish(TooMany());
  } else if (ok && phase_ == Phase::kReceiving) {
    Finish(absl::DeadlineExceededError(absl::StrCat("request: not received within ",
                                                    absl::FormatDuration(env_->options.detect_receive_timeout),
                                                    " (--detect-receive-timeout)")));
  }
  Unref(std::move(lock));
}

void UnaryCall::OnRead(bool ok) {
  const bool wanted = ok && !gone_;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    alarm_.Cancel();
    if (phase_ != Phase::kReceiving) return Unref(std::move(lock));  // it was late, or preempted
    phase_ = Phase::kWorking;
    place_.SilentSince(Place::kBusy);
    if (wanted) ++references_;  // the frame's way
  }
  absl::Status status = absl::InvalidArgumentError("request: missing");
  if (gone_) status = absl::CancelledError("the client has gone");
  if (wanted) {
    env_->metrics.MessageReceived(method_.counted());
    status = Submit();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (!status.ok()) {
    if (frame_ != nullptr) Metrics::FrameFailed(frame_->counters(), status.code(), MonotonicNs() - arrived_at_);
    Finish(status);
    if (wanted) --references_;
  }
  Unref(std::move(lock));
}

absl::Status UnaryCall::TooMany() {
  constexpr char kFlag[] = "--max-detect-calls";
  const std::string problem = absl::StrCat("too many of ", UnaryNames(), " (", kFlag, "); try again later");
  return TryLater(ExhaustedError("calls", problem, absl::StrCat(env_->options.max_detect_calls), kFlag),
                  env_->queue.ExpectedWaitNs());
}

// Adds the trailer that gRPC's own retries honour.
absl::Status UnaryCall::TryLater(const absl::Status& status, int64_t retry_after_ns) {
  context_.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat((retry_after_ns + 999'999) / 1'000'000));
  return WithRetryAfter(status, retry_after_ns);
}

// Locates and checks the content of the message.
absl::Status UnaryCall::Parse(Frame* frame) {
  if (!frame->Receive(&request_) || state_->Read(frame->message_pieces, frame) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("request: not a serialized ", method_.row->request));
  }
  return state_->Parse(frame->received(service_->image_rules(*this, IsUnixPeer(context_.peer()))), frame);
}

absl::Status UnaryCall::Submit() {
  GLINT_ASSIGN_OR_RETURN(state_, method_.operation->Begin({}, nullptr));
  frame_ = service_->frames()->Take();
  ++env_->frames_in_flight;  // until the end
  Frame* const frame = frame_.get();
  frame->times.received_at = MonotonicNs();
  frame->bytes = static_cast<int64_t>(request_.Length());
  frame->Begin(method_, state_.get(), this);
  GLINT_RETURN_IF_ERROR(Parse(frame));
  frame->times.queued_at = MonotonicNs();
  frame->times.receive_ns = frame->times.queued_at - frame->times.received_at;
  if (absl::Status s = frame->Join(client(), &env_->metrics); !s.ok()) return TryLater(s, frame->retry_after_ns);
  switch (env_->queue.Push(client()->detect_flow(), frame, FrameQueue::WhenFull::kReject)) {
    case FrameQueue::Admission::kQueued:
    case FrameQueue::Admission::kWaiting:
      return absl::OkStatus();
    case FrameQueue::Admission::kRejected:
      return TryLater(Service::QueueFullError(), env_->queue.ExpectedWaitNs());
    case FrameQueue::Admission::kClosed:
      break;
  }
  return Service::DrainingError();
}

void UnaryCall::OnFrameRun(FrameJob*) {
  if (frame_->status.ok() && !frame_->cancelled) frame_->PackReply();
}

void UnaryCall::OnFrameDone(FrameJob*) {
  if (frame_->cancelled) frame_->status.Update(absl::CancelledError("the client has gone"));
  const grpc::ByteBuffer message = frame_->TakeMessage();  // freed when the reply is on its way
  std::unique_lock<std::mutex> lock(mutex_);
  if (frame_->status.ok()) {
    AwaitTaking();
    ++references_;
    stream_.WriteAndFinish(frame_->FinishReply(&env_->metrics), grpc::WriteOptions(), grpc::Status::OK, &finished_);
  } else {
    Metrics::FrameFailed(frame_->counters(), frame_->status.code(), MonotonicNs() - frame_->times.received_at);
    Finish(frame_->status);
  }
  Unref(std::move(lock));
}

void UnaryCall::OnReplyLate(bool ok) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ok && phase_ == Phase::kReplying) {  // the client could not be told a status either
    status_.Update(absl::DeadlineExceededError(absl::StrCat("reply: not taken within ",
                                                            absl::FormatDuration(env_->options.detect_reply_timeout),
                                                            " (--detect-reply-timeout)")));
    context_.TryCancel();
  }
  Unref(std::move(lock));
}

void UnaryCall::OnEvicted(bool ok) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ok && phase_ == Phase::kReplying) {
    status_.Update(service_->unary_places()->PreemptedError());
    context_.TryCancel();
  }
  Unref(std::move(lock));
}

void UnaryCall::OnFinished(bool ok) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    phase_ = Phase::kFinished;
    reply_alarm_.Cancel();
    eviction_.Cancel();
    if (ok && status_.ok()) env_->metrics.MessageSent(method_.counted());
  }
  place_.GiveBack();
  Unref(std::unique_lock<std::mutex>(mutex_));
}

void UnaryCall::OnEnded(bool) {
  const bool cancelled = context_.IsCancelled();
  gone_ = cancelled;
  if (cancelled && frame_ != nullptr) frame_->cancelled = true;
  // Otherwise a lane has it or has finished it.
  const bool taken_back = cancelled && frame_ != nullptr && env_->queue.Remove(frame_.get());
  std::unique_lock<std::mutex> lock(mutex_);
  if (cancelled) status_.Update(absl::CancelledError("the client has gone"));
  if (phase_ == Phase::kWaiting) {
    phase_ = Phase::kFinished;
    alarm_.Cancel();
  }
  if (taken_back) {
    Metrics::FrameFailed(frame_->counters(), absl::StatusCode::kCancelled, MonotonicNs() - frame_->times.received_at);
    Finish(absl::CancelledError("the client has gone"));
    --references_;  // the queue's; Finish() has one
  }
  Unref(std::move(lock));
}

void UnaryCall::Finish(const absl::Status& status) {
  AwaitTaking();
  ++references_;
  status_.Update(status);
  stream_.Finish(ToGrpc(ForClient(status, env_->options)), &finished_);
}

void UnaryCall::AwaitTaking() {
  phase_ = Phase::kReplying;
  place_.SilentSince(MonotonicNs());
  place_.Leave();
  ++references_;
  const absl::Duration patience = env_->options.detect_reply_timeout;
  reply_alarm_.Set(queue_, GrpcDeadline(preempted_ ? std::min(patience, kUnaryEviction) : patience), &reply_alarmed_);
}

void UnaryCall::Unref(std::unique_lock<std::mutex> lock) {
  if (--references_ > 0) return;
  const int64_t duration_ns = MonotonicNs() - arrived_at_;
  env_->metrics.CallEnded(method_.counted(), status_.code(), duration_ns);
  trace_.End(method_.row->name, status_, duration_ns);
  lock.unlock();
  if (frame_ != nullptr) {
    --env_->frames_in_flight;
    service_->frames()->Return(std::move(frame_));
  }
  place_.GiveBack();
  service_->Unregister(this);
  delete this;
}

}  // namespace glint
