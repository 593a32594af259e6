#include "server/rpc/reflection_call.h"

#include "server/net/listen.h"
#include "server/rpc/reflection.h"

namespace glint {

void ReflectionCall::Request(AsyncService::Method method, Service* service, grpc::ServerCompletionQueue* queue) {
  (new ReflectionCall(method, service, queue))->SmallCall::Request(method);
}

absl::Status ReflectionCall::Admit() {
  const ServerOptions& options = service()->env()->options;
  if (options.reflection == Reflection::kLoopback && !IsLoopbackPeer(peer())) {
    return absl::PermissionDeniedError("reflection: is for clients of this machine only (--reflection)");
  }
  return absl::OkStatus();
}

ReflectionCall::Answer ReflectionCall::Serve(const std::string& message) {
  Answer answer;
  auto reply = AnswerReflection(message);
  answer.status = reply.status();
  if (reply.ok()) answer.reply = *std::move(reply);
  answer.then = Answer::Then::kNextMessage;
  return answer;
}

}  // namespace glint
