// Base class of all calls.
//
// A call owns itself: it holds one reference per outstanding gRPC operation and one per frame on a lane, and deletes
// itself with the last. Completions arrive on the threads of the service, frames on those of the lanes. Each call has
// one mutex, which is never held while a frame is parsed, decoded or processed.
#ifndef GLINT_SERVER_RPC_CALL_H_
#define GLINT_SERVER_RPC_CALL_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "server/access/access_rules.h"
#include "server/access/client_account.h"
#include "server/rpc/async_service.h"
#include "server/session/places.h"

namespace glint {

class Call {
 public:
  virtual ~Call() = default;
  // Called at shutdown: accept no more frames, and end once all accepted ones are answered. Called at most once, while
  // the call is registered with its service.
  virtual void Drain() = 0;
  // True if shutdown does not wait for this call but cancels it.
  virtual bool Lingers() const { return false; }
  // Called when the client's permission was revoked (Gate): end with `why` soon, since the call is cancelled a moment
  // later. Called at most once, while the call is registered.
  virtual void Revoke(const absl::Status& why) { (void)why; }

  // Account of the call's client, which counts its frames; null until Service::Register() has returned OK.
  const std::shared_ptr<ClientAccount>& client() const { return admission_.client; }
  // Whom the call's places are counted for. Empty until then.
  const Peer& counted_as() const { return admission_.peer; }

 private:
  friend class Gate;

  struct Admission {
    AsyncService::Method method = AsyncService::kGetServerInfo;
    grpc::ServerContext* context = nullptr;
    Credentials credentials;
    std::shared_ptr<ClientAccount> client;
    Peer peer;
    int64_t revoked_at = 0;  // MonotonicNs(); 0: it is not
  };
  Admission admission_;
};

// Completion tag of a gRPC operation.
class Tag {
 public:
  virtual void Run(bool ok) = 0;

 protected:
  ~Tag() = default;
};

class Service;

// Tag that calls a method of a call.
template <typename C>
class MethodTag final : public Tag {
 public:
  MethodTag(C* call, void (C::*method)(bool ok)) : call_(call), method_(method) {}
  void Run(bool ok) override { (call_->*method_)(ok); }

 private:
  C* const call_;
  void (C::*const method_)(bool);
};

// The service counts the outstanding requests for new calls; its queues may be shut down only when there are none.
void ArrivalIsAwaited(Service* service);
void ArrivalIsOver(Service* service);

// Tag of a call's arrival, which is awaited from its construction on. The call may delete itself in its method.
template <typename C>
class ArrivalTag final : public Tag {
 public:
  ArrivalTag(C* call, void (C::*method)(bool ok), Service* service) : arrived_(call, method), service_(service) {
    ArrivalIsAwaited(service);
  }
  void Run(bool ok) override {
    Service* const service = service_;
    arrived_.Run(ok);
    ArrivalIsOver(service);
  }

 private:
  MethodTag<C> arrived_;
  Service* const service_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_CALL_H_
