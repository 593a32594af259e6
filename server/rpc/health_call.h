// grpc.health.v1.Health (https://github.com/grpc/grpc/blob/master/doc/health-checking.md): health of the server as a
// whole (""), of glint.v1.Server and of each service of OperationMethods(), which are all the same.
#ifndef GLINT_SERVER_RPC_HEALTH_CALL_H_
#define GLINT_SERVER_RPC_HEALTH_CALL_H_

#include <string>

#include "server/rpc/health_watchers.h"
#include "server/rpc/small_call.h"

namespace glint {

// A call of Check, or of Watch, which stays open (--max-watchers).
class HealthCall final : public SmallCall, private HealthWatchers::Watcher {
 public:
  // Request the next such call on `queue`.
  static void RequestCheck(Service* service, grpc::ServerCompletionQueue* queue);
  static void RequestWatch(Service* service, grpc::ServerCompletionQueue* queue);

 private:
  HealthCall(Service* service, grpc::ServerCompletionQueue* queue, bool watch)
      : SmallCall(service, queue, std::nullopt), watch_(watch) {}
  void RequestNext() override { watch_ ? RequestWatch(service(), queue()) : RequestCheck(service(), queue()); }
  Answer Serve(const std::string& message) override;
  void Ended() override;
  void HealthIs(bool serving) override;

  const bool watch_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_HEALTH_CALL_H_
