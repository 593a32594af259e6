#include "server/canary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/server/harness.h"

namespace glint::testing {
namespace {

TEST(Canary, ComesBackThroughARealLane) {
  TestServer server(TestOptions());
  Canary canary(server->InProcessChannel());
  for (int i = 0; i < 3; ++i) {
    const absl::Status status = canary.Send(absl::Seconds(30));
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(server->sessions(), 1);
}

TEST(Canary, NoticesALaneThatHangsAndOneThatRecovers) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
  Canary canary(server->InProcessChannel());
  ASSERT_TRUE(canary.Send(absl::Seconds(30)).ok());

  control.Hold(true);
  const absl::Status stuck = canary.Send(absl::Milliseconds(50));
  EXPECT_EQ(stuck.code(), absl::StatusCode::kDeadlineExceeded) << stuck;
  EXPECT_THAT(std::string(stuck.message()), ::testing::StartsWith("canary frame: "));

  control.Hold(false);
  const absl::Status again = canary.Send(absl::Seconds(30));
  EXPECT_TRUE(again.ok()) << again;
}

TEST(Canary, ReportsAFrameThatFails) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
  Canary canary(server->InProcessChannel());
  control.Fail(absl::InternalError("broken"));
  EXPECT_EQ(canary.Send(absl::Seconds(30)), absl::InternalError("canary frame: broken"));
}

TEST(Canary, IsAnsweredWhenTheQueueIsFull) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.queue_capacity = 1;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
  Canary canary(server->InProcessChannel());
  ASSERT_TRUE(canary.Send(absl::Seconds(30)).ok());

  // One frame on the lane, one in the queue, more behind it.
  control.Hold(true);
  grpc::ClientContext context;
  auto crowd = server.stub()->DetectStream(&context);
  v1::DetectStreamRequest request;
  request.mutable_options();
  ASSERT_TRUE(crowd->Write(request));
  for (int i = 0; i < 4; ++i) {
    SetGray(64, 64, 1, request.mutable_frame()->mutable_image());
    ASSERT_TRUE(crowd->Write(request));
  }
  v1::DetectRequest call;
  SetGray(64, 64, 1, call.mutable_image());
  ASSERT_TRUE(Eventually([&] {
    grpc::ClientContext refused;
    refused.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
    v1::DetectResponse response;
    return server.stub()->Detect(&refused, call, &response).error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  }));

  absl::Status status;
  std::thread probe([&] { status = canary.Send(absl::Seconds(30)); });
  absl::SleepFor(absl::Milliseconds(20));
  control.Hold(false);
  probe.join();
  EXPECT_TRUE(status.ok()) << status;
  context.TryCancel();
}

TEST(Canary, IsUnavailableWhileDraining) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  Canary canary(server->InProcessChannel());
  ASSERT_TRUE(canary.Send(absl::Seconds(30)).ok());
  server->Shutdown(absl::Seconds(10)).IgnoreError();
  EXPECT_FALSE(canary.Send(absl::Seconds(30)).ok());
}

}  // namespace
}  // namespace glint::testing
