#include "server/rpc/service.h"

#include <grpc/grpc.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "features/thread.h"
#include "proto/grpc_deadline.h"
#include "server/net/listen.h"
#include "server/net/transport.h"
#include "server/rpc/health_call.h"
#include "server/rpc/info_call.h"
#include "server/rpc/memory_call.h"
#include "server/rpc/reflection_call.h"
#include "server/rpc/run_tags.h"
#include "server/rpc/stream_call.h"
#include "server/rpc/unary_call.h"

namespace glint {
namespace {

// Requested calls per method and thread: calls that may arrive before the thread runs.
constexpr int kRequestedCalls = 4;
// Limit of pooled frames, of some 50 KB each; below it, as many as can be unanswered and not dropped.
constexpr int64_t kMaxPooledFrames = 1024;
// Time for lingering calls, such as health watchers, when all other calls have ended.
constexpr absl::Duration kGoodbye = absl::Milliseconds(50);
// Port that gRPC reports for an address that it does not listen on.
constexpr int kNoPort = -1;
// Time that a small call without a message keeps its receive slot while others wait for one.
constexpr int64_t kSmallPatienceNs = 200'000'000;

// Age from which a call of Detect whose message has not come makes way for another one of the same peer. Large messages
// on slow networks take longer; they only lose their place where their peer begins more calls than there may be.
constexpr int64_t kUnaryPatienceNs = 500'000'000;

// Calls that one connection may have open. gRPC's clients wait with more until others have ended, so that no client by
// chance begins more at once than the guard of its connection lets pass (server/net/http2_guard.h).
constexpr int kCallsOfAConnection = 256;

constexpr char kSmallFlag[] = "--max-small-calls";

Places::Limits UnaryPlaces(const ServerOptions& options) {
  Places::Limits limits;
  limits.field = "calls";
  limits.total = options.max_detect_calls;
  limits.flag = "--max-detect-calls";
  limits.kept = KeptByOnePeer(limits.total);
  limits.own_patience_ns = kUnaryPatienceNs;
  return limits;
}

// A message without an image is normally there when its call is, so whoever has waited longest makes way for all.
Places::Limits SmallPlaces(const ServerOptions& options) {
  Places::Limits limits;
  limits.field = "request";
  limits.total = options.max_small_calls;
  limits.flag = kSmallFlag;
  limits.own_patience_ns = 0;
  return limits;
}

// Calls that say nothing for long by their nature: of a peer that has fewer, the newcomer comes first.
Places::Limits StayingPlaces(const char* field, int total, const char* flag) {
  Places::Limits limits;
  limits.field = field;
  limits.total = total;
  limits.flag = flag;
  return limits;
}

// Called once per process.
void PrepareGrpc() {
  static const bool once = [] {
    // Deliberately without grpc_shutdown(): the last one of a process waits for a poll of gRPC's own that lasts up to
    // ten seconds, which would sometimes delay the end of the last server.
    grpc_init();
    return true;
  }();
  (void)once;
}

}  // namespace

absl::Status Service::DrainingError() { return absl::UnavailableError("the server is draining"); }

absl::Status Service::QueueFullError() {
  constexpr char kFlags[] = "--queue-capacity or --max-pending-bytes";
  return ExhaustedError("queue", absl::StrCat("full (", kFlags, "); try again later"), "", kFlags);
}

Service::Service(ServerEnv* env)
    : env_(env),
      async_(env->options.reflection != Reflection::kOff),
      frames_(static_cast<size_t>(std::min<int64_t>(
                  kMaxPooledFrames,
                  env->options.max_detect_calls + int64_t{env->options.max_sessions} * env->options.max_in_flight)),
              env->methods),
      unary_places_(UnaryPlaces(env->options)),
      small_places_(SmallPlaces(env->options)),
      watcher_places_(StayingPlaces("health.watchers", env->options.max_watchers, "--max-watchers")),
      reflection_places_(StayingPlaces("reflection.streams", env->options.max_small_calls, kSmallFlag)),
      receive_slots_(kSmallPatienceNs) {}

absl::StatusOr<std::unique_ptr<Service>> Service::Start(ServerEnv* env) {
  PrepareGrpc();
  std::unique_ptr<Service> service(new Service(env));
  GLINT_ASSIGN_OR_RETURN(service->gate_, Gate::Open(env));
  GLINT_ASSIGN_OR_RETURN(service->beginnings_, BackgroundThreads::Create("listen", 1));
  GLINT_RETURN_IF_ERROR(service->Listen());

  // Before the first call: without its thread a queue could not be emptied.
  for (const auto& queue : service->queues_) {
    auto thread = StartThread("listen", [queue = queue.get()] { RunTags(queue); });
    if (!thread.ok()) {
      service->Stop();
      return thread.status();
    }
    service->threads_.push_back(*std::move(thread));
  }
  env->health.Publish([watchers = &service->health_watchers_](bool serving) { watchers->Set(serving); });
  for (const auto& queue : service->queues_) {
    for (int i = 0; i < kRequestedCalls; ++i) service->RequestCalls(queue.get());
  }
  return service;
}

absl::Status Service::Listen() {
  const ServerOptions& options = env_->options;
  grpc::ServerBuilder builder;
  ConfigureTransport(options.max_message_bytes, &builder, options.connections);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, std::max(kCallsOfAConnection, options.max_sessions));
  LimitReceipt(env_->memory_bound.quota, &builder);
  builder.RegisterService(&async_);
  for (unsigned i = 0; i < CompletionThreads(); ++i) queues_.push_back(builder.AddCompletionQueue());

  std::shared_ptr<grpc::ServerCredentials> tcp = grpc::InsecureServerCredentials();
  if (env_->tls != nullptr) tcp = env_->tls->Credentials();
  std::vector<int> ports(options.listen.size(), 0);
  for (size_t i = 0; i < options.listen.size(); ++i) {
    GLINT_RETURN_IF_ERROR(CheckCanListen(options.listen[i]));
    if (IsUnixAddress(options.listen[i])) {  // accepted here, since gRPC does not say which user connects
      ports[i] = kNoPort;
      continue;
    }
    builder.AddListeningPort(options.listen[i], tcp, &ports[i]);
  }
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    const size_t bad = static_cast<size_t>(std::find(ports.begin(), ports.end(), 0) - ports.begin());
    return absl::UnavailableError(
        absl::StrCat("listen: cannot listen on ", bad < ports.size() ? options.listen[bad] : "any address"));
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& address = options.listen[i];
    addresses_.push_back(IsUnixAddress(address) ? address : WithPort(address, ports[i]));
    if (ports[i] != kNoPort) continue;
    GLINT_RETURN_IF_ERROR(ListenOnUnix(address));
  }
  WarnOfPlaintext();
  return ListenForMemory();
}

absl::Status Service::ListenOnUnix(const std::string& address) {
  auto listener = UnixListener::Start(std::string(UnixPathOf(address)),
                                      [this](int fd) { grpc::AddInsecureChannelFromFd(server_.get(), fd); });
  if (!listener.ok()) return listener.status();
  unix_listeners_.push_back(*std::move(listener));
  return absl::OkStatus();
}

void Service::WarnOfPlaintext() {
  const ServerOptions& options = env_->options;
  if (options.tls.enabled() || options.allow_plaintext) return;
  for (const std::string& address : addresses_) {
    if (IsLoopbackAddress(address)) continue;
    env_->logger.Log(
        Severity::kWarning, "NOT ENCRYPTED",
        {{"listen", address},
         {"danger", "whoever is on the network can read and change pictures and answers, and take tokens"},
         {"remedy", "--tls-certificate and --tls-key; or --allow-plaintext where the network is trusted"}});
  }
}

// Limits the sum of what is received. gRPC checks a message's size, and decompresses it, only when all of it has
// arrived: the limit of 34 MiB does not keep a client from announcing 4 GiB, nor 1 MB from becoming 1 GB. A client that
// exhausts the quota ends streams, of its connection and others, but the process lives.
void Service::LimitReceipt(int64_t bytes, grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota("glint");
  quota.Resize(static_cast<size_t>(bytes));
  builder->SetResourceQuota(quota);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, static_cast<int>(kMaxMetadataBytes));
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
}

absl::Status Service::ListenForMemory() {
  const ServerOptions& options = env_->options;
  if (!options.shared_memory.enabled) return absl::OkStatus();
  const auto address = std::find_if(options.listen.begin(), options.listen.end(), IsUnixAddress);
  auto handoff = Handoff::Start(HandoffPath(*address), options.shared_memory.max_regions, &env_->shared_memory,
                                [this](int fd) { return gate_->AdmitHandoff(fd); });
  if (!handoff.ok()) return handoff.status();
  handoff_ = *std::move(handoff);
  return absl::OkStatus();
}

Service::~Service() = default;

void Service::RequestCalls(grpc::ServerCompletionQueue* queue) {
  for (const ServedMethod& method : env_->methods) {
    (method.row->unary ? UnaryCall::Request : StreamCall::Request)(method, this, queue);
  }
  InfoCall::Request(this, queue);
  RegisterCall::Request(this, queue);
  UnregisterCall::Request(this, queue);
  HealthCall::RequestCheck(this, queue);
  HealthCall::RequestWatch(this, queue);
  if (env_->options.reflection == Reflection::kOff) return;
  ReflectionCall::Request(AsyncService::kReflection, this, queue);
  ReflectionCall::Request(AsyncService::kReflectionAlpha, this, queue);
}

std::shared_ptr<grpc::Channel> Service::InProcessChannel() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  return server_->InProcessChannel(arguments);
}

absl::Status Service::Register(Call* call, AsyncService::Method method, grpc::ServerContext* context) {
  absl::Status admitted = gate_->Enter(call, method, context);
  std::lock_guard<std::mutex> lock(mutex_);
  calls_.insert(call);
  if (call->Lingers()) ++lingering_;
  if (!admitted.ok()) return admitted;
  return draining_ && !call->Lingers() ? DrainingError() : absl::OkStatus();
}

void Service::Unregister(Call* call) {
  gate_->Leave(call);
  std::lock_guard<std::mutex> lock(mutex_);
  calls_.erase(call);
  if (call->Lingers()) --lingering_;
  if (calls_.size() == lingering_ || calls_.empty()) idle_.notify_all();
}

void Service::ArrivalIsAwaited() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++arrivals_;
}

void Service::ArrivalIsOver() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (--arrivals_ == 0) idle_.notify_all();
}

void ArrivalIsAwaited(Service* service) { service->ArrivalIsAwaited(); }
void ArrivalIsOver(Service* service) { service->ArrivalIsOver(); }

int Service::calls() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(calls_.size()) - watcher_places_.open();
}

bool Service::draining() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return draining_;
}

void Service::StartDraining() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(draining_, true)) return;
  }
  env_->health.StartDraining();
  std::lock_guard<std::mutex> lock(mutex_);
  for (Call* call : calls_) call->Drain();
}

bool Service::WaitUntilIdle(absl::Duration timeout) {
  const int64_t began = MonotonicNs();
  std::unique_lock<std::mutex> lock(mutex_);
  while (calls_.size() > lingering_) {
    const absl::Duration left = timeout - absl::Nanoseconds(MonotonicNs() - began);
    if (left <= absl::ZeroDuration()) return false;
    // Waits in steps, since condition variables overflow with an infinite timeout.
    idle_.wait_for(lock, absl::ToChronoNanoseconds(std::min(left, absl::Hours(1))));
  }
  return true;
}

void Service::Stop() {
  unix_listeners_.clear();
  server_->Shutdown(GrpcDeadline(kGoodbye));
  {
    // Arrived calls may still be in a queue: they are refused, and write to it. Lanes hold frames of cancelled calls,
    // and write to their queues.
    std::unique_lock<std::mutex> lock(mutex_);
    idle_.wait(lock, [this] { return arrivals_ == 0 && calls_.empty(); });
  }
  handoff_ = nullptr;
  env_->health.Publish(nullptr);
  for (const auto& queue : queues_) queue->Shutdown();
  for (size_t i = threads_.size(); i < queues_.size(); ++i) RunTags(queues_[i].get());  // that have no thread
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace glint
