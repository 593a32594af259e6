// The methods of operations, of the server itself, of grpc.health.v1.Health and of gRPC's reflection, received as bytes
// on the server's own completion queues.
#ifndef GLINT_SERVER_RPC_ASYNC_SERVICE_H_
#define GLINT_SERVER_RPC_ASYNC_SERVICE_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/operations/operation.h"

namespace glint {

// All methods are registered as streams, which is the same on the wire. For a unary method gRPC would buffer the whole
// message, however large, before admission control could run.
class AsyncService final : public grpc::Service {
 public:
  using Bytes = grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

  // Indices of methods: the server's own, then those of OperationMethods().
  enum Method : int {
    kGetServerInfo,
    kRegisterSharedMemory,
    kUnregisterSharedMemory,
    kHealthCheck,
    kHealthWatch,
    kReflection,
    kReflectionAlpha,  // v1alpha, for older tools
    kFirstOperation,
  };
  static Method MethodOf(size_t operation_method) {
    return static_cast<Method>(static_cast<size_t>(kFirstOperation) + operation_method);
  }

  // Paths by Method.
  static std::vector<std::string> Paths() {
    std::vector<std::string> paths = {"/glint.v1.Server/GetServerInfo",
                                      "/glint.v1.Server/RegisterSharedMemory",
                                      "/glint.v1.Server/UnregisterSharedMemory",
                                      "/grpc.health.v1.Health/Check",
                                      "/grpc.health.v1.Health/Watch",
                                      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                                      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
    for (const OperationMethod& row : OperationMethods()) {
      paths.push_back(absl::StrCat("/", row.service, "/", row.name));
    }
    return paths;
  }

  // Registers all methods; those of reflection only if `reflection`.
  explicit AsyncService(bool reflection) {
    for (const std::string& path : paths_) {
      const bool registered = reflection || !absl::StartsWith(path, "/grpc.reflection.");
      registered_.push_back(registered ? count_ : -1);
      if (registered) Add(path.c_str());
    }
  }

  // Names by Method, as access rules use them (server/access/access_rules.h): "Detect".
  static std::vector<std::string> MethodNames() {
    std::vector<std::string> names = Paths();
    for (std::string& name : names) name = name.substr(name.rfind('/') + 1);
    return names;
  }
  // Health checks need no credentials.
  static bool IsOpenToAll(Method method) { return method == kHealthCheck || method == kHealthWatch; }

  // Requests the next call of the method; its completions arrive on `queue`.
  void Request(Method method, grpc::ServerContext* context, Bytes* stream, grpc::ServerCompletionQueue* queue,
               void* tag) {
    RequestAsyncBidiStreaming(registered_[static_cast<size_t>(method)], context, stream, queue, queue, tag);
  }

 private:
  void Add(const char* name) {
    AddMethod(new grpc::internal::RpcServiceMethod(name, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
    MarkMethodAsync(count_++);
  }

  const std::vector<std::string> paths_ = Paths();  // gRPC borrows them
  int count_ = 0;
  std::vector<int> registered_;  // the index in gRPC's list of each Method; -1: none
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_ASYNC_SERVICE_H_
