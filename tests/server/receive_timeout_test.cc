// A call of Detect whose message does not come in time loses its slot, and ends once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/server/harness.h"
#include "tests/server/raw_calls.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kDetect[] = "/glint.v1.FeatureDetection/Detect";

ServerOptions Options(absl::Duration timeout) {
  ServerOptions options = TestOptions();
  options.max_detect_calls = 1;
  options.detect_receive_timeout = timeout;
  return options;
}

TEST(ReceiveTimeout, WhoSaysNothingLosesItsPlace) {
  LaneControl control;
  TestServer server(Options(absl::Milliseconds(500)), &control);
  for (int i = 0; i < 2; ++i) {
    RawCall silent(server.channel(), kDetect);
    EXPECT_FALSE(silent.Read().has_value());  // the end
    const grpc::Status status = silent.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(status.error_message(), "request: not received within 500ms (--detect-receive-timeout)");
    ASSERT_TRUE(Eventually([&] { return server->calls() == 0; }));
    EXPECT_EQ(server->frames_in_flight(), 0);
  }
  grpc::ClientContext context;
  v1::DetectResponse response;
  const grpc::Status status = server.stub()->Detect(&context, GrayRequest(), &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// The limit is the message's, not the answer's.
TEST(ReceiveTimeout, AnAnswerMayTakeLonger) {
  LaneControl control;
  TestServer server(Options(absl::Milliseconds(500)), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  RawCall call(server.channel(), kDetect);
  ASSERT_TRUE(call.Write(GrayRequest().SerializeAsString()));
  control.WaitUntilRunning(1);
  absl::SleepFor(absl::Milliseconds(700));
  control.Hold(false);
  EXPECT_TRUE(call.Read().has_value());
  EXPECT_TRUE(call.Finish().ok());
}

// Messages that come when the time is up: each call has one end, whichever it is, and none stays.
TEST(ReceiveTimeout, MeetsTheMessageHalfway) {
  LaneControl control;
  ServerOptions options = Options(absl::Milliseconds(5));
  options.max_detect_calls = 64;
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const std::string request = GrayRequest().SerializeAsString();
  std::atomic<int> answered{0}, late{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 60; ++i) {
        RawCall call(server.channel(), kDetect);
        absl::SleepFor(absl::Microseconds(3000 + 131 * ((i + 15 * c) % 60) / 2));
        call.Write(request);
        const bool has_answer = call.Read().has_value();
        const grpc::Status status = call.Finish();
        EXPECT_EQ(has_answer, status.ok());
        EXPECT_THAT(status.error_message(), HasSubstr(has_answer ? "" : "--detect-receive-timeout"));
        ++(has_answer ? answered : late);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered + late, 240);
  EXPECT_TRUE(Eventually([&] { return server->calls() == 0; }));
  EXPECT_EQ(server->frames_in_flight(), 0);
}

}  // namespace
}  // namespace glint::testing
