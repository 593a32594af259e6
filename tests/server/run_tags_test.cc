// RunTags: a queue in which something is always ready hears its sockets all the same.
#include "server/rpc/run_tags.h"

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "glint/v1/server.grpc.pb.h"

namespace glint {
namespace {

// Is ready again as soon as it has run, without a socket: as a stream whose messages have all come already.
class Always final : public Tag {
 public:
  explicit Always(grpc::CompletionQueue* queue) : queue_(queue) {}
  void Begin() { alarm_.Set(queue_, gpr_inf_past(GPR_CLOCK_REALTIME), this); }
  void Run(bool) override {
    ++runs;
    if (!over) Begin();
  }

  std::atomic<bool> over{false};
  std::atomic<int> runs{0};

 private:
  grpc::CompletionQueue* const queue_;
  grpc::Alarm alarm_;
};

// Ends each call that comes.
class Calls {
 public:
  Calls(grpc::AsyncGenericService* service, grpc::ServerCompletionQueue* queue)
      : stream_(&context_), arrived_(this, &Calls::Arrived), finished_(this, &Calls::Finished) {
    service->RequestCall(&context_, &stream_, queue, queue, &arrived_);
  }

 private:
  void Arrived(bool ok) {
    if (ok) stream_.Finish(grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "heard"), &finished_);
  }
  void Finished(bool) {}

  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  MethodTag<Calls> arrived_, finished_;
};

// As glint-server has it (server/net/transport.cc): a thread that polls looks at the sockets of its own queue alone.
const int kPolls = setenv("GRPC_POLL_STRATEGY", "poll", 1);

TEST(RunTagsTest, SocketsAreHeardThoughSomethingIsAlwaysReady) {
  ASSERT_EQ(kPolls, 0);
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterAsyncGenericService(&service);
  const std::unique_ptr<grpc::ServerCompletionQueue> queue = builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  Calls calls(&service, queue.get());
  Always always(queue.get());
  always.Begin();
  std::thread thread([&queue] { RunTags(queue.get()); });

  // Long: a machine that is busy is not to fail the test. If no socket is looked at, no time is enough.
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const auto stub =
      v1::Server::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  v1::GetServerInfoResponse reply;
  const grpc::Status status = stub->GetServerInfo(&context, {}, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS) << status.error_message();
  EXPECT_GT(always.runs, 1);

  always.over = true;
  server->Shutdown(std::chrono::system_clock::now());
  queue->Shutdown();
  thread.join();
}

}  // namespace
}  // namespace glint
