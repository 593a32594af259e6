// How a stream gets its place among the sessions, and how a client that is silent loses it.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/canary.h"
#include "server/rpc/peer.h"
#include "server/rpc/stream_call.h"

namespace glint {

// Takes a place among the sessions.
absl::Status StreamCall::Enter(bool welcome) {
  const std::string peer = PeerOf(context_.peer());
  SessionRefusal refusal = SessionRefusal::kNone;
  if (welcome && peer.empty() && context_.client_metadata().count(kCanaryKey) > 0) {
    env_->sessions.TakeReserved(&place_);
    flow_.MakeUrgent();
  } else if (welcome) {
    refusal = env_->sessions.Take(peer, &place_);
  }
  env_->metrics.SessionsAre(env_->sessions.open());
  if (welcome && refusal == SessionRefusal::kNone) return absl::OkStatus();
  env_->metrics.SessionRefused(refusal);
  return welcome ? env_->sessions.ErrorOf(refusal, peer) : Service::DrainingError();
}

// `at`: MonotonicNs(). The caller has counted the alarm's reference.
void StreamCall::SetAlarm(int64_t at) {
  alarm_set_ = true;
  alarm_.Set(queue_, absl::ToChronoTime(absl::Now() + absl::Nanoseconds(at - MonotonicNs())), &alarmed_);
}

// When the client will have been silent for too long if it stays so; it is not while answers are owed to it.
int64_t StreamCall::SilentUntil(int64_t now) const {
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
  if (const int64_t until = SilentUntil(now); now < until) return SetAlarm(until);

  const std::string limit = absl::FormatDuration(env_->options.stream_idle_timeout);
  if (writing_reply_) {
    env_->metrics.SessionTimedOut(Silence::kReply);
    lock.unlock();
    Break(absl::DeadlineExceededError(
        absl::StrCat("reply: not taken within ", limit, " (--stream-idle-timeout); read the replies")));
    context_.TryCancel();  // the client could not be told the status either
    lock.lock();
  } else if (!session_.configured()) {
    env_->metrics.SessionTimedOut(Silence::kFirstMessage);
    End(absl::DeadlineExceededError(absl::StrCat("options: not received within ",
                                                 absl::FormatDuration(env_->options.stream_first_message_timeout),
                                                 " (--stream-first-message-timeout); send them first")));
  } else {
    env_->metrics.SessionTimedOut(Silence::kIdle);
    End(absl::DeadlineExceededError(
        absl::StrCat("frame: none received within ", limit, " (--stream-idle-timeout); open a new stream")));
  }
  Advance();
  Unref(std::move(lock));
}

}  // namespace glint
