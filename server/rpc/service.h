// The gRPC side of a server: sockets, completion queues with threads of their own, and the open calls.
//
// The threads are the server's own, because those of gRPC 1.51's callback API sleep for up to 100 ms after an idle
// time.
#ifndef GLINT_SERVER_RPC_SERVICE_H_
#define GLINT_SERVER_RPC_SERVICE_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "features/background.h"
#include "server/net/unix_listener.h"
#include "server/rpc/async_service.h"
#include "server/rpc/call.h"
#include "server/rpc/env.h"
#include "server/rpc/frame.h"
#include "server/rpc/gate.h"
#include "server/rpc/health_watchers.h"
#include "server/rpc/receive_slots.h"
#include "server/session/places.h"
#include "server/shm/handoff.h"

namespace glint {

class Service {
 public:
  // Listens and serves. `env` must outlive the service. UNAVAILABLE names the address and the reason;
  // RESOURCE_EXHAUSTED: a thread cannot be made.
  static absl::StatusOr<std::unique_ptr<Service>> Start(ServerEnv* env);
  // Stop() must have been called.
  ~Service();

  const std::vector<std::string>& addresses() const { return addresses_; }
  std::shared_ptr<grpc::Channel> InProcessChannel();

  // Refuses new calls, then reports NOT_SERVING, and lets the open calls end: after NOT_SERVING no call is accepted.
  void StartDraining();
  // False if calls that do not linger are still open after `timeout`.
  bool WaitUntilIdle(absl::Duration timeout);
  // Cancels the remaining calls, stops listening and joins the threads. Frames on lanes are waited for.
  void Stop();

  // Number of open calls, without health watchers, whose calls last as long as their clients.
  int calls() const;
  // Socket for the hand-off of shared memory; empty if sharing is off.
  std::string shared_memory_socket() const { return handoff_ == nullptr ? "" : handoff_->path(); }

  // The functions below are for calls.
  ServerEnv* env() { return env_; }
  AsyncService* async() { return &async_; }
  FramePool* frames() { return &frames_; }
  // For a call that was registered. `local`: it came through a unix socket.
  ImageRules image_rules(const Call& call, bool local) {
    const absl::string_view reader = local ? absl::string_view(call.client()->name()) : absl::string_view();
    return {env_->options.lanes.max_image_pixels, &env_->shared_memory, reader};
  }
  // Registers a call of `method` that has arrived with `context`. Not OK: the call must end with this status:
  // DrainingError(), unless it lingers, or errors of Gate::Enter(). Registered either way.
  absl::Status Register(Call* call, AsyncService::Method method, grpc::ServerContext* context);
  void Unregister(Call* call);
  void ArrivalIsAwaited();
  void ArrivalIsOver();
  static absl::Status DrainingError();
  static absl::Status QueueFullError();
  bool draining() const;
  Gate* gate() { return gate_.get(); }
  // For beginnings of streams: what their options want may take many milliseconds, and other calls' messages would
  // wait.
  BackgroundThreads* beginnings() { return beginnings_.get(); }
  ReceiveSlots* receive_slots() { return &receive_slots_; }
  HealthWatchers* health_watchers() { return &health_watchers_; }
  Places* unary_places() { return &unary_places_; }            // of unary calls of operations
  Places* small_places() { return &small_places_; }            // of calls without an image that do not stay
  Places* watcher_places() { return &watcher_places_; }        // of calls of Health.Watch
  Places* reflection_places() { return &reflection_places_; }  // of streams of reflection

 private:
  explicit Service(ServerEnv* env);
  absl::Status Listen();
  static void LimitReceipt(int64_t bytes, grpc::ServerBuilder* builder);
  absl::Status ListenOnUnix(const std::string& address);
  absl::Status ListenForMemory();
  void WarnOfPlaintext();
  void RequestCalls(grpc::ServerCompletionQueue* queue);

  ServerEnv* const env_;
  AsyncService async_;
  std::unique_ptr<Gate> gate_;
  FramePool frames_;
  Places unary_places_, small_places_, watcher_places_, reflection_places_;
  ReceiveSlots receive_slots_;
  HealthWatchers health_watchers_;
  std::vector<std::string> addresses_;
  std::unique_ptr<Handoff> handoff_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<UnixListener>> unix_listeners_;
  std::vector<std::thread> threads_;

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::unordered_set<Call*> calls_;
  size_t lingering_ = 0;  // calls that linger
  int arrivals_ = 0;      // requested calls that have not arrived
  bool draining_ = false;

  std::unique_ptr<BackgroundThreads> beginnings_;  // ends before the rest
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_SERVICE_H_
