// A stream of an operation: options first, then frames or edits, a reply for each in order.
#ifndef GLINT_SERVER_RPC_STREAM_CALL_H_
#define GLINT_SERVER_RPC_STREAM_CALL_H_

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/rpc/call.h"
#include "server/rpc/call_trace.h"
#include "server/rpc/service.h"
#include "server/schedule/frame_queue.h"
#include "server/session/places.h"
#include "server/session/session.h"

namespace glint {

// Flow control, under OverloadPolicy::kBlock: no message is read while max_in_flight frames are unanswered or one waits
// for room in the queue, so gRPC's and then the client's buffers fill, and the client blocks. Under the other policies
// reading goes on, and frames are dropped, until the client takes no replies (see Session).
//
// An idle client loses its place (ServerOptions::stream_..._timeout). One alarm checks this: when it fires, it is set
// again for the current idle deadline, or the stream ends. So does a client whose place another one needs (Places).
class StreamCall final : public Call, public FrameSink, private PlaceHolder {
 public:
  // Waits for the next such call on `queue`.
  static void Request(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue);

  void Drain() override;
  void Revoke(const absl::Status& why) override;
  void OnFrameAdmitted(FrameJob* job) override;
  void OnFrameRun(FrameJob* job) override;
  void OnFrameDone(FrameJob* job) override;

 private:
  StreamCall(const ServedMethod& method, Service* service, grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnAlarm(bool ok);  // not ok: cancelled
  void OnFinished(bool ok);
  void OnEnded(bool ok);  // AsyncNotifyWhenDone: the client has gone, or has its status

  // PlaceHolder
  void PlaceGranted() override;
  void Preempt() override;

  // Without mutex_.
  void Enter();
  void BeginSoon();
  void Begin();
  absl::Status ReadOptions();
  void ReadFrame();
  std::unique_ptr<Frame> ParseFrame();  // null: the stream must end
  absl::StatusOr<WireEnvelope> Read(Frame* frame);
  void HasRead();
  void Break(const absl::Status& why);
  void Admit(std::unique_ptr<Frame> frame);
  void AdmitByPolicy(Frame* frame);
  void AdmitOrWait(Frame* frame);
  void AdmitOrReject(Frame* frame);
  void AdmitNewest(Frame* frame);
  void AdmitHeld();
  void PushNewest(Frame* frame, int displace, bool must_displace);

  // With mutex_.
  void End(const absl::Status& status);
  void EndSoon(const absl::Status& why);
  void SetAlarm(int64_t at);
  int64_t IdleDeadline(int64_t now) const;
  void Advance();
  void StartWhatCan();
  void SayWhatMayCome();
  void ApplyEdit(Frame* edit);
  void DropEdits(const absl::Status& why);
  void PushEdit();
  void ReleaseFirst();
  void Supersede(FrameJob* job);
  // Gives back one reference; the last deletes the call.
  void Unref(std::unique_lock<std::mutex> lock);

  // Phase of the stream. It advances to the right, or from any phase but kFinishing to kBroken.
  enum class Phase {
    kOpen,       // frames are read
    kEnding,     // no more frames; accepted ones are answered
    kFinishing,  // all are answered, and Finish() has been called
    kBroken,     // the client cannot be reached any more
  };
  // State of reading. One message is read at a time.
  enum class Input {
    kNone,
    kReading,  // a Read is outstanding, or its message was discarded
    kParsing,  // its message is being parsed: another frame may be added, or the stream begins
  };

  const ServedMethod& method_;
  Service* const service_;
  ServerEnv* const env_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  grpc::ByteBuffer read_buffer_;
  ArrivalTag<StreamCall> arrived_{this, &StreamCall::OnArrived, service_};
  MethodTag<StreamCall> read_{this, &StreamCall::OnRead};
  MethodTag<StreamCall> written_{this, &StreamCall::OnWritten};
  MethodTag<StreamCall> alarmed_{this, &StreamCall::OnAlarm};
  MethodTag<StreamCall> finished_{this, &StreamCall::OnFinished};
  MethodTag<StreamCall> ended_{this, &StreamCall::OnEnded};
  grpc::Alarm alarm_;
  FrameFlow flow_;
  Place place_{this};
  int64_t arrived_at_ = 0;
  bool local_ = false;  // the client came through a unix socket

  std::mutex mutex_;
  Session session_;
  // Set once the options have been read. Edits change it while no frame is unanswered.
  std::unique_ptr<StreamState> state_;
  StreamRange range_;  // of its images; lanes change it, one after the other
  // Waits for the frames before it; no message is read meanwhile. Those that let others pass are in the session alone.
  Frame* edit_ = nullptr;
  bool edit_on_lane_ = false;  // or queued: its turn has come, and a lane must run it
  CallTrace trace_;
  int references_ = 0;
  Phase phase_ = Phase::kOpen;
  absl::Status end_;  // final status; valid unless kOpen
  Input input_ = Input::kNone;
  bool has_place_ = false;         // else no message is read
  int64_t preempted_at_ = 0;       // MonotonicNs(); 0: it is not
  bool gone_ = false;              // OnEnded() has run
  bool waiting_for_room_ = false;  // the last frame waits for the queue; no message is read
  bool writing_reply_ = false;     // of the session's first frame
  bool alarm_set_ = false;
  int64_t active_at_ = 0;  // MonotonicNs() of the last message, begun or written reply
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_STREAM_CALL_H_
