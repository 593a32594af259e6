// GetServerInfo.
#ifndef GLINT_SERVER_RPC_INFO_CALL_H_
#define GLINT_SERVER_RPC_INFO_CALL_H_

#include <string>

#include "server/rpc/small_call.h"

namespace glint {

class InfoCall final : public SmallCall {
 public:
  // Waits for the next such call on `queue`.
  static void Request(Service* service, grpc::ServerCompletionQueue* queue);

 private:
  InfoCall(Service* service, grpc::ServerCompletionQueue* queue) : SmallCall(service, queue, Method::kGetServerInfo) {}
  void RequestNext() override { Request(service(), queue()); }
  Answer Serve(const std::string& message) override;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_INFO_CALL_H_
