#include "server/rpc/memory_call.h"

#include "server/rpc/convert.h"
#include "server/rpc/listen.h"

namespace glint {

absl::Status RegisterRpc::Run(SharedMemory* memory, const Request& request, Response* response) {
  const auto bytes = memory->Register(request.token(), request.name());
  if (!bytes.ok()) return bytes.status();
  response->set_bytes(*bytes);
  return absl::OkStatus();
}

absl::Status UnregisterRpc::Run(SharedMemory* memory, const Request& request, Response*) {
  return memory->Unregister(request.token());
}

template <typename Rpc>
void MemoryCall<Rpc>::Request(Service* service, grpc::ServerCompletionQueue* queue) {
  auto* const call = new MemoryCall(service, queue);
  (service->async()->*Rpc::kRequest)(&call->context_, &call->request_, &call->writer_, queue, &call->arrived_);
}

template <typename Rpc>
MemoryCall<Rpc>::MemoryCall(Service* service, grpc::ServerCompletionQueue* queue)
    : service_(service), queue_(queue), writer_(&context_) {}

template <typename Rpc>
void MemoryCall<Rpc>::OnArrived(bool ok) {
  if (!ok) {
    delete this;
    return;
  }
  Request(service_, queue_);
  arrived_at_ = MonotonicNs();
  Metrics& metrics = service_->env()->metrics;
  metrics.CallStarted(Rpc::kMethod);
  metrics.MessageReceived(Rpc::kMethod);
  const absl::Status status = service_->Register(this) ? Run() : Service::DrainingError();
  code_ = status.code();
  if (status.ok()) {
    writer_.Finish(response_, grpc::Status::OK, &finished_);
  } else {
    writer_.FinishWithError(ToGrpc(status), &finished_);
  }
}

template <typename Rpc>
absl::Status MemoryCall<Rpc>::Run() {
  SharedMemory& memory = service_->env()->shared_memory;
  if (!memory.enabled()) return absl::FailedPreconditionError("this server shares no memory (--shared-memory)");
  if (!IsUnixPeer(context_.peer())) return absl::FailedPreconditionError("is for clients of a unix socket only");
  return Rpc::Run(&memory, request_, &response_);
}

template <typename Rpc>
void MemoryCall<Rpc>::OnFinished(bool ok) {
  Metrics& metrics = service_->env()->metrics;
  if (ok && code_ == absl::StatusCode::kOk) metrics.MessageSent(Rpc::kMethod);
  metrics.CallEnded(Rpc::kMethod, ok ? code_ : absl::StatusCode::kCancelled, MonotonicNs() - arrived_at_);
  service_->Unregister(this);
  delete this;
}

template class MemoryCall<RegisterRpc>;
template class MemoryCall<UnregisterRpc>;

}  // namespace glint
