// Session slots of streams: admission, and the timeouts that end a stream whose client is idle.
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

}  // namespace

// Takes a session slot.
absl::Status StreamCall::Enter(const absl::Status& welcome) {
  if (!welcome.ok()) {
    if (absl::IsUnavailable(welcome)) env_->metrics.SessionRefused(SessionRefusal::kNone);
    return welcome;
  }
  SessionRefusal refusal = SessionRefusal::kNone;
  if (client()->name().empty() && context_.client_metadata().count(kCanaryKey) > 0) {
    env_->sessions.TakeReserved(&slot_);
    flow_.MakeUrgent();
  } else {
    refusal = env_->sessions.Take(client()->name(), &slot_);
    flow_.Join(client()->flows());
  }
  env_->metrics.SessionsAre(env_->sessions.open());
  if (refusal == SessionRefusal::kNone) return absl::OkStatus();
  env_->metrics.SessionRefused(refusal);
  return WithRetryAfter(env_->sessions.ErrorOf(refusal, client()->name()), kSessionRetryNs);
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
