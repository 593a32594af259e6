#include "server/rpc/small_call.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "features/error.h"
#include "proto/grpc_deadline.h"
#include "server/wire/client_status.h"
#include "server/wire/convert.h"

namespace glint {
namespace {

// Period of the deadline check of an active call.
constexpr absl::Duration kTick = absl::Milliseconds(100);
// Time that the client of a preempted call has to read the status.
constexpr int64_t kEvictionNs = 100'000'000;

std::string ToString(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!bytes.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

grpc::ByteBuffer ToByteBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

SmallCall::SmallCall(Service* service, grpc::ServerCompletionQueue* queue, std::optional<Method> counted,
                     Places* places, PlaceKind kind)
    : service_(service), queue_(queue), counted_(counted), stream_(&context_), places_(places), kind_(kind) {}

void SmallCall::Request(AsyncService::Method method) {
  asked_ = method;
  context_.AsyncNotifyWhenDone(&ended_);
  service_->async()->Request(method, &context_, &stream_, queue_, &arrived_);
}

void SmallCall::OnArrived(bool ok) {
  if (!ok) {  // the server stops; ended_ never comes
    delete this;
    return;
  }
  RequestNext();
  arrived_at_ = MonotonicNs();
  if (counted_.has_value()) service_->env()->metrics.CallStarted(*counted_);
  absl::Status admitted = service_->Register(this, asked_, &context_);
  if (admitted.ok()) admitted = Admit();
  std::unique_lock<std::mutex> lock(mutex_);
  references_ = 2;  // ended_, and this function
  deadline_ns_ = arrived_at_ + absl::ToInt64Nanoseconds(service_->env()->options.small_call_timeout);
  SetAlarm();
  if (admitted.ok()) {
    lock.unlock();
    admitted = TakePlace();
    lock.lock();
  }
  if (over_) {  // it has lost its place already
  } else if (admitted.ok()) {
    waiting_ = true;
    lock.unlock();
    service_->receive_slots()->Enter(this, false);
    lock.lock();
  } else {
    End(admitted);
  }
  Unref(std::move(lock));
}

void SmallCall::Revoke(const absl::Status& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!over_ && !writing_) End(why);
}

void SmallCall::Receive() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (over_) return;
  waiting_ = false;
  ++references_;
  stream_.Read(&request_, &read_);
}

absl::Status SmallCall::TakePlace() {
  const Places::Admission admission = places_->Enter(counted_as(), nullptr, &place_);
  if (admission == Places::Admission::kGranted || admission == Places::Admission::kWaiting) return absl::OkStatus();
  Refuse(SmallRefusal::kTooMany);
  service_->env()->metrics.PlaceRefused(kind_);
  return places_->ErrorOf(admission, counted_as(), nullptr);
}

absl::Status SmallCall::MoveTo(Places* places, PlaceKind kind) {
  place_.GiveBack();
  places_ = places;
  kind_ = kind;
  return TakePlace();
}

void SmallCall::LoseSlot() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (over_) return;
  constexpr char kFlag[] = "--max-small-calls";
  Displace(ExhaustedError("request",
                          absl::StrCat("not there, and others need its place (", kFlag, "); try again later"),
                          absl::StrCat(service_->env()->options.max_small_calls), kFlag));
}

void SmallCall::Preempt() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (references_ == 0 || done_) return;  // it ends already
  service_->env()->metrics.PlacePreempted(kind_);
  if (replying_ || writing_) {  // the client could not be told a status either
    status_.Update(places_->PreemptedError());
    over_ = true;
    context_.TryCancel();
    return;
  }
  if (over_) return;
  Displace(places_->PreemptedError());
  const bool waited = std::exchange(waiting_, false);
  lock.unlock();
  if (waited) service_->receive_slots()->Leave(this);
}

void SmallCall::Displace(const absl::Status& why) {
  Refuse(SmallRefusal::kDisplaced);
  End(why);
  deadline_ns_ = MonotonicNs() + kEvictionNs;
  staying_ = false;
  if (!alarm_set_) SetAlarm();
}

void SmallCall::SetAlarm() {
  alarm_set_ = true;
  ++references_;
  alarm_.Set(queue_, GrpcDeadline(kTick), &alarmed_);
}

void SmallCall::OnRead(bool ok) {
  service_->receive_slots()->Leave(this);
  place_.SilentSince(MonotonicNs());
  bool wanted;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    wanted = !over_;
  }
  Answer answer;
  if (wanted) answer = AnswerTo(ok);
  request_.Clear();
  std::unique_lock<std::mutex> lock(mutex_);
  if (!over_ && !answer.status.ok()) {
    End(answer.status);
  } else if (!over_ && wanted) {
    switch (answer.then) {
      case Answer::Then::kEnd:
        if (!ok) {
          End(absl::OkStatus());
          break;
        }
        over_ = replying_ = true;
        ++references_;
        stream_.WriteAndFinish(ToByteBuffer(answer.reply), grpc::WriteOptions(), grpc::Status::OK, &finished_);
        break;
      case Answer::Then::kNextMessage:
        Write(answer.reply);
        break;
      case Answer::Then::kStay:
        break;  // see AnswerTo()
    }
    deadline_ns_ = MonotonicNs() + absl::ToInt64Nanoseconds(service_->env()->options.small_call_timeout);
  }
  Unref(std::move(lock));
}

SmallCall::Answer SmallCall::AnswerTo(bool ok) {
  Answer answer;
  if (!ok) {
    answer.status = NoMoreMessages();
    return answer;
  }
  if (request_.Length() > kMaxSmallMessageBytes) {
    Refuse(SmallRefusal::kTooLarge);
    answer.status = ExhaustedError("request",
                                   absl::StrCat(request_.Length(), " bytes are over this server's limit of ",
                                                kMaxSmallMessageBytes, " for calls without a picture"),
                                   absl::StrCat(kMaxSmallMessageBytes), "");
    return answer;
  }
  if (counted_.has_value()) service_->env()->metrics.MessageReceived(*counted_);
  answer = Serve(ToString(request_));
  if (answer.then == Answer::Then::kStay) {
    std::lock_guard<std::mutex> lock(mutex_);
    staying_ = true;
  }
  return answer;
}

void SmallCall::Refuse(SmallRefusal reason) { service_->env()->metrics.SmallCallRefused(reason); }

void SmallCall::Push(std::string reply) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (over_) return;
  if (writing_) {
    pushed_ = std::move(reply);
  } else {
    Write(reply);
  }
}

void SmallCall::Write(const std::string& reply) {
  writing_ = true;
  ++references_;
  stream_.Write(ToByteBuffer(reply), &written_);
}

void SmallCall::OnWritten(bool ok) {
  std::unique_lock<std::mutex> lock(mutex_);
  writing_ = false;
  if (!ok) over_ = true;  // the client has gone
  if (!over_ && pushed_.has_value()) {
    Write(*std::exchange(pushed_, std::nullopt));
  } else if (!over_ && !staying_) {
    deadline_ns_ = MonotonicNs() + absl::ToInt64Nanoseconds(service_->env()->options.small_call_timeout);
    waiting_ = true;
    lock.unlock();
    service_->receive_slots()->Enter(this, true);
    lock.lock();
  }
  Unref(std::move(lock));
}

void SmallCall::End(const absl::Status& status) {
  over_ = true;
  status_ = status;
  deadline_ns_ = MonotonicNs() + absl::ToInt64Nanoseconds(service_->env()->options.small_call_timeout);
  ++references_;
  stream_.Finish(ToGrpc(ForClient(status, service_->env()->options)), &finished_);
}

void SmallCall::OnAlarm(bool ok) {
  std::unique_lock<std::mutex> lock(mutex_);
  alarm_set_ = false;
  if (!ok || done_ || staying_) return Unref(std::move(lock));
  if (MonotonicNs() >= deadline_ns_) {
    if (!over_) Refuse(SmallRefusal::kLate);
    if (over_ || writing_) {  // the client takes nothing
      context_.TryCancel();
      return Unref(std::move(lock));
    }
    const absl::Duration timeout = service_->env()->options.small_call_timeout;
    End(absl::DeadlineExceededError(
        absl::StrCat("request: not received within ", absl::FormatDuration(timeout), " (--small-call-timeout)")));
  }
  SetAlarm();
  const bool poll = waiting_ && !over_;
  --references_;  // of the alarm before; that of the new one is left
  lock.unlock();
  if (poll) service_->receive_slots()->Poll();
}

void SmallCall::OnFinished(bool ok) {
  std::unique_lock<std::mutex> lock(mutex_);
  replying_ = false;
  if (ok && status_.ok() && counted_.has_value()) service_->env()->metrics.MessageSent(*counted_);
  Unref(std::move(lock));
}

void SmallCall::OnEnded(bool) {
  std::unique_lock<std::mutex> lock(mutex_);
  done_ = true;
  over_ = true;
  if (context_.IsCancelled() && status_.ok()) status_ = absl::CancelledError("the client has gone");
  if (alarm_set_) alarm_.Cancel();
  Unref(std::move(lock));
}

void SmallCall::Unref(std::unique_lock<std::mutex> lock) {
  if (--references_ > 0) return;
  lock.unlock();
  service_->receive_slots()->Leave(this);
  if (counted_.has_value()) {
    service_->env()->metrics.CallEnded(*counted_, status_.code(), MonotonicNs() - arrived_at_);
  }
  Ended();
  place_.GiveBack();
  service_->Unregister(this);
  delete this;
}

}  // namespace glint
