#include "server/rpc/stream_call.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "server/base/allocations.h"
#include "server/net/listen.h"
#include "server/wire/client_status.h"
#include "server/wire/convert.h"
#include "server/wire/envelope_reply.h"

namespace glint {

void StreamCall::Request(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue) {
  auto* const call = new StreamCall(method, service, queue);
  call->context_.AsyncNotifyWhenDone(&call->ended_);
  service->async()->Request(method.async(), &call->context_, &call->stream_, queue, &call->arrived_);
}

StreamCall::StreamCall(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue)
    : method_(method), service_(service), env_(service->env()), queue_(queue), stream_(&context_) {}

void StreamCall::OnArrived(bool ok) {
  if (!ok) {  // the server stops; ended_ never comes
    delete this;
    return;
  }
  Request(method_, service_, queue_);
  arrived_at_ = active_at_ = MonotonicNs();
  local_ = IsUnixPeer(context_.peer());
  env_->metrics.CallStarted(method_.counted());
  trace_.Begin(env_, &context_);
  references_ = 2;  // ended_, and this function
  const absl::Status welcome = service_->Register(this, method_.async(), &context_);
  if (welcome.ok()) Enter();
  if (absl::IsUnavailable(welcome)) env_->metrics.SessionRefused(SessionRefusal::kDraining);
  std::unique_lock<std::mutex> lock(mutex_);
  if (!welcome.ok()) End(welcome);
  if (phase_ == Phase::kOpen && !place_.reserved()) {
    ++references_;
    const ServerOptions& options = env_->options;
    const absl::Duration first = std::min(options.stream_first_message_timeout, options.stream_idle_timeout);
    SetAlarm(arrived_at_ + absl::ToInt64Nanoseconds(first));
  }
  Advance();
  Unref(std::move(lock));
}

void StreamCall::Drain() {
  std::lock_guard<std::mutex> lock(mutex_);
  End(Service::DrainingError());
  Advance();
}

void StreamCall::Revoke(const absl::Status& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  EndSoon(why);
}

// Ends the stream soon: frames that no lane has begun are cancelled.
void StreamCall::EndSoon(const absl::Status& why) {
  if (phase_ != Phase::kOpen && phase_ != Phase::kEnding) return;
  phase_ = Phase::kEnding;
  end_ = why;
  session_.CancelAll();
  Advance();
}

void StreamCall::OnRead(bool ok) {
  bool wanted;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (ok) active_at_ = MonotonicNs();
    wanted = ok && phase_ == Phase::kOpen;
    if (!ok) End(absl::OkStatus());  // half-closed, or gone
    if (wanted) input_ = Input::kParsing;
  }
  if (wanted) {
    env_->metrics.MessageReceived(method_.counted());
    if (!session_.configured()) return BeginSoon();
    ReadFrame();
  }
  HasRead();
}

// Has the stream begin on a thread that serves no other calls. OnRead()'s reference goes with it.
void StreamCall::BeginSoon() {
  struct Beginning final : BackgroundTask {
    explicit Beginning(StreamCall* its_call) : call(its_call) {}
    void Run() override { call->Begin(); }
    StreamCall* const call;
  };
  service_->beginnings()->Add(std::make_shared<Beginning>(this));
}

void StreamCall::Begin() {
  if (const absl::Status s = ReadOptions(); !s.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    End(s);
  }
  HasRead();
}

// What was read has been seen to. Gives back OnRead()'s reference.
void StreamCall::HasRead() {
  std::unique_lock<std::mutex> lock(mutex_);
  input_ = Input::kNone;
  read_buffer_.Clear();
  Advance();
  Unref(std::move(lock));
}

absl::Status StreamCall::ReadOptions() {
  std::vector<absl::Span<const uint8_t>> pieces;
  if (!PiecesOf(&read_buffer_, &pieces)) {
    return absl::InvalidArgumentError(absl::StrCat("message: not a serialized ", method_.row->request));
  }
  std::array<ImageBytes, kMaxMessageImages> images;
  SessionOptions options;
  GLINT_ASSIGN_OR_RETURN(
      auto state,
      method_.operation->Begin({pieces, service_->image_rules(*this, local_), absl::MakeSpan(images)}, &options));
  std::lock_guard<std::mutex> lock(mutex_);
  state_ = std::move(state);
  range_ = StreamRange(options.gray_range);
  if (state_->serial() || range_.by_percentile()) flow_.MakeSerial();
  session_.Configure(options);
  return absl::OkStatus();
}

void StreamCall::ReadFrame() {
  if (std::unique_ptr<Frame> frame = ParseFrame(); frame != nullptr) Admit(std::move(frame));
}

// Receives a message and reads its envelope. Not OK: the stream must end.
absl::StatusOr<WireEnvelope> StreamCall::Read(Frame* frame) {
  const WireEnvelope* const envelope =
      frame->Receive(&read_buffer_) ? state_->Read(frame->message_pieces, frame) : nullptr;
  if (envelope == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("message: not a serialized ", method_.row->request));
  }
  switch (envelope->content) {
    case WireContent::kNone:
      return ContradictionError("message", "neither options nor frame is set");
    case WireContent::kOptions:
      return absl::FailedPreconditionError("options: sent twice; only the first message of a stream carries them");
    case WireContent::kFrame:
    case WireContent::kEdit:
      break;
  }
  return *envelope;
}

std::unique_ptr<Frame> StreamCall::ParseFrame() {
  FramePathScope frame_path;
  std::unique_ptr<Frame> owned = service_->frames()->Take();
  owned->times.received_at = MonotonicNs();
  owned->bytes = static_cast<int64_t>(read_buffer_.Length());
  owned->Begin(method_, state_.get(), this);
  const auto envelope = Read(owned.get());
  if (!envelope.ok()) {
    frame_path.Discard();
    service_->frames()->Return(std::move(owned));
    std::lock_guard<std::mutex> lock(mutex_);
    End(envelope.status());
    return nullptr;
  }
  owned->id = envelope->frame_id;
  owned->is_edit = envelope->content == WireContent::kEdit;
  ImageRules rules = service_->image_rules(*this, local_);
  if (range_.wanted()) rules.range = &range_;
  owned->status = state_->Parse(owned->received(rules), owned.get());
  owned->status.Update(SetExpiry(envelope->max_age_ns, session_.options().max_age_ns, owned.get()));
  if (owned->status.ok()) owned->status = owned->Join(client(), &env_->metrics);
  owned->times.queued_at = MonotonicNs();
  owned->times.receive_ns = owned->times.queued_at - owned->times.received_at;
  if (!owned->status.ok()) frame_path.Discard();
  return owned;
}

// Applies the edit, whose turn has come: no lane has a frame of the stream, unless the edit let it pass.
void StreamCall::ApplyEdit(Frame* edit) {
  if (!edit->ApplyEdit()) return PushEdit();
  if (edit == edit_) edit_ = nullptr;
  edit->ReleaseMessage();
  edit->in_session.done = true;
}

// Drops the edits that no lane or queue has.
void StreamCall::DropEdits(const absl::Status& why) {
  for (size_t i = 0; i < session_.size(); ++i) {
    FrameJob* const job = session_.at(i);
    if (!job->is_edit || job->in_session.done || (job == edit_ && edit_on_lane_)) continue;
    session_.Drop(job, DropReason::kNone, why);
    if (job == edit_) edit_ = nullptr;
  }
}

// Queues the edit for a lane. No other frame of the stream could displace it in the queue.
void StreamCall::PushEdit() {
  switch (env_->queue.Push(&flow_, edit_, FrameQueue::WhenFull::kWait)) {
    case FrameQueue::Admission::kWaiting:
      waiting_for_room_ = true;
      edit_on_lane_ = true;
      ++references_;
      return;
    case FrameQueue::Admission::kQueued:
      edit_on_lane_ = true;
      ++references_;
      return;
    case FrameQueue::Admission::kRejected:
    case FrameQueue::Admission::kClosed:
      session_.Drop(std::exchange(edit_, nullptr), DropReason::kNone, Service::DrainingError());
  }
}

void StreamCall::OnFrameAdmitted(FrameJob*) {
  std::lock_guard<std::mutex> lock(mutex_);
  waiting_for_room_ = false;
  Advance();
}

void StreamCall::OnFrameRun(FrameJob* job) {
  if (job->status.ok() && !job->cancelled) static_cast<Frame*>(job)->PackReply();
}

void StreamCall::OnFrameDone(FrameJob* job) {
  auto* const frame = static_cast<Frame*>(job);
  const bool cancelled = job->cancelled;
  const grpc::ByteBuffer message = frame->TakeMessage();  // freed when the reply is on its way
  std::unique_lock<std::mutex> lock(mutex_);
  if (frame == edit_) {
    edit_ = nullptr;
    edit_on_lane_ = false;
  }
  if (cancelled && phase_ == Phase::kEnding) frame->status = end_;  // revoked
  frame->in_session.done = true;
  Advance();
  Unref(std::move(lock));
}

void StreamCall::OnWritten(bool ok) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    writing_reply_ = false;
    active_at_ = MonotonicNs();
    if (ok) {
      env_->metrics.MessageSent(method_.counted());
      ReleaseFirst();
    }
  }
  ok ? AdmitHeld() : Break(absl::CancelledError("the client has gone"));
  std::unique_lock<std::mutex> lock(mutex_);
  Advance();
  Unref(std::move(lock));
}

void StreamCall::OnFinished(bool) { Unref(std::unique_lock<std::mutex>(mutex_)); }

void StreamCall::OnEnded(bool) {
  if (context_.IsCancelled()) Break(absl::CancelledError("the client has gone"));
  std::unique_lock<std::mutex> lock(mutex_);
  gone_ = true;
  if (alarm_set_) alarm_.Cancel();
  Advance();
  Unref(std::move(lock));
}

void StreamCall::Break(const absl::Status& why) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (phase_ == Phase::kFinishing) return;  // then nothing is unanswered
    if (phase_ != Phase::kBroken) end_ = why;
    phase_ = Phase::kBroken;
    session_.CancelAll();
    if (session_.held() != nullptr) {
      session_.Drop(session_.held(), DropReason::kNone, absl::CancelledError("the client has gone"));
    }
    DropEdits(absl::CancelledError("the client has gone"));
  }
  FrameList removed = env_->queue.Remove(&flow_);
  std::lock_guard<std::mutex> lock(mutex_);
  while (FrameJob* job = removed.PopFront()) {
    if (job == edit_) edit_ = nullptr;
    session_.Drop(job, DropReason::kNone, absl::CancelledError("the client has gone"));
    --references_;  // not the last: the caller holds one
  }
}

void StreamCall::End(const absl::Status& status) {
  if (phase_ != Phase::kOpen) return;
  phase_ = Phase::kEnding;
  end_ = status;
}

void StreamCall::Advance() {
  StartWhatCan();
  if (state_ != nullptr && state_->awaits_messages()) SayWhatMayCome();
}

// Tells the queue before which frames' answers no further message can come.
void StreamCall::SayWhatMayCome() {
  if (input_ == Input::kParsing) return env_->queue.MoreMayCome(&flow_, true);
  const bool is_read_on = phase_ == Phase::kOpen && edit_ == nullptr;
  // If nothing is being read now, it will be once the oldest is answered.
  const FrameJob* const oldest = input_ == Input::kReading ? nullptr : session_.oldest();
  env_->queue.MoreMayCome(&flow_, is_read_on, oldest);
}

// Starts all operations that can start now.
void StreamCall::StartWhatCan() {
  if (alarm_set_ && phase_ == Phase::kBroken) alarm_.Cancel();
  if (phase_ == Phase::kBroken) {
    while (!writing_reply_ && session_.NextReply() != nullptr) {
      const Frame& frame = *static_cast<Frame*>(session_.NextReply());
      Metrics::FrameFailed(frame.counters(), absl::StatusCode::kCancelled, MonotonicNs() - frame.times.received_at);
      ReleaseFirst();
    }
    return;
  }
  if (auto* const oldest = static_cast<Frame*>(session_.oldest());
      oldest != nullptr && oldest->is_edit && !oldest->in_session.done && !edit_on_lane_) {
    ApplyEdit(oldest);
  }
  if (auto* const frame = static_cast<Frame*>(session_.NextReply()); frame != nullptr && !writing_reply_) {
    if (!frame->status.ok()) {
      frame->failure.set_frame_id(frame->id);
      frame->status = ForClient(frame->status, env_->options);
      ToProto(*frame, frame->failure.mutable_status());
      frame->reply = ToSlice(frame->failure);
    }
    writing_reply_ = true;
    active_at_ = MonotonicNs();
    ++references_;
    stream_.Write(frame->FinishReply(&env_->metrics), &written_);
  }
  if (phase_ == Phase::kOpen && has_place_ && input_ == Input::kNone && !waiting_for_room_ && edit_ == nullptr &&
      !session_.full()) {
    input_ = Input::kReading;
    ++references_;
    stream_.Read(&read_buffer_, &read_);
  }
  if (phase_ == Phase::kEnding && input_ != Input::kParsing && session_.empty()) {
    phase_ = Phase::kFinishing;
    place_.Leave();
    if (alarm_set_) alarm_.Cancel();
    ++references_;
    stream_.Finish(ToGrpc(ForClient(end_, env_->options)), &finished_);
  }
  place_.SilentSince(session_.empty() || writing_reply_ ? active_at_ : Place::kBusy);
}

void StreamCall::ReleaseFirst() {
  std::unique_ptr<Frame> frame(static_cast<Frame*>(session_.NextReply()));
  trace_.Frame(frame->id, frame->status);
  session_.PopFront();
  --env_->frames_in_flight;
  service_->frames()->Return(std::move(frame));
}

void StreamCall::Unref(std::unique_lock<std::mutex> lock) {
  if (--references_ > 0) return;
  state_ = nullptr;
  const int64_t duration_ns = MonotonicNs() - arrived_at_;
  env_->metrics.CallEnded(method_.counted(), end_.code(), duration_ns);
  trace_.End(method_.row->name, end_, duration_ns);
  lock.unlock();
  place_.GiveBack();
  env_->metrics.SessionsAre(env_->sessions.open());
  service_->Unregister(this);
  delete this;
}

}  // namespace glint
