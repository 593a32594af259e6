// What is told about a call that came with a W3C traceparent: its trace id goes into the call's trailer and into the
// log, with how the call ended, unless there are too many such lines (Logger::LogLimited). Calls without one leave no
// line.
#ifndef GLINT_SERVER_RPC_CALL_TRACE_H_
#define GLINT_SERVER_RPC_CALL_TRACE_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/env.h"

namespace glint {

// Thread-compatible.
class CallTrace {
 public:
  // Reads the traceparent of a call that has arrived; one that is invalid, or there twice, is counted and ignored.
  void Begin(ServerEnv* env, grpc::ServerContext* context);

  // A frame of a stream has been answered or dropped, with its status. The first that failed is logged at once.
  void Frame(uint64_t frame_id, const absl::Status& status) {
    if (!trace_id_.empty()) CountFrame(frame_id, status);
  }
  // The call is over. Calls that ended well and are not sampled (by the traceparent's flag) are not logged.
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
