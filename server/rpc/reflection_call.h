// ServerReflectionInfo: requests on a stream, a response to each. At most --max-small-calls are open at the same time;
// one without a request for --small-call-timeout ends.
#ifndef GLINT_SERVER_RPC_REFLECTION_CALL_H_
#define GLINT_SERVER_RPC_REFLECTION_CALL_H_

#include <string>

#include "server/rpc/small_call.h"

namespace glint {

class ReflectionCall final : public SmallCall {
 public:
  // Waits for the next call of `method`, which is kReflection or kReflectionAlpha, on `queue`.
  static void Request(AsyncService::Method method, Service* service, grpc::ServerCompletionQueue* queue);

 private:
  ReflectionCall(AsyncService::Method method, Service* service, grpc::ServerCompletionQueue* queue)
      : SmallCall(service, queue, std::nullopt, service->reflection_places(), PlaceKind::kReflection),
        method_(method) {}
  void RequestNext() override { Request(method_, service(), queue()); }
  absl::Status Admit() override;
  Answer Serve(const std::string& message) override;
  absl::Status NoMoreMessages() override { return absl::OkStatus(); }

  const AsyncService::Method method_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_REFLECTION_CALL_H_
