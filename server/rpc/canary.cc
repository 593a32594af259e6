#include "server/rpc/canary.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "features/status_macros.h"
#include "glint/v1/feature_detection.grpc.pb.h"
#include "proto/grpc_deadline.h"
#include "server/base/clock.h"

namespace glint {
namespace {

// Size of the probe: ORB's patch and border leave some pixels, so every stage has work.
constexpr int kSide = 96;

v1::DetectStreamRequest OptionsMessage() {
  v1::DetectStreamRequest request;
  request.mutable_options()->mutable_detector()->set_max_features(16);
  return request;
}

v1::DetectStreamRequest FrameMessage() {
  v1::DetectStreamRequest request;
  v1::RawImage* image = request.mutable_frame()->mutable_image()->mutable_raw();
  image->set_format(v1::PIXEL_FORMAT_GRAY8);
  image->set_width(kSide);
  image->set_height(kSide);
  std::string* pixels = image->mutable_data();
  pixels->resize(kSide * kSide);
  for (int i = 0; i < kSide * kSide; ++i) {
    const bool white = ((i % kSide) / 12 + i / kSide / 12) % 2 != 0;
    (*pixels)[static_cast<size_t>(i)] = static_cast<char>(white ? 230 : 30);
  }
  return request;
}

}  // namespace

// One operation is outstanding at a time, so any completion is its own.
struct Canary::Stream {
  explicit Stream(const std::shared_ptr<grpc::Channel>& channel)
      : stub(v1::FeatureDetection::NewStub(channel)), call(stub->PrepareAsyncDetectStream(Mark(&context), &queue)) {}
  ~Stream() {
    context.TryCancel();
    queue.Shutdown();
    void* tag;
    bool ok;
    while (queue.Next(&tag, &ok)) {
    }
  }

  static grpc::ClientContext* Mark(grpc::ClientContext* context) {
    context->AddMetadata(kCanaryKey, "1");
    return context;
  }

  absl::Status Done(int64_t deadline_ns) {
    void* tag;
    bool ok = false;
    switch (queue.AsyncNext(&tag, &ok, GrpcDeadline(absl::Nanoseconds(deadline_ns - MonotonicNs())))) {
      case grpc::CompletionQueue::GOT_EVENT:
        return ok ? absl::OkStatus() : absl::UnavailableError("the stream has ended");
      case grpc::CompletionQueue::TIMEOUT:
        return absl::DeadlineExceededError("no answer");
      case grpc::CompletionQueue::SHUTDOWN:
        break;
    }
    return absl::InternalError("the queue is shut down");
  }

  absl::Status Open(int64_t deadline_ns) {
    call->StartCall(nullptr);
    GLINT_RETURN_IF_ERROR(Done(deadline_ns));
    call->Write(OptionsMessage(), nullptr);
    return Done(deadline_ns);
  }

  absl::Status Send(int64_t deadline_ns) {
    call->Write(FrameMessage(), nullptr);
    GLINT_RETURN_IF_ERROR(Done(deadline_ns));
    v1::DetectStreamResponse response;
    call->Read(&response, nullptr);
    absl::Status status = Done(deadline_ns);
    if (absl::IsDeadlineExceeded(status)) {
      // `response` must outlive the read.
      context.TryCancel();
      Done(std::numeric_limits<int64_t>::max()).IgnoreError();
    }
    if (!status.ok()) return status;
    return absl::Status(static_cast<absl::StatusCode>(response.status().code()), response.status().message());
  }

  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const std::unique_ptr<v1::FeatureDetection::Stub> stub;
  const std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::DetectStreamRequest, v1::DetectStreamResponse>> call;
};

Canary::Canary(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}
Canary::~Canary() = default;

absl::Status Canary::Send(absl::Duration timeout) {
  const int64_t deadline_ns = MonotonicNs() + absl::ToInt64Nanoseconds(timeout);
  absl::Status status;
  if (stream_ == nullptr) {
    stream_ = std::make_unique<Stream>(channel_);
    status = stream_->Open(deadline_ns);
  }
  if (status.ok()) status = stream_->Send(deadline_ns);
  if (status.ok()) return status;
  stream_ = nullptr;
  return absl::Status(status.code(), absl::StrCat("canary frame: ", status.message()));
}

}  // namespace glint
