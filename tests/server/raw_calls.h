// Calls of methods whose messages this project has no classes for (health, reflection), as bytes.
#ifndef GLINT_TESTS_SERVER_RAW_CALLS_H_
#define GLINT_TESTS_SERVER_RAW_CALLS_H_

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace glint::testing {

inline constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
inline constexpr char kHealthWatch[] = "/grpc.health.v1.Health/Watch";
inline constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

// HealthCheckResponse.status is field 1.
inline const std::string kServing("\x08\x01", 2);
inline const std::string kNotServing("\x08\x02", 2);

// HealthCheckRequest.service is field 1; "" is the whole server.
inline std::string HealthRequest(const std::string& service = "") {
  return service.empty() ? "" : std::string("\x0a") + static_cast<char>(service.size()) + service;
}

// A call of any kind, message by message. What takes over a minute is cancelled, against hanging.
class RawCall {
 public:
  RawCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) : stub_(channel) {
    call_ = stub_.PrepareCall(&context_, method, &queue_);
    call_->StartCall(Tag());
    Wait();
  }
  ~RawCall() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) continue;
  }

  bool Write(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    call_->Write(grpc::ByteBuffer(&slice, 1), Tag());
    return Wait();
  }
  // Nothing when the call has ended.
  std::optional<std::string> Read() {
    if (!std::exchange(has_headers_, true)) {  // as client/stream.cc
      call_->ReadInitialMetadata(Tag());
      Wait();
    }
    grpc::ByteBuffer buffer;
    call_->Read(&buffer, Tag());
    if (!Wait()) return std::nullopt;
    std::vector<grpc::Slice> slices;
    buffer.Dump(&slices);
    std::string bytes;
    for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return bytes;
  }
  bool WritesDone() {
    call_->WritesDone(Tag());
    return Wait();
  }
  grpc::Status Finish() {
    grpc::Status status;
    call_->Finish(&status, Tag());
    Wait();
    return status;
  }

 private:
  void* Tag() { return this; }
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    const auto deadline = std::chrono::system_clock::now() + std::chrono::minutes(1);
    if (queue_.AsyncNext(&tag, &ok, deadline) == grpc::CompletionQueue::GOT_EVENT) return ok;
    context_.TryCancel();
    queue_.Next(&tag, &ok);  // gRPC has the operation, and what it reads into, until it has ended
    return false;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool has_headers_ = false;
};

// The answer of grpc.health.v1.Health/Check, or the error's text.
inline std::string CheckHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& service = "") {
  RawCall call(channel, kHealthCheck);
  call.Write(HealthRequest(service));
  call.WritesDone();
  const std::optional<std::string> answer = call.Read();
  return answer.has_value() ? *answer : call.Finish().error_message();
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_RAW_CALLS_H_
