#include "server/rpc/memory_call.h"

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"
#include "server/net/listen.h"

namespace glint {

absl::Status RegisterRpc::Run(SharedMemory* memory, const std::string& owner, const Request& request,
                              Response* response) {
  GLINT_ASSIGN_OR_RETURN(const size_t bytes,
                         memory->Register(request.token(), owner, request.name(),
                                          {request.shared_with().begin(), request.shared_with().end()}));
  response->set_bytes(bytes);
  response->set_owner(owner);
  return absl::OkStatus();
}

absl::Status UnregisterRpc::Run(SharedMemory* memory, const std::string&, const Request& request, Response*) {
  return memory->Unregister(request.token());
}

template <typename Rpc>
SmallCall::Answer MemoryCall<Rpc>::Serve(const std::string& message) {
  Answer answer;
  SharedMemory& memory = service()->env()->shared_memory;
  typename Rpc::Request request;
  typename Rpc::Response response;
  if (service()->draining()) {
    answer.status = Service::DrainingError();
  } else if (!memory.enabled()) {
    answer.status = absl::FailedPreconditionError("this server shares no memory (--shared-memory)");
  } else if (!IsUnixPeer(peer())) {
    answer.status = absl::FailedPreconditionError("is for clients of a unix socket only");
  } else if (!request.ParseFromString(message)) {
    answer.status = absl::InvalidArgumentError(absl::StrCat("request: not a serialized ", request.GetTypeName()));
  } else {
    answer.status = Rpc::Run(&memory, client()->name(), request, &response);
    answer.reply = response.SerializeAsString();
  }
  return answer;
}

template class MemoryCall<RegisterRpc>;
template class MemoryCall<UnregisterRpc>;

}  // namespace glint
