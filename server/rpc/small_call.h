// Calls whose messages carry no image: GetServerInfo, shared memory, health, reflection. Each has a place (Places) to
// its end, or to the end of its stay as another kind. It is received like Detect: once it has a slot (ReceiveSlots),
// within --small-call-timeout, and up to kMaxSmallMessageBytes; its reply must be taken within that time, too.
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
#include "server/rpc/receive_slots.h"
#include "server/rpc/service.h"
#include "server/session/places.h"

namespace glint {

inline constexpr size_t kMaxSmallMessageBytes = 4096;

// Subclasses handle the message. Their methods are called on the thread of the call's completion queue, without a lock.
class SmallCall : public Call, private ReceiveSlots::Waiter, private PlaceHolder {
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

  // `counted`: the method that metrics count the call as; none: not counted.
  SmallCall(Service* service, grpc::ServerCompletionQueue* queue, std::optional<Method> counted)
      : SmallCall(service, queue, counted, service->small_places(), PlaceKind::kSmall) {}
  // `places`: which it takes one of when it has arrived.
  SmallCall(Service* service, grpc::ServerCompletionQueue* queue, std::optional<Method> counted, Places* places,
            PlaceKind kind);
  ~SmallCall() override = default;

  // Waits for a call of the method.
  void Request(AsyncService::Method method);

  // Called when a call has arrived: requests the next call of the method.
  virtual void RequestNext() = 0;
  // Called before the message is received. Not OK: the call is refused.
  virtual absl::Status Admit() { return absl::OkStatus(); }
  // Exchanges the call's place for another one, of a call that stays. Called by Serve(). RESOURCE_EXHAUSTED names limit
  // and flag.
  absl::Status MoveTo(Places* places, PlaceKind kind);
  virtual Answer Serve(const std::string& message) = 0;
  // Called when the client has half-closed; the status ends the call.
  virtual absl::Status NoMoreMessages() { return absl::InvalidArgumentError("request: missing"); }
  // Called when the call is over, just before it is deleted.
  virtual void Ended() {}

  // Sends `reply` on a call that stays; replaces a reply that was not sent yet. Called by any thread.
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

  // ReceiveSlots::Waiter
  void Receive() override;
  void LoseSlot() override;

  // PlaceHolder
  void PlaceGranted() override {}  // its message is small: it does not wait for the end of another call
  void Preempt() override;

  absl::Status TakePlace();
  Answer AnswerTo(bool ok);
  void Refuse(SmallRefusal reason);
  // With mutex_.
  void SetAlarm();
  void Displace(const absl::Status& why);
  void Write(const std::string& reply);
  void End(const absl::Status& status);
  void Unref(std::unique_lock<std::mutex> lock);  // the last reference deletes the call

  Service* const service_;
  grpc::ServerCompletionQueue* const queue_;
  const std::optional<Method> counted_;
  AsyncService::Method asked_ = AsyncService::kGetServerInfo;  // of Request()
  grpc::ServerContext context_;
  AsyncService::Bytes stream_;
  grpc::ByteBuffer request_;
  grpc::Alarm alarm_;  // fires periodically until the call has ended or stays
  Place place_{this};
  Places* places_;
  PlaceKind kind_;
  ArrivalTag<SmallCall> arrived_{this, &SmallCall::OnArrived, service_};
  MethodTag<SmallCall> read_{this, &SmallCall::OnRead};
  MethodTag<SmallCall> alarmed_{this, &SmallCall::OnAlarm};
  MethodTag<SmallCall> written_{this, &SmallCall::OnWritten};
  MethodTag<SmallCall> finished_{this, &SmallCall::OnFinished};
  MethodTag<SmallCall> ended_{this, &SmallCall::OnEnded};
  int64_t arrived_at_ = 0;

  std::mutex mutex_;
  int references_ = 0;
  int64_t deadline_ns_ = 0;  // of the current message or reply
  bool waiting_ = false;     // for a receive slot
  bool alarm_set_ = false;
  bool writing_ = false;
  bool staying_ = false;               // no more messages, replies by Push()
  bool replying_ = false;              // with its last message
  bool over_ = false;                  // Finish() was called or the client has gone
  bool done_ = false;                  // OnEnded() has run
  std::optional<std::string> pushed_;  // to be written next
  absl::Status status_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_SMALL_CALL_H_
