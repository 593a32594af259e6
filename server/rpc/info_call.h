// GetServerInfo.
#ifndef GLINT_SERVER_RPC_INFO_CALL_H_
#define GLINT_SERVER_RPC_INFO_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include "server/rpc/call.h"
#include "server/rpc/service.h"

namespace glint {

class InfoCall final : public Call {
 public:
  // Waits for the next such call on `queue`.
  static void Request(Service* service, grpc::ServerCompletionQueue* queue);

  void Drain() override {}  // it ends at once

 private:
  InfoCall(Service* service, grpc::ServerCompletionQueue* queue);
  void OnArrived(bool ok);
  void OnFinished(bool ok);

  Service* const service_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncResponseWriter<v1::GetServerInfoResponse> writer_;
  v1::GetServerInfoRequest request_;
  ArrivalTag<InfoCall> arrived_{this, &InfoCall::OnArrived, service_};
  MethodTag<InfoCall> finished_{this, &InfoCall::OnFinished};
  int64_t arrived_at_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_INFO_CALL_H_
