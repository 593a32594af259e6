#include "server/rpc/call_trace.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/traceparent.h"

namespace glint {
namespace {

// Lines are limited by event and code.
std::string Reason(absl::string_view event, const absl::Status& status) {
  return absl::StrCat(event, " ", StatusCodeName(status.code()));
}

}  // namespace

void CallTrace::Begin(ServerEnv* env, grpc::ServerContext* context) {
  env_ = env;
  const auto [first, last] = context->client_metadata().equal_range(kTraceparentKey);
  if (first == last) return;
  const auto parsed = ParseTraceparent({first->second.data(), first->second.size()});
  if (!parsed.has_value() || std::next(first) != last) {
    env_->metrics.TraceparentIgnored();
    return;
  }
  trace_id_ = std::string(parsed->trace_id);
  sampled_ = parsed->sampled;
  context->AddTrailingMetadata(kTraceIdKey, trace_id_);
}

void CallTrace::CountFrame(uint64_t frame_id, const absl::Status& status) {
  ++frames_;
  if (status.ok() || ++failed_ > 1) return;
  env_->logger.LogLimited(Reason("frame failed", status), Severity::kWarning, "frame failed",
                          {{"trace_id", trace_id_},
                           {"frame_id", absl::StrCat(frame_id)},
                           {"code", StatusCodeName(status.code())},
                           {"error", std::string(status.message())}});
}

void CallTrace::End(absl::string_view method, const absl::Status& status, int64_t duration_ns) {
  if (trace_id_.empty() || (status.ok() && !sampled_)) return;
  env_->logger.LogLimited(Reason("call ended", status), status.ok() ? Severity::kInfo : Severity::kWarning,
                          "call ended",
                          {{"trace_id", trace_id_},
                           {"method", std::string(method)},
                           {"code", StatusCodeName(status.code())},
                           {"error", std::string(status.message())},
                           {"seconds", absl::StrFormat("%.6f", static_cast<double>(duration_ns) * 1e-9)},
                           {"frames", frames_ > 0 ? absl::StrCat(frames_) : ""},
                           {"failed", failed_ > 0 ? absl::StrCat(failed_) : ""}});
}

}  // namespace glint
