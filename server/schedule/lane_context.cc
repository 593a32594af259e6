#include "server/schedule/lane_context.h"

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {

absl::Status CheckNotCancelled(FrameJob* job) {
  if (job->cancelled.load(std::memory_order_relaxed)) return absl::CancelledError("the client has gone");
  if (job->expires_at_ns == 0) return absl::OkStatus();
  const int64_t now = MonotonicNs();
  if (!job->Expired(now)) return absl::OkStatus();
  job->drop = DropReason::kExpired;
  const int64_t age_ns = now - job->times.received_at;
  ErrorInfo info;
  info.reason = "OVER_LIMIT";
  info.field = "max_age_ns";
  info.value = absl::StrCat(age_ns);
  info.highest = absl::StrCat(job->expires_at_ns - job->times.received_at);
  return WithErrorInfo(
      absl::DeadlineExceededError(absl::StrCat("max_age_ns: expired after waiting for ", age_ns / 1000, " us")), info);
}

}  // namespace glint
