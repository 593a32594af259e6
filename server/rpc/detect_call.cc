#include "server/rpc/detect_call.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "proto/grpc_deadline.h"
#include "server/net/listen.h"
#include "server/operations/match/match_convert.h"
#include "server/wire/convert.h"
#include "server/wire/retry.h"

namespace glint {

void DetectCall::Request(const UnaryMethod& method, Service* service, grpc::ServerCompletionQueue* queue) {
  auto* const call = new DetectCall(method, service, queue);
  call->context_.AsyncNotifyWhenDone(&call->ended_);
  service->async()->Request(method.async, &call->context_, &call->stream_, queue, &call->arrived_);
}

DetectCall::DetectCall(const UnaryMethod& method, Service* service, grpc::ServerCompletionQueue* queue)
    : method_(method), service_(service), env_(service->env()), queue_(queue), stream_(&context_) {}

void DetectCall::OnArrived(bool ok) {
  if (!ok) {  // the server stops; ended_ never comes
    delete this;
    return;
  }
  Request(method_, service_, queue_);
  arrived_at_ = MonotonicNs();
  env_->metrics.CallStarted(method_.counted);
  trace_.Begin(env_, &context_);
  const absl::Status welcome = service_->Register(this, method_.async, &context_);
  counted_ = welcome.ok() && service_->TakeDetectCall();
  std::unique_lock<std::mutex> lock(mutex_);
  references_ = 2;  // ended_, and what begins here
  if (counted_) {
    ++references_;
    alarm_.Set(queue_, GrpcDeadline(env_->options.detect_receive_timeout), &alarmed_);
    stream_.Read(&request_, &read_);
  } else {
    Finish(welcome.ok() ? Busy("calls: too many of Detect and Match (--max-detect-calls)") : welcome);
    --references_;  // Finish() has one
  }
}

// On the thread that OnRead() comes to: one of them is first, and ends the call or has a lane do so.
void DetectCall::OnLate(bool ok) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (ok && !read_done_) {
    late_ = true;
    Finish(absl::DeadlineExceededError(absl::StrCat("request: not received within ",
                                                    absl::FormatDuration(env_->options.detect_receive_timeout),
                                                    " (--detect-receive-timeout)")));
  }
  Drop(std::move(lock));
}

void DetectCall::OnRead(bool ok) {
  read_done_ = true;
  alarm_.Cancel();
  if (late_) return Drop(std::unique_lock<std::mutex>(mutex_));
  absl::Status status = absl::InvalidArgumentError("request: missing");
  if (gone_) status = absl::CancelledError("the client has gone");
  const bool wanted = ok && !gone_;
  if (wanted) {
    env_->metrics.MessageReceived(method_.counted);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++references_;  // the frame's way
    }
    status = Submit();
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (!status.ok()) {
    if (frame_ != nullptr) env_->metrics.FrameFailed(status.code(), MonotonicNs() - arrived_at_, method_.work);
    Finish(status);
    if (wanted) --references_;
  }
  Drop(std::move(lock));
}

absl::Status DetectCall::Busy(const char* what) {
  return TryLater(absl::ResourceExhaustedError(absl::StrCat(what, "; try again later")), env_->queue.ExpectedWaitNs());
}

// What gRPC's own retries heed goes into the trailer, too.
absl::Status DetectCall::TryLater(const absl::Status& status, int64_t retry_after_ns) {
  context_.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat((retry_after_ns + 999'999) / 1'000'000));
  return WithRetryAfter(status, retry_after_ns);
}

absl::Status DetectCall::SetDetect(Frame* frame) {
  const WireDetectRequest& request = frame->detect_request;
  if (!frame->Receive(&request_) || !ParseDetectRequest(frame->message_pieces, &frame->detect_request)) {
    return absl::InvalidArgumentError("request: not a serialized glint.v1.DetectRequest");
  }
  absl::Status pixels = frame->SetPixels(request.image, request.has_mask ? &request.mask : nullptr,
                                         service_->image_rules(IsUnixPeer(context_.peer())));
  frame->CountBytes(&request.image, nullptr, &env_->metrics);
  const auto options = OptionsFromWire(request.options, env_->options.max_features);
  if (!options.ok()) return options.status();
  if (!pixels.ok()) return pixels;
  frame->options = *options;
  frame->region = request.region;
  frame->pixels = ExpectedPixels(frame->image, frame->region, frame->bytes);
  return absl::OkStatus();
}

absl::Status DetectCall::SetMatch(Frame* frame) {
  const WireMatchRequest& request = frame->match_request;
  if (!frame->Receive(&request_) || !ParseMatchRequest(frame->message_pieces, &frame->match_request)) {
    return absl::InvalidArgumentError("request: not a serialized glint.v1.MatchRequest");
  }
  const absl::Span<const uint8_t> detector(reinterpret_cast<const uint8_t*>(request.detector.data()),
                                           request.detector.size());
  const auto options = OptionsFromWire({&detector, 1}, FeaturesOfAnEye(env_->options));
  if (!options.ok()) return options.status();
  const auto match = MatchOptionsFromWire(request.options);
  if (!match.ok()) return match.status();
  frame->options = *options;
  frame->match = *match;
  absl::Status status = frame->SetMatch(request.match, request.query, request.train, nullptr,
                                        env_->options.max_features, service_->image_rules(IsUnixPeer(context_.peer())));
  frame->CountBytes(frame->match.query.is_image ? &request.query : nullptr,
                    frame->match.train.is_image ? &request.train : nullptr, &env_->metrics);
  return status;
}

absl::Status DetectCall::Submit() {
  frame_ = service_->frames()->Take();
  ++env_->frames_in_flight;  // until the end
  Frame* const frame = frame_.get();
  frame->times.received_at = MonotonicNs();
  frame->bytes = static_cast<int64_t>(request_.Length());
  if (absl::Status s = method_.work == Work::kMatch ? SetMatch(frame) : SetDetect(frame); !s.ok()) return s;
  frame->sink = this;
  frame->times.queued_at = MonotonicNs();
  frame->times.receive_ns = frame->times.queued_at - frame->times.received_at;
  if (absl::Status s = frame->Join(client(), &env_->metrics); !s.ok()) return TryLater(s, frame->retry_after_ns);
  switch (env_->queue.Push(client()->detect_flow(), frame, FrameQueue::WhenFull::kReject)) {
    case FrameQueue::Admission::kQueued:
    case FrameQueue::Admission::kWaiting:
      return absl::OkStatus();
    case FrameQueue::Admission::kRejected:
      return Busy("queue: full (--queue-capacity or --max-pending-bytes)");
    case FrameQueue::Admission::kClosed:
      break;
  }
  return Service::DrainingError();
}

void DetectCall::OnFrameDone(FrameJob*, const Features& features) {
  if (frame_->cancelled) frame_->status.Update(absl::CancelledError("the client has gone"));
  if (frame_->status.ok()) frame_->PackReply(features);
  const grpc::ByteBuffer message = frame_->TakeMessage();  // freed when the reply is on its way
  std::unique_lock<std::mutex> lock(mutex_);
  if (frame_->status.ok()) {
    ++references_;
    stream_.WriteAndFinish(frame_->FinishReply<v1::DetectResponse>(&env_->metrics), grpc::WriteOptions(),
                           grpc::Status::OK, &finished_);
  } else {
    env_->metrics.FrameFailed(frame_->status.code(), MonotonicNs() - frame_->times.received_at, method_.work);
    Finish(frame_->status);
  }
  Drop(std::move(lock));
}

void DetectCall::OnFinished(bool ok) {
  if (ok && status_.ok()) env_->metrics.MessageSent(method_.counted);
  Drop(std::unique_lock<std::mutex>(mutex_));
}

void DetectCall::OnEnded(bool) {
  const bool cancelled = context_.IsCancelled();
  gone_ = cancelled;
  if (cancelled && frame_ != nullptr) frame_->cancelled = true;
  // Else a lane has it, or has had it.
  const bool taken_back = cancelled && frame_ != nullptr && env_->queue.Remove(frame_.get());
  std::unique_lock<std::mutex> lock(mutex_);
  if (cancelled) status_ = absl::CancelledError("the client has gone");
  if (taken_back) {
    env_->metrics.FrameFailed(absl::StatusCode::kCancelled, MonotonicNs() - frame_->times.received_at, method_.work);
    Finish(absl::CancelledError("the client has gone"));
    --references_;  // the queue's; Finish() has one
  }
  Drop(std::move(lock));
}

void DetectCall::Finish(const absl::Status& status) {
  ++references_;
  status_ = status;
  stream_.Finish(ToGrpc(status), &finished_);
}

void DetectCall::Drop(std::unique_lock<std::mutex> lock) {
  if (--references_ > 0) return;
  const int64_t duration_ns = MonotonicNs() - arrived_at_;
  env_->metrics.CallEnded(method_.counted, status_.code(), duration_ns);
  trace_.End(method_.name, status_, duration_ns);
  lock.unlock();
  if (frame_ != nullptr) {
    --env_->frames_in_flight;
    service_->frames()->Return(std::move(frame_));
  }
  if (counted_) service_->GiveBackDetectCall();
  service_->Unregister(this);
  delete this;
}

}  // namespace glint
