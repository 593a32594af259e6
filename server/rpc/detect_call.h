// Detect and Match: one image or pair, one reply. The message is received once a slot is free (--max-detect-calls), and
// must arrive within --detect-receive-timeout.
#ifndef GLINT_SERVER_RPC_DETECT_CALL_H_
#define GLINT_SERVER_RPC_DETECT_CALL_H_

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "server/rpc/call.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/service.h"

namespace glint {

struct UnaryMethod {
  AsyncService::Method async;
  Method counted;
  Work work;
  const char* name;
};
inline constexpr UnaryMethod kDetectMethod = {AsyncService::kDetect, Method::kDetect, Work::kDetect, "Detect"};
inline constexpr UnaryMethod kMatchMethod = {AsyncService::kMatch, Method::kMatch, Work::kMatch, "Match"};

class DetectCall final : public Call, public FrameSink {
 public:
  // Waits for the next such call on `queue`.
  static void Request(const UnaryMethod& method, Service* service, grpc::ServerCompletionQueue* queue);

  void Drain() override {}  // the answer is the end
  void OnFrameAdmitted(FrameJob*) override {}
  void OnFrameDone(FrameJob* job, const Features& features) override;

 private:
  DetectCall(const UnaryMethod& method, Service* service, grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnLate(bool ok);  // the alarm; not ok: cancelled
  void OnFinished(bool ok);
  void OnEnded(bool ok);  // AsyncNotifyWhenDone

  // OK: a lane will answer.
  absl::Status Submit();
  // What a lane needs of the message.
  absl::Status SetDetect(Frame* frame);
  absl::Status SetMatch(Frame* frame);
  absl::Status Busy(const char* what);
  absl::Status TryLater(const absl::Status& status, int64_t retry_after_ns);
  // With mutex_.
  void Finish(const absl::Status& status);
  void Drop(std::unique_lock<std::mutex> lock);  // a reference

  const UnaryMethod& method_;
  Service* const service_;
  ServerEnv* const env_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  AsyncService::Bytes stream_;
  grpc::ByteBuffer request_;
  grpc::Alarm alarm_;
  ArrivalTag<DetectCall> arrived_{this, &DetectCall::OnArrived, service_};
  MethodTag<DetectCall> read_{this, &DetectCall::OnRead};
  MethodTag<DetectCall> alarmed_{this, &DetectCall::OnLate};
  MethodTag<DetectCall> finished_{this, &DetectCall::OnFinished};
  MethodTag<DetectCall> ended_{this, &DetectCall::OnEnded};
  int64_t arrived_at_ = 0;
  // Those of the completion queue's thread.
  bool counted_ = false;  // among the service's calls of Detect
  bool gone_ = false;     // the client
  bool read_done_ = false;
  bool late_ = false;  // the call has ended without its message
  std::unique_ptr<Frame> frame_;

  std::mutex mutex_;
  CallTrace trace_;
  int references_ = 0;
  absl::Status status_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_DETECT_CALL_H_
