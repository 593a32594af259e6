#include "client/health.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include "client/wire.h"
#include "proto/grpc_deadline.h"

namespace glint::client {
namespace {

using google::protobuf::internal::WireFormatLite;

// HealthCheckRequest: string service = 1.
grpc::ByteBuffer Request(const std::string& service) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    if (!service.empty()) WireFormatLite::WriteString(1, service, &out);
  }
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// HealthCheckResponse: ServingStatus status = 1, with SERVING 1 and NOT_SERVING 2.
Health Parse(const grpc::ByteBuffer& response) {
  grpc::Slice slice;
  if (!response.DumpToSingleSlice(&slice).ok()) return Health::kUnknown;
  google::protobuf::io::CodedInputStream in(slice.begin(), static_cast<int>(slice.size()));
  uint64_t status = 0;
  while (const uint32_t tag = in.ReadTag()) {
    if (tag == WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_VARINT)) {
      if (!in.ReadVarint64(&status)) return Health::kUnknown;
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return Health::kUnknown;
    }
  }
  return status == 1 ? Health::kServing : status == 2 ? Health::kNotServing : Health::kUnknown;
}

}  // namespace

absl::StatusOr<Health> CheckHealth(const std::shared_ptr<grpc::ChannelInterface>& channel, const std::string& service,
                                   absl::Duration timeout, const std::shared_ptr<OpenCalls>& calls) {
  grpc::ClientContext context;
  const OpenCall open(calls, &context);
  if (timeout < absl::InfiniteDuration()) context.set_deadline(GrpcDeadline(timeout));
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", Request(service), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  if (!status.ok()) return FromGrpc(status);
  return Parse(response);
}

}  // namespace glint::client
