#include "server/rpc/stream_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "server/base/allocations.h"
#include "server/net/listen.h"
#include "server/operations/detect/stream_options.h"
#include "server/wire/convert.h"

namespace glint {

void StreamCall::Request(const StreamMethod& method, Service* service, grpc::ServerCompletionQueue* queue) {
  auto* const call = new StreamCall(method, service, queue);
  call->context_.AsyncNotifyWhenDone(&call->ended_);
  service->async()->Request(method.async, &call->context_, &call->stream_, queue, &call->arrived_);
}

StreamCall::StreamCall(const StreamMethod& method, Service* service, grpc::ServerCompletionQueue* queue)
    : method_(method),
      service_(service),
      env_(service->env()),
      queue_(queue),
      stream_(&context_),
      sets_(env_->options.max_features) {}

void StreamCall::OnArrived(bool ok) {
  if (!ok) {  // the server stops; ended_ never comes
    delete this;
    return;
  }
  Request(method_, service_, queue_);
  arrived_at_ = active_at_ = MonotonicNs();
  local_ = IsUnixPeer(context_.peer());
  env_->metrics.CallStarted(method_.counted);
  trace_.Begin(env_, &context_);
  references_ = 2;  // ended_, and this function
  const absl::Status welcome = service_->Register(this, method_.async, &context_);
  std::unique_lock<std::mutex> lock(mutex_);
  if (absl::Status s = Enter(welcome); !s.ok()) End(s);
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

// Frames that no lane has begun are not worked on any more, so that the end is near.
void StreamCall::Revoke(const absl::Status& why) {
  std::lock_guard<std::mutex> lock(mutex_);
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
    env_->metrics.MessageReceived(method_.counted);
    if (session_.configured()) {
      ReadFrame();
    } else if (absl::Status s = ReadOptions(); !s.ok()) {
      std::lock_guard<std::mutex> lock(mutex_);
      End(s);
    }
  }
  std::unique_lock<std::mutex> lock(mutex_);
  input_ = Input::kNone;
  read_buffer_.Clear();
  Advance();
  Unref(std::move(lock));
}

absl::Status StreamCall::ReadOptions() {
  if (method_.work != Work::kDetect) {
    const auto options = ParsePairOptions(method_, &read_buffer_, env_->options);
    if (!options.ok()) return options.status();
    std::lock_guard<std::mutex> lock(mutex_);
    if (method_.work == Work::kTrack) {
      if (absl::Status s = BeginTracking(options->tracking); !s.ok()) return s;
    }
    if (method_.work == Work::kLocalize) {
      if (absl::Status s = BeginLocalizing(options->localization); !s.ok()) return s;
    }
    session_.Configure(*options, nullptr);
    return absl::OkStatus();
  }
  StreamOptionsMessage message;
  if (absl::Status s = ParseStreamOptions(&read_buffer_, &message); !s.ok()) return s;
  const auto options = FromProto(message.options, env_->options);
  if (!options.ok()) return options.status();
  std::unique_ptr<StreamMask> mask;
  if (message.has_mask) {
    ImageBytes mask_bytes;
    const auto source = MaskFromWire(message.mask, message.mask_pieces, service_->image_rules(local_), &mask_bytes);
    if (!source.ok()) return source.status();
    mask = std::make_unique<StreamMask>(*source);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  session_.Configure(*options, std::move(mask));
  return absl::OkStatus();
}

absl::Status StreamCall::BeginTracking(const TrackingOptions& options) {
  const int limit = env_->options.max_track_streams;
  const int streams = ++env_->track_streams;
  if (streams > limit) {
    --env_->track_streams;
    return LimitError("track streams", streams, limit, "--max-track-streams");
  }
  env_->metrics.TrackStreamsAre(streams);
  tracked_ = std::make_unique<TrackedStream>(options, env_->options.max_track_pixels);
  flow_.MakeSerial();
  return absl::OkStatus();
}

absl::Status StreamCall::BeginLocalizing(const LocalizationOptions& options) {
  auto made = Localization::Create(options);
  if (!made.ok()) return made.status();
  const int limit = env_->options.max_localize_streams;
  const int streams = ++env_->localize_streams;
  if (streams > limit) {
    --env_->localize_streams;
    return LimitError("localize streams", streams, limit, "--max-localize-streams");
  }
  env_->metrics.LocalizeStreamsAre(streams);
  localization_ = *std::move(made);
  flow_.MakeSerial();
  return absl::OkStatus();
}

void StreamCall::ReadFrame() {
  if (std::unique_ptr<Frame> frame = ParseFrame(); frame != nullptr) Admit(std::move(frame));
}

std::unique_ptr<Frame> StreamCall::ParseFrame() {
  FramePathScope frame_path;
  std::unique_ptr<Frame> owned = service_->frames()->Take();
  owned->times.received_at = MonotonicNs();
  owned->bytes = static_cast<int64_t>(read_buffer_.Length());
  const WireStreamRequest& request = owned->stream_request;
  const bool parsed = owned->Receive(&read_buffer_) && method_.parse(owned->message_pieces, &owned->stream_request);
  if (!parsed || request.content == WireStreamRequest::Content::kNone ||
      request.content == WireStreamRequest::Content::kOptions) {
    absl::Status status = absl::InvalidArgumentError("message: neither options nor frame is set");
    if (!parsed) {
      status = absl::InvalidArgumentError(absl::StrCat("message: not a serialized glint.v1.", method_.message));
    }
    if (parsed && request.content == WireStreamRequest::Content::kOptions) {
      status = absl::FailedPreconditionError("options: sent twice; only the first message of a stream carries them");
    }
    frame_path.Discard();
    service_->frames()->Return(std::move(owned));
    std::lock_guard<std::mutex> lock(mutex_);
    End(status);
    return nullptr;
  }
  owned->sink = this;
  owned->status = SetContent(owned.get());
  owned->status.Update(SetExpiry(request.frame.max_age_ns, session_.options().max_age_ns, owned.get()));
  if (owned->status.ok()) owned->status = owned->Join(client(), &env_->metrics);
  owned->times.queued_at = MonotonicNs();
  owned->times.receive_ns = owned->times.queued_at - owned->times.received_at;
  if (!owned->status.ok()) frame_path.Discard();
  return owned;
}

// What a lane, or an edit, needs of the message.
absl::Status StreamCall::SetContent(Frame* frame) {
  const WireStreamRequest& request = frame->stream_request;
  const WireFrame& wire = request.frame;
  const SessionOptions& options = session_.options();
  const ImageRules rules = service_->image_rules(local_);
  const int max_features = env_->options.max_features;
  frame->work = method_.work;
  if (request.content == WireStreamRequest::Content::kEdit) {
    frame->work = method_.work == Work::kTrack      ? Work::kEditTracks
                  : method_.work == Work::kLocalize ? Work::kMap
                                                    : Work::kEditSet;
  }
  frame->options = options.detector;
  absl::Status status;
  switch (frame->work) {
    case Work::kDetect:
      frame->stream_mask = session_.mask();
      frame->region = wire.region.wanted ? wire.region : options.region;
      status = frame->SetPixels(wire.image, wire.has_mask ? &wire.mask : nullptr, rules);
      frame->CountBytes(&wire.image, nullptr, &env_->metrics);
      frame->pixels = ExpectedPixels(frame->image, frame->region, frame->bytes);
      return status;
    case Work::kMatch:
      frame->match = options.match;
      status = frame->SetMatch(request.match, wire.image, wire.second, &sets_, max_features, rules);
      break;
    case Work::kStereo:
      frame->stereo = options.stereo;
      status = frame->SetStereo(rules);
      break;
    case Work::kEditSet:
      status = ValidateSet("add", request.edit.add, max_features);
      if (static_cast<int64_t>(request.edit.remove) > max_features) {
        status.Update(LimitError("remove", static_cast<int64_t>(request.edit.remove), max_features, "--max-features"));
      }
      return status;
    case Work::kTrack:
      return frame->SetTrack(tracked_.get(), rules, &env_->metrics);
    case Work::kEditTracks:
      if (frame->bytes <= static_cast<int64_t>(kMaxOptionsBytes)) return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat("edit: ", frame->bytes, " bytes are more than ", kMaxOptionsBytes, "; send it in parts"));
    case Work::kLocalize:
      status = frame->SetLocalize(localization_.get(), options.localization, rules);
      break;
    case Work::kMap:
      return frame->SetMap(localization_.get(), env_->maps);
  }
  const WireImage* const second = wire.has_second ? &wire.second : request.has_depth ? &request.depth : nullptr;
  frame->CountBytes(wire.has_image ? &wire.image : nullptr, second, &env_->metrics);
  return status;
}

// Once its turn to be answered has come, no lane has a frame of the stream.
void StreamCall::ApplyEdit() {
  if (edit_->work == Work::kMap) return PushMapRequest();
  Frame* const frame = std::exchange(edit_, nullptr);
  if (frame->work == Work::kEditTracks) {
    frame->ApplyTrackEdit(&tracked_->session, &env_->metrics);
  } else {
    frame->ApplyEdit(&sets_);
  }
  frame->ReleaseMessage();
  frame->in_session.done = true;
}

// Maps are large, so a lane has to do it. There is no other frame of the stream that could take its place in the queue.
void StreamCall::PushMapRequest() {
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

void StreamCall::OnFrameDone(FrameJob* job, const Features& features) {
  auto* const frame = static_cast<Frame*>(job);
  const bool cancelled = job->cancelled;
  for (int c = 0; c < frame->tracked.count; ++c) env_->metrics.TracksChanged(frame->tracked.cameras[c]);
  if (frame->status.ok() && localization_ != nullptr) {
    env_->metrics.Located(frame->located, map_size_);
    map_size_ = frame->located.size;
  }
  if (frame->status.ok() && !cancelled) frame->PackStreamReply(features);
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
      env_->metrics.MessageSent(method_.counted);
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
    if (edit_ != nullptr && !edit_on_lane_) {
      session_.Drop(std::exchange(edit_, nullptr), DropReason::kNone, absl::CancelledError("the client has gone"));
    }
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

// Starts whatever can start now.
void StreamCall::Advance() {
  if (alarm_set_ && phase_ == Phase::kBroken) alarm_.Cancel();
  if (phase_ == Phase::kBroken) {
    while (!writing_reply_ && session_.NextReply() != nullptr) {
      const FrameJob& frame = *session_.NextReply();
      env_->metrics.FrameFailed(absl::StatusCode::kCancelled, MonotonicNs() - frame.times.received_at, frame.work);
      ReleaseFirst();
    }
    return;
  }
  if (edit_ != nullptr && !edit_on_lane_ && session_.oldest() == edit_) ApplyEdit();
  if (auto* const frame = static_cast<Frame*>(session_.NextReply()); frame != nullptr && !writing_reply_) {
    if (!frame->status.ok()) {
      frame->stream_response.set_frame_id(frame->stream_request.frame.frame_id);
      ToProto(*frame, frame->stream_response.mutable_status());
      frame->reply = ToSlice(frame->stream_response);
    }
    writing_reply_ = true;
    active_at_ = MonotonicNs();
    ++references_;
    stream_.Write(frame->FinishReply<v1::DetectStreamResponse>(&env_->metrics), &written_);
  }
  if (phase_ == Phase::kOpen && input_ == Input::kNone && !waiting_for_room_ && edit_ == nullptr && !session_.full()) {
    input_ = Input::kReading;
    ++references_;
    stream_.Read(&read_buffer_, &read_);
  }
  if (phase_ == Phase::kEnding && input_ != Input::kParsing && session_.empty()) {
    phase_ = Phase::kFinishing;
    if (alarm_set_) alarm_.Cancel();
    ++references_;
    stream_.Finish(ToGrpc(end_), &finished_);
  }
}

void StreamCall::ReleaseFirst() {
  std::unique_ptr<Frame> frame(static_cast<Frame*>(session_.NextReply()));
  trace_.Frame(frame->stream_request.frame.frame_id, frame->status);
  session_.PopFront();
  --env_->frames_in_flight;
  service_->frames()->Return(std::move(frame));
}

void StreamCall::Unref(std::unique_lock<std::mutex> lock) {
  if (--references_ > 0) return;
  if (tracked_ != nullptr) {
    env_->metrics.TracksLeft(tracked_->session.live());
    env_->metrics.TrackStreamsAre(--env_->track_streams);
  }
  if (localization_ != nullptr) {
    env_->metrics.MapLeft(map_size_);
    env_->metrics.LocalizeStreamsAre(--env_->localize_streams);
  }
  place_.GiveBack();
  env_->metrics.SessionsAre(env_->sessions.open());
  const int64_t duration_ns = MonotonicNs() - arrived_at_;
  env_->metrics.CallEnded(method_.counted, end_.code(), duration_ns);
  trace_.End(method_.name, end_, duration_ns);
  lock.unlock();
  service_->Unregister(this);
  delete this;
}

}  // namespace glint
