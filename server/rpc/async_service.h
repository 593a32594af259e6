// The methods of glint.v1.FeatureDetection, FeatureMatching, FeatureTracking and Localization, grpc.health.v1.Health
// and gRPC's reflection, received as bytes on the server's own completion queues.
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
#include "absl/strings/string_view.h"

namespace glint {

// All methods are registered as streams, which is the same on the wire. For a unary method gRPC would buffer the whole
// message, however large, before admission control could run.
class AsyncService final : public grpc::Service {
 public:
  using Bytes = grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

  enum Method {
    kDetect,
    kDetectStream,
    kGetServerInfo,
    kRegisterSharedMemory,
    kUnregisterSharedMemory,
    kHealthCheck,
    kHealthWatch,
    kMatch,
    kMatchStream,
    kStereoStream,
    kTrackStream,
    kLocalizeStream,
    kReflection,
    kReflectionAlpha,  // for older tools
  };

  // One for each Method, in its order.
  static constexpr const char* kPaths[] = {"/glint.v1.FeatureDetection/Detect",
                                           "/glint.v1.FeatureDetection/DetectStream",
                                           "/glint.v1.FeatureDetection/GetServerInfo",
                                           "/glint.v1.FeatureDetection/RegisterSharedMemory",
                                           "/glint.v1.FeatureDetection/UnregisterSharedMemory",
                                           "/grpc.health.v1.Health/Check",
                                           "/grpc.health.v1.Health/Watch",
                                           "/glint.v1.FeatureMatching/Match",
                                           "/glint.v1.FeatureMatching/MatchStream",
                                           "/glint.v1.FeatureMatching/StereoStream",
                                           "/glint.v1.FeatureTracking/TrackStream",
                                           "/glint.v1.Localization/LocalizeStream",
                                           "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                                           "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};

  // Without `reflection`, its methods, the last two, are not registered.
  explicit AsyncService(bool reflection) {
    for (const char* path : kPaths) {
      if (reflection || !absl::StartsWith(path, "/grpc.reflection.")) Add(path);
    }
  }

  // "Detect": what rules call each Method (server/access/access_rules.h), in its order.
  static std::vector<std::string> MethodNames() {
    std::vector<std::string> names;
    for (const absl::string_view path : kPaths) names.emplace_back(path.substr(path.rfind('/') + 1));
    return names;
  }
  // Health checks need no credentials.
  static bool IsOpenToAll(Method method) { return method == kHealthCheck || method == kHealthWatch; }

  // Waits for a call of the method on `queue`, where the call's own completions will come, too.
  void Request(Method method, grpc::ServerContext* context, Bytes* stream, grpc::ServerCompletionQueue* queue,
               void* tag) {
    RequestAsyncBidiStreaming(method, context, stream, queue, queue, tag);
  }

 private:
  void Add(const char* name) {
    AddMethod(new grpc::internal::RpcServiceMethod(name, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
    MarkMethodAsync(count_++);
  }

  int count_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_ASYNC_SERVICE_H_
