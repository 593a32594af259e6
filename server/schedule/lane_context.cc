#include "server/schedule/lane_context.h"

#include "absl/strings/str_cat.h"

namespace glint {

absl::Status CheckNotCancelled(FrameJob* job) {
  if (job->cancelled.load(std::memory_order_relaxed)) return absl::CancelledError("the client has gone");
  if (job->expires_at_ns == 0) return absl::OkStatus();
  const int64_t now = MonotonicNs();
  if (!job->Expired(now)) return absl::OkStatus();
  job->drop = DropReason::kExpired;
  return absl::DeadlineExceededError(
      absl::StrCat("max_age_ns: expired after waiting for ", (now - job->times.received_at) / 1000, " us"));
}

}  // namespace glint
