// W3C trace context of a call: its trace id goes into the trailer and, with the outcome of the call, into the log,
// subject to a rate limit (Logger::LogLimited). Calls without a traceparent are not logged.
#ifndef GLINT_SERVER_RPC_CALL_TRACE_H_
#define GLINT_SERVER_RPC_CALL_TRACE_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/rpc/env.h"

namespace glint {

// Thread-compatible.
class CallTrace {
 public:
  // Reads the traceparent of a new call. An invalid or duplicate header is counted and ignored.
  void Begin(ServerEnv* env, grpc::ServerContext* context);

  // Counts a frame of a stream that was answered or dropped, with its status. The first failure is logged at once.
  void Frame(uint64_t frame_id, const absl::Status& status) {
    if (!trace_id_.empty()) CountFrame(frame_id, status);
  }
  // Ends the trace and logs the call. Successful calls without the sampled flag are not logged.
  void End(absl::string_view method, const absl::Status& status, int64_t duration_ns);

 private:
  void CountFrame(uint64_t frame_id, const absl::Status& status);

  ServerEnv* env_ = nullptr;
  std::string trace_id_;  // empty: no trace
  bool sampled_ = false;
  int64_t frames_ = 0;
  int64_t failed_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_CALL_TRACE_H_
