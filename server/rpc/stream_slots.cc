// Places of streams: admission, preemption, and the timeouts that end a stream whose client is idle.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/grpc_deadline.h"
#include "server/rpc/canary.h"
#include "server/rpc/stream_call.h"
#include "server/wire/status_details.h"

namespace glint {
namespace {

// RetryInfo of a refused stream. When an open stream ends is unknown.
constexpr int64_t kSessionRetryNs = 1'000'000'000;
// Time that the client of a preempted stream has to take replies and status.
constexpr int64_t kStreamEvictionNs = 100'000'000;

}  // namespace

void StreamCall::Enter() {
  Places& sessions = env_->sessions;
  PlacePart* const part = method_.operation->places();
  Places::Admission admission = Places::Admission::kGranted;
  if (client()->name().empty() && context_.client_metadata().count(kCanaryKey) > 0) {
    flow_.MakeUrgent();
    sessions.TakeReserved(&place_);
    PlaceGranted();
  } else {
    flow_.Join(client()->flows());
    admission = sessions.Enter(counted_as(), part, &place_);
  }
  env_->metrics.SessionsAre(sessions.open());
  if (admission == Places::Admission::kGranted || admission == Places::Admission::kWaiting) return;
  const bool of_peer = admission == Places::Admission::kOverShare || admission == Places::Admission::kOverSiteShare;
  env_->metrics.SessionRefused(of_peer ? SessionRefusal::kPeer : SessionRefusal::kTotal);
  env_->metrics.PlaceRefused(PlaceKind::kStream);
  std::lock_guard<std::mutex> lock(mutex_);
  End(WithRetryAfter(sessions.ErrorOf(admission, counted_as(), part), kSessionRetryNs));
}

void StreamCall::PlaceGranted() {
  std::lock_guard<std::mutex> lock(mutex_);
  has_place_ = true;
  if (references_ > 0) Advance();
}

void StreamCall::Preempt() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (references_ == 0 || gone_) return;  // it ends already
  env_->metrics.PlacePreempted(PlaceKind::kStream);
  preempted_at_ = MonotonicNs();
  if (alarm_set_) {
    alarm_.Cancel();  // OnAlarm() sets it again
  } else {
    ++references_;
    SetAlarm(preempted_at_ + kStreamEvictionNs);
  }
  EndSoon(WithRetryAfter(env_->sessions.PreemptedError(), kSessionRetryNs));
}

// Sets the alarm for `at` (MonotonicNs()). The caller has counted the alarm's reference.
void StreamCall::SetAlarm(int64_t at) {
  alarm_set_ = true;
  alarm_.Set(queue_, GrpcDeadline(absl::Nanoseconds(at - MonotonicNs())), &alarmed_);
}

// MonotonicNs() at which the stream times out unless the client sends or reads. The deadline moves on while the server
// owes replies.
int64_t StreamCall::IdleDeadline(int64_t now) const {
  const ServerOptions& options = env_->options;
  if (!session_.configured()) return arrived_at_ + absl::ToInt64Nanoseconds(options.stream_first_message_timeout);
  const bool owed = !session_.empty() && !writing_reply_;
  return (owed ? now : active_at_) + absl::ToInt64Nanoseconds(options.stream_idle_timeout);
}

void StreamCall::OnAlarm(bool ok) {
  std::unique_lock<std::mutex> lock(mutex_);
  alarm_set_ = false;
  if (preempted_at_ != 0) {
    if (gone_) return Unref(std::move(lock));
    if (const int64_t until = preempted_at_ + kStreamEvictionNs; MonotonicNs() < until) return SetAlarm(until);
    lock.unlock();
    context_.TryCancel();  // OnEnded() breaks the stream
    lock.lock();
    return Unref(std::move(lock));
  }
  if (!ok || phase_ == Phase::kFinishing || phase_ == Phase::kBroken) return Unref(std::move(lock));
  const int64_t now = MonotonicNs();
  if (const int64_t until = IdleDeadline(now); now < until) return SetAlarm(until);

  const std::string limit = absl::FormatDuration(env_->options.stream_idle_timeout);
  if (writing_reply_) {
    env_->metrics.SessionTimedOut(StreamTimeout::kReply);
    lock.unlock();
    Break(absl::DeadlineExceededError(
        absl::StrCat("reply: not taken within ", limit, " (--stream-idle-timeout); read the replies")));
    context_.TryCancel();  // the client could not be told the status either
    lock.lock();
  } else if (!session_.configured()) {
    env_->metrics.SessionTimedOut(StreamTimeout::kFirstMessage);
    End(absl::DeadlineExceededError(absl::StrCat("options: not received within ",
                                                 absl::FormatDuration(env_->options.stream_first_message_timeout),
                                                 " (--stream-first-message-timeout); send them first")));
  } else {
    env_->metrics.SessionTimedOut(StreamTimeout::kIdle);
    End(absl::DeadlineExceededError(
        absl::StrCat("frame: none received within ", limit, " (--stream-idle-timeout); open a new stream")));
  }
  Advance();
  Unref(std::move(lock));
}

}  // namespace glint
