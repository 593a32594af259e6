#include "client/load/echo_server.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/load/stream.h"
#include "features/status_macros.h"
#include "server/config/options.h"
#include "server/net/listen.h"
#include "server/net/transport.h"
#include "server/rpc/call.h"

namespace glint::load {
namespace {

constexpr int kRequestedCalls = 4;  // that may arrive at one thread before it looks

// One call. Deletes itself when no operation is outstanding.
class EchoCall {
 public:
  static void Request(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue, int window,
                      int64_t work_ns) {
    auto* const call = new EchoCall(service, queue, window, work_ns);
    service->RequestCall(&call->context_, &call->stream_, queue, queue, &call->arrived_);
  }

 private:
  EchoCall(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue, int window, int64_t work_ns)
      : service_(service), queue_(queue), window_(window), work_ns_(work_ns), stream_(&context_) {}

  void OnArrived(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    Request(service_, queue_, window_, work_ns_);
    std::unique_lock<std::mutex> lock(mutex_);
    Advance();
    Drop(std::move(lock));
  }

  void OnRead(bool ok) {
    std::unique_lock<std::mutex> lock(mutex_);
    reading_ = false;
    if (!ok) {
      ended_ = true;
    } else if (!reply_.Valid()) {
      grpc::Slice slice;
      (void)incoming_.DumpToSingleSlice(&slice);
      reply_ = grpc::ByteBuffer(&slice, 1);
    } else {
      ++owed_;
      for (const int64_t end = MonotonicNs() + work_ns_; work_ns_ > 0 && MonotonicNs() < end;) continue;
    }
    incoming_.Clear();
    Advance();
    Drop(std::move(lock));
  }

  void OnWritten(bool ok) {
    std::unique_lock<std::mutex> lock(mutex_);
    writing_ = false;
    --owed_;
    if (!ok) owed_ = 0;
    Advance();
    Drop(std::move(lock));
  }

  void OnFinished(bool) { Drop(std::unique_lock<std::mutex>(mutex_)); }

  // Starts whatever can start now.
  void Advance() {
    if (owed_ > 0 && !writing_) {
      writing_ = true;
      ++references_;
      stream_.Write(reply_, &written_);
    }
    if (!reading_ && !ended_ && owed_ < window_) {
      reading_ = true;
      ++references_;
      stream_.Read(&incoming_, &read_);
    }
    if (ended_ && owed_ == 0 && !finishing_) {
      finishing_ = true;
      ++references_;
      stream_.Finish(grpc::Status::OK, &finished_);
    }
  }

  void Drop(std::unique_lock<std::mutex> lock) {
    if (--references_ > 0) return;
    lock.unlock();
    delete this;
  }

  grpc::AsyncGenericService* const service_;
  grpc::ServerCompletionQueue* const queue_;
  const int window_;  // messages without a reply, at most
  const int64_t work_ns_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  MethodTag<EchoCall> arrived_{this, &EchoCall::OnArrived};
  MethodTag<EchoCall> read_{this, &EchoCall::OnRead};
  MethodTag<EchoCall> written_{this, &EchoCall::OnWritten};
  MethodTag<EchoCall> finished_{this, &EchoCall::OnFinished};
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer reply_;

  std::mutex mutex_;    // guards the rest
  int references_ = 1;  // OnArrived
  int owed_ = 0;        // messages without a reply that was written
  bool reading_ = false;
  bool writing_ = false;
  bool ended_ = false;
  bool finishing_ = false;
};

void RunTags(grpc::ServerCompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Tag*>(tag)->Run(ok);
}

}  // namespace

absl::StatusOr<std::unique_ptr<EchoServer>> EchoServer::Start(const std::string& listen, absl::Duration work) {
  GLINT_RETURN_IF_ERROR(CheckListenAddress("listen", listen));
  GLINT_RETURN_IF_ERROR(CheckCanListen(listen));
  std::unique_ptr<EchoServer> echo(new EchoServer);
  grpc::ServerBuilder builder;
  ConfigureTransport(-1, &builder);
  builder.RegisterAsyncGenericService(&echo->service_);
  for (unsigned i = 0; i < CompletionThreads(); ++i) echo->queues_.push_back(builder.AddCompletionQueue());
  int port = 0;
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  echo->server_ = builder.BuildAndStart();
  if (echo->server_ == nullptr) return absl::UnavailableError(absl::StrCat("listen: cannot listen on ", listen));
  echo->address_ = IsUnixAddress(listen) ? listen : WithPort(listen, port);
  const int window = ServerOptions().max_in_flight;
  for (const auto& queue : echo->queues_) {
    for (int i = 0; i < kRequestedCalls; ++i) {
      EchoCall::Request(&echo->service_, queue.get(), window, absl::ToInt64Nanoseconds(work));
    }
    echo->threads_.emplace_back(RunTags, queue.get());
  }
  return echo;
}

EchoServer::~EchoServer() {
  if (server_ == nullptr) return;
  server_->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
  for (const auto& queue : queues_) queue->Shutdown();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace glint::load
