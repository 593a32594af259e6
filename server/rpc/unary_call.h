// Unary call of an operation: one message, one reply. The message is received once the call has a place
// (--max-detect-calls), and must arrive within --detect-receive-timeout; the client must take the reply within
// --detect-reply-timeout.
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
#include "server/session/places.h"

namespace glint {

class UnaryCall final : public Call, public FrameSink, private PlaceHolder {
 public:
  // Waits for the next such call on `queue`.
  static void Request(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue);

  void Drain() override {}  // a unary call ends with its reply
  void OnFrameAdmitted(FrameJob*) override {}
  void OnFrameRun(FrameJob* job) override;
  void OnFrameDone(FrameJob* job) override;

 private:
  UnaryCall(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnLate(bool ok);  // receive timeout; not ok: cancelled
  void OnReplyLate(bool ok);
  void OnEvicted(bool ok);  // the client of a preempted call has not taken the reply
  void OnFinished(bool ok);
  void OnEnded(bool ok);  // AsyncNotifyWhenDone

  // PlaceHolder
  void PlaceGranted() override;
  void Preempt() override;

  // Without mutex_.
  void Enter();
  // Submits the frame. OK: a lane will answer.
  absl::Status Submit();
  absl::Status Parse(Frame* frame);
  absl::Status TooMany();
  absl::Status TryLater(const absl::Status& status, int64_t retry_after_ns);
  // With mutex_.
  void Finish(const absl::Status& status);
  void AwaitTaking();  // from now on the client has to take the reply or the status
  void Unref(std::unique_lock<std::mutex> lock);

  const ServedMethod& method_;
  Service* const service_;
  ServerEnv* const env_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  AsyncService::Bytes stream_;
  grpc::ByteBuffer request_;
  grpc::Alarm alarm_, reply_alarm_, eviction_;
  ArrivalTag<UnaryCall> arrived_{this, &UnaryCall::OnArrived, service_};
  MethodTag<UnaryCall> read_{this, &UnaryCall::OnRead};
  MethodTag<UnaryCall> alarmed_{this, &UnaryCall::OnLate};
  MethodTag<UnaryCall> reply_alarmed_{this, &UnaryCall::OnReplyLate};
  MethodTag<UnaryCall> evicted_{this, &UnaryCall::OnEvicted};
  MethodTag<UnaryCall> finished_{this, &UnaryCall::OnFinished};
  MethodTag<UnaryCall> ended_{this, &UnaryCall::OnEnded};
  int64_t arrived_at_ = 0;
  // Used by the completion queue's thread only.
  bool gone_ = false;  // the client has gone
  std::unique_ptr<StreamState> state_;
  std::unique_ptr<Frame> frame_;
  Place place_{this};

  // It advances to the right, and may skip phases.
  enum class Phase {
    kWaiting,    // for a place
    kReceiving,  // a Read is outstanding
    kWorking,
    kReplying,  // the reply or status was given to gRPC
    kFinished,  // the client has it, or has gone
  };
  std::mutex mutex_;
  Phase phase_ = Phase::kWaiting;
  bool preempted_ = false;
  CallTrace trace_;
  int references_ = 0;
  absl::Status status_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_UNARY_CALL_H_
