// The methods of glint.v1.FeatureDetection as this server takes them: on completion queues of its own, those with
// frames as bytes.
#ifndef GLINT_SERVER_RPC_ASYNC_SERVICE_H_
#define GLINT_SERVER_RPC_ASYNC_SERVICE_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include "glint/v1/feature_detection.pb.h"

namespace glint {

class AsyncService final : public grpc::Service {
 public:
  using Bytes = grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
  template <typename Response>
  using Unary = grpc::ServerAsyncResponseWriter<Response>;

  AsyncService() {
    using Type = grpc::internal::RpcMethod;
    // To gRPC, Detect is a stream; on the wire there is no difference. Of a unary call it would receive the message,
    // however large, before anybody here could say that there is no room for it.
    Add("/glint.v1.FeatureDetection/Detect", Type::BIDI_STREAMING);
    Add("/glint.v1.FeatureDetection/DetectStream", Type::BIDI_STREAMING);
    Add("/glint.v1.FeatureDetection/GetServerInfo", Type::NORMAL_RPC);
    Add("/glint.v1.FeatureDetection/RegisterSharedMemory", Type::NORMAL_RPC);
    Add("/glint.v1.FeatureDetection/UnregisterSharedMemory", Type::NORMAL_RPC);
  }

  // Each waits for a call of the method on `queue`, where the call's own completions will come, too.
  void RequestDetect(grpc::ServerContext* context, Bytes* stream, grpc::ServerCompletionQueue* queue, void* tag) {
    RequestAsyncBidiStreaming(kDetect, context, stream, queue, queue, tag);
  }
  void RequestDetectStream(grpc::ServerContext* context, Bytes* stream, grpc::ServerCompletionQueue* queue, void* tag) {
    RequestAsyncBidiStreaming(kDetectStream, context, stream, queue, queue, tag);
  }
  void RequestGetServerInfo(grpc::ServerContext* context, v1::GetServerInfoRequest* request,
                            Unary<v1::GetServerInfoResponse>* writer, grpc::ServerCompletionQueue* queue, void* tag) {
    RequestAsyncUnary(kGetServerInfo, context, request, writer, queue, queue, tag);
  }
  void RequestRegisterSharedMemory(grpc::ServerContext* context, v1::RegisterSharedMemoryRequest* request,
                                   Unary<v1::RegisterSharedMemoryResponse>* writer, grpc::ServerCompletionQueue* queue,
                                   void* tag) {
    RequestAsyncUnary(kRegisterSharedMemory, context, request, writer, queue, queue, tag);
  }
  void RequestUnregisterSharedMemory(grpc::ServerContext* context, v1::UnregisterSharedMemoryRequest* request,
                                     Unary<v1::UnregisterSharedMemoryResponse>* writer,
                                     grpc::ServerCompletionQueue* queue, void* tag) {
    RequestAsyncUnary(kUnregisterSharedMemory, context, request, writer, queue, queue, tag);
  }

 private:
  // In the order of Add().
  enum Method { kDetect, kDetectStream, kGetServerInfo, kRegisterSharedMemory, kUnregisterSharedMemory };

  void Add(const char* name, grpc::internal::RpcMethod::RpcType type) {
    AddMethod(new grpc::internal::RpcServiceMethod(name, type, nullptr));
    MarkMethodAsync(count_++);
  }

  int count_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_ASYNC_SERVICE_H_
