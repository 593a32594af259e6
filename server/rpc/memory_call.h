// RegisterSharedMemory and UnregisterSharedMemory.
#ifndef GLINT_SERVER_RPC_MEMORY_CALL_H_
#define GLINT_SERVER_RPC_MEMORY_CALL_H_

#include <string>

#include "absl/status/status.h"
#include "glint/v1/server.pb.h"
#include "server/rpc/small_call.h"

namespace glint {

// One of the two calls; `Rpc` is what differs.
template <typename Rpc>
class MemoryCall final : public SmallCall {
 public:
  // Waits for the next such call on `queue`.
  static void Request(Service* service, grpc::ServerCompletionQueue* queue) {
    (new MemoryCall(service, queue))->SmallCall::Request(Rpc::kAsyncMethod);
  }

 private:
  MemoryCall(Service* service, grpc::ServerCompletionQueue* queue) : SmallCall(service, queue, Rpc::kMethod) {}
  void RequestNext() override { Request(service(), queue()); }
  Answer Serve(const std::string& message) override;
};

struct RegisterRpc {
  using Request = v1::RegisterSharedMemoryRequest;
  using Response = v1::RegisterSharedMemoryResponse;
  static constexpr Method kMethod = Method::kRegisterSharedMemory;
  static constexpr AsyncService::Method kAsyncMethod = AsyncService::kRegisterSharedMemory;
  static absl::Status Run(SharedMemory* memory, const std::string& owner, const Request& request, Response* response);
};

struct UnregisterRpc {
  using Request = v1::UnregisterSharedMemoryRequest;
  using Response = v1::UnregisterSharedMemoryResponse;
  static constexpr Method kMethod = Method::kUnregisterSharedMemory;
  static constexpr AsyncService::Method kAsyncMethod = AsyncService::kUnregisterSharedMemory;
  static absl::Status Run(SharedMemory* memory, const std::string& owner, const Request& request, Response* response);
};

using RegisterCall = MemoryCall<RegisterRpc>;
using UnregisterCall = MemoryCall<UnregisterRpc>;

}  // namespace glint

#endif  // GLINT_SERVER_RPC_MEMORY_CALL_H_
