// Unary call of an operation: one message, one reply. The message is received once a slot is free (--max-detect-calls),
// and must arrive within --detect-receive-timeout.
#ifndef GLINT_SERVER_RPC_UNARY_CALL_H_
#define GLINT_SERVER_RPC_UNARY_CALL_H_

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "server/rpc/call.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/service.h"

namespace glint {

class UnaryCall final : public Call, public FrameSink {
 public:
  // Waits for the next such call on `queue`.
  static void Request(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue);

  void Drain() override {}  // a unary call ends with its reply
  void OnFrameAdmitted(FrameJob*) override {}
  void OnFrameDone(FrameJob* job) override;

 private:
  UnaryCall(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnLate(bool ok);  // receive timeout; not ok: cancelled
  void OnFinished(bool ok);
  void OnEnded(bool ok);  // AsyncNotifyWhenDone

  // Submits the frame. OK: a lane will answer.
  absl::Status Submit();
  absl::Status Parse(Frame* frame);
  absl::Status TooMany();
  absl::Status TryLater(const absl::Status& status, int64_t retry_after_ns);
  // With mutex_.
  void Finish(const absl::Status& status);
  void Unref(std::unique_lock<std::mutex> lock);

  const ServedMethod& method_;
  Service* const service_;
  ServerEnv* const env_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  AsyncService::Bytes stream_;
  grpc::ByteBuffer request_;
  grpc::Alarm alarm_;
  ArrivalTag<UnaryCall> arrived_{this, &UnaryCall::OnArrived, service_};
  MethodTag<UnaryCall> read_{this, &UnaryCall::OnRead};
  MethodTag<UnaryCall> alarmed_{this, &UnaryCall::OnLate};
  MethodTag<UnaryCall> finished_{this, &UnaryCall::OnFinished};
  MethodTag<UnaryCall> ended_{this, &UnaryCall::OnEnded};
  int64_t arrived_at_ = 0;
  // Used by the completion queue's thread only.
  bool counted_ = false;  // among the service's unary calls
  bool gone_ = false;     // the client has gone
  bool read_done_ = false;
  bool late_ = false;  // the message did not arrive in time
  std::unique_ptr<StreamState> state_;
  std::unique_ptr<Frame> frame_;

  std::mutex mutex_;
  CallTrace trace_;
  int references_ = 0;
  absl::Status status_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_UNARY_CALL_H_
