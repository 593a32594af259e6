// RegisterSharedMemory and UnregisterSharedMemory.
#ifndef GLINT_SERVER_RPC_MEMORY_CALL_H_
#define GLINT_SERVER_RPC_MEMORY_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include "absl/status/status.h"
#include "server/rpc/call.h"
#include "server/rpc/service.h"

namespace glint {

// One of the two: what they have in common. `Rpc` says what differs.
template <typename Rpc>
class MemoryCall final : public Call {
 public:
  // Waits for the next such call on `queue`.
  static void Request(Service* service, grpc::ServerCompletionQueue* queue);

  void Drain() override {}  // it ends at once

 private:
  MemoryCall(Service* service, grpc::ServerCompletionQueue* queue);
  void OnArrived(bool ok);
  void OnFinished(bool ok);
  absl::Status Run();

  Service* const service_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncResponseWriter<typename Rpc::Response> writer_;
  typename Rpc::Request request_;
  typename Rpc::Response response_;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  ArrivalTag<MemoryCall> arrived_{this, &MemoryCall::OnArrived, service_};
  MethodTag<MemoryCall> finished_{this, &MemoryCall::OnFinished};
  int64_t arrived_at_ = 0;
};

struct RegisterRpc {
  using Request = v1::RegisterSharedMemoryRequest;
  using Response = v1::RegisterSharedMemoryResponse;
  static constexpr Method kMethod = Method::kRegisterSharedMemory;
  static constexpr auto kRequest = &AsyncService::RequestRegisterSharedMemory;
  static absl::Status Run(SharedMemory* memory, const Request& request, Response* response);
};

struct UnregisterRpc {
  using Request = v1::UnregisterSharedMemoryRequest;
  using Response = v1::UnregisterSharedMemoryResponse;
  static constexpr Method kMethod = Method::kUnregisterSharedMemory;
  static constexpr auto kRequest = &AsyncService::RequestUnregisterSharedMemory;
  static absl::Status Run(SharedMemory* memory, const Request& request, Response* response);
};

using RegisterCall = MemoryCall<RegisterRpc>;
using UnregisterCall = MemoryCall<UnregisterRpc>;

}  // namespace glint

#endif  // GLINT_SERVER_RPC_MEMORY_CALL_H_
