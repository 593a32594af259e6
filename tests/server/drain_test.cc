// The end of a server, where calls arrive at that very moment.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "server/rpc/env.h"
#include "server/rpc/service.h"
#include "tests/server/harness.h"

namespace glint::testing {
namespace {

// Who has seen NOT_SERVING finds no way in: a call that came then used to wait for lanes that were about to go.
TEST(DrainOrderTest, NewCallsAreRefusedBeforeHealthSaysSo) {
  LaneControl control;
  const ServerOptions options = TestOptions();
  ServerEnv env(options, *FakeLanes(&control)(options.lanes));  // without threads: nobody answers a frame
  auto service = Service::Start(&env);
  ASSERT_TRUE(service.ok()) << service.status();
  env.health.LaneIsWarm();
  ASSERT_TRUE(env.health.serving());
  const auto stub = v1::FeatureDetection::NewStub(Dial((*service)->addresses().at(0)));
  int told = 0;
  grpc::Status call;
  env.health.Publish([&](bool serving) {
    if (serving) return;
    ++told;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    v1::DetectResponse response;
    call = stub->Detect(&context, GrayRequest(), &response);
  });
  (*service)->StartDraining();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(call.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.error_message(), "the server is draining");
  EXPECT_FALSE(env.health.serving());
  EXPECT_TRUE((*service)->WaitUntilIdle(absl::Seconds(10)));
  (*service)->Stop();
}

// A call that has arrived may lie in its queue while the thread that takes it is busy. It writes to the queue when its
// turn comes, so the queue must be there.
TEST(DrainOrderTest, StoppingWaitsForArrivalsThatAreOnTheirWay) {
  struct Late {
    void OnArrived(bool) { arrived = true; }
    std::atomic<bool> arrived{false};
  } late;
  LaneControl control;
  const ServerOptions options = TestOptions();
  ServerEnv env(options, *FakeLanes(&control)(options.lanes));
  auto service = Service::Start(&env);
  ASSERT_TRUE(service.ok()) << service.status();
  ArrivalTag<Late> tag(&late, &Late::OnArrived, service->get());
  std::atomic<bool> stopped{false};
  std::thread stop([&] {
    (*service)->StartDraining();
    (*service)->Stop();
    EXPECT_TRUE(late.arrived);
    stopped = true;
  });
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_FALSE(stopped);
  tag.Run(true);
  stop.join();
}

// Calls of every kind arrive while the server stops listening, cancels what is there and takes its queues down.
TEST(DrainOrderTest, ArrivalsDoNotOutliveTheQueues) {
  for (int round = 0; round < 60; ++round) {
    LaneControl control;
    TestServer server(TestOptions(), &control);
    const std::string address = server->addresses().at(0);
    std::atomic<bool> stop{false};
    std::vector<std::thread> clients;
    for (int c = 0; c < 6; ++c) {
      clients.emplace_back([&, c] {
        const auto channel = Dial(address);
        const auto stub = v1::FeatureDetection::NewStub(channel);
        const auto info = v1::Server::NewStub(channel);
        while (!stop) {
          grpc::ClientContext context;
          context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
          if (c % 3 == 0) {
            v1::GetServerInfoResponse response;
            if (!info->GetServerInfo(&context, {}, &response).ok()) break;
          } else if (c % 3 == 1) {
            v1::DetectResponse response;
            if (!stub->Detect(&context, GrayRequest(), &response).ok()) break;
          } else {
            auto stream = stub->DetectStream(&context);
            v1::DetectStreamResponse response;
            stream->WritesDone();
            while (stream->Read(&response)) continue;
            if (!stream->Finish().ok()) break;
          }
        }
      });
    }
    absl::SleepFor(absl::Milliseconds(3 + round % 7));
    server->Shutdown(absl::ZeroDuration()).IgnoreError();
    EXPECT_EQ(server->calls(), 0);
    EXPECT_EQ(server->sessions(), 0);
    stop = true;
    for (std::thread& client : clients) client.join();
  }
}

}  // namespace
}  // namespace glint::testing
