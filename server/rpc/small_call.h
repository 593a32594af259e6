// Calls whose messages carry no image: GetServerInfo, shared memory, health, reflection. Each is received like Detect:
// once it has a slot (SmallPlaces), within --small-call-timeout, and up to kMaxSmallMessageBytes.
#ifndef GLINT_SERVER_RPC_SMALL_CALL_H_
#define GLINT_SERVER_RPC_SMALL_CALL_H_

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/metrics/metrics.h"
#include "server/rpc/async_service.h"
#include "server/rpc/call.h"
#include "server/rpc/service.h"
#include "server/rpc/small_places.h"

namespace glint {

inline constexpr size_t kMaxSmallMessageBytes = 4096;

// Subclasses handle the message. Their methods are called on the thread of the call's completion queue, without a lock.
class SmallCall : public Call, private SmallPlaces::Guest {
 public:
  void Drain() override {}
  bool Lingers() const override { return true; }
  void Revoke(const absl::Status& why) override;

 protected:
  struct Answer {
    enum class Then { kEnd, kNextMessage, kStay };
    absl::Status status;  // not OK: the call ends with it
    std::string reply;    // serialized; not sent where the call stays
    Then then = Then::kEnd;
  };

  // `counted`: the method among the metrics of calls.
  SmallCall(Service* service, grpc::ServerCompletionQueue* queue, std::optional<Method> counted);
  ~SmallCall() override = default;

  // Waits for a call of the method.
  void Request(AsyncService::Method method);

  // A call has come: wait for another of its kind.
  virtual void RequestNext() = 0;
  // Not OK: the call is refused.
  virtual absl::Status Admit() { return absl::OkStatus(); }
  virtual Answer Serve(const std::string& message) = 0;
  // The client has sent all its messages.
  virtual absl::Status NoMoreMessages() { return absl::InvalidArgumentError("request: missing"); }
  // The call is over; the object goes next.
  virtual void Ended() {}

  // For calls that stay, by any thread, in place of what was not sent yet.
  void Push(std::string reply);

  Service* service() const { return service_; }
  grpc::ServerCompletionQueue* queue() const { return queue_; }
  std::string peer() const { return context_.peer(); }

 private:
  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnAlarm(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnEnded(bool ok);  // AsyncNotifyWhenDone

  // SmallPlaces::Guest
  void Receive() override;
  void GiveUpPlace() override;

  Answer AnswerTo(bool ok);
  void Refuse(SmallRefusal reason);
  // With mutex_.
  void Write(const std::string& reply);
  void End(const absl::Status& status);
  void Drop(std::unique_lock<std::mutex> lock);  // a reference

  Service* const service_;
  grpc::ServerCompletionQueue* const queue_;
  const std::optional<Method> counted_;
  AsyncService::Method asked_ = AsyncService::kGetServerInfo;  // of Request()
  grpc::ServerContext context_;
  AsyncService::Bytes stream_;
  grpc::ByteBuffer request_;
  grpc::Alarm alarm_;  // ticks until the call has ended or stays
  ArrivalTag<SmallCall> arrived_{this, &SmallCall::OnArrived, service_};
  MethodTag<SmallCall> read_{this, &SmallCall::OnRead};
  MethodTag<SmallCall> alarmed_{this, &SmallCall::OnAlarm};
  MethodTag<SmallCall> written_{this, &SmallCall::OnWritten};
  MethodTag<SmallCall> finished_{this, &SmallCall::OnFinished};
  MethodTag<SmallCall> ended_{this, &SmallCall::OnEnded};
  int64_t arrived_at_ = 0;

  std::mutex mutex_;
  int references_ = 0;
  int64_t deadline_ns_ = 0;  // of what is under way: a message, or a reply that the client has to take
  bool waiting_ = false;     // for a place
  bool writing_ = false;
  bool staying_ = false;               // no more messages, replies by Push()
  bool over_ = false;                  // Finish has been called, or the client has gone: nothing more begins
  bool done_ = false;                  // OnEnded() was there
  std::optional<std::string> pushed_;  // to be written next
  absl::Status status_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_SMALL_CALL_H_
