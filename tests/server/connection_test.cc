// How long connections live: idle ones, old ones, and those whose client is gone without a word.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "server/net/transport.h"
#include "tests/server/harness.h"
#include "tests/server/raw_http2.h"

namespace glint::testing {
namespace {

constexpr char kDetectStream[] = "/glint.v1.FeatureDetection/DetectStream";

bool Call(TestServer* server) {
  grpc::ClientContext context;
  v1::GetServerInfoResponse response;
  return server->server_stub()->GetServerInfo(&context, {}, &response).ok();
}

// Poll looks at each of them whenever a thread waits.
TEST(ConnectionTest, ManyAreNotPolled) {
  constexpr char kVariable[] = "GRPC_POLL_STRATEGY";
  for (const auto& [connections, strategy] :
       {std::pair(512, "poll"), std::pair(1024, "poll"), std::pair(1025, "epoll1")}) {
    unsetenv(kVariable);
    ChoosePolling(connections);
    EXPECT_STREQ(std::getenv(kVariable), strategy) << connections;
    setenv(kVariable, "chosen", 1);
    ChoosePolling(connections);
    EXPECT_STREQ(std::getenv(kVariable), "chosen");
  }
  unsetenv(kVariable);
}

TEST(ConnectionTest, WithoutCallsItIsClosed) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.connections.idle_timeout = absl::Seconds(1);
  TestServer server(options, &control);
  ASSERT_TRUE(Call(&server));
  EXPECT_EQ(server.channel()->GetState(false), GRPC_CHANNEL_READY);
  EXPECT_TRUE(Eventually([&] { return server.channel()->GetState(false) != GRPC_CHANNEL_READY; }));
  EXPECT_TRUE(Call(&server));  // on a new one
}

// A stream goes on although its connection is old; only a limited grace cuts it off.
TEST(ConnectionTest, AnOldOneIsReplacedAndItsStreamsGoOn) {
  for (const absl::Duration grace : {absl::InfiniteDuration(), absl::Duration(absl::Seconds(1))}) {
    LaneControl control;
    ServerOptions options = TestOptions();
    options.connections.max_age = absl::Seconds(1);
    options.connections.age_grace = grace;
    TestServer server(options, &control);
    TestStream stream(server.stub());
    ASSERT_TRUE(stream.Write(OptionsMessage()));
    EXPECT_TRUE(Eventually([&] { return server.channel()->GetState(false) != GRPC_CHANNEL_READY; }));
    if (grace == absl::InfiniteDuration()) {
      ASSERT_TRUE(stream.Write(FrameMessage(1)));
      EXPECT_EQ(stream.Read().frame_id(), 1u);
      EXPECT_EQ(server->sessions(), 1);
    } else {
      EXPECT_TRUE(Eventually([&] { return server->sessions() == 0; }));
    }
    EXPECT_TRUE(Call(&server));
  }
}

TEST(ConnectionTest, WhoAnswersNoPingIsGone) {
  LaneControl control;
  ServerOptions options = TestOptions();
  options.listen = {"127.0.0.1:0"};
  options.connections.keepalive_time = options.connections.keepalive_timeout = absl::Seconds(1);
  TestServer server(options, &control);
  RawHttp2Call deaf(server->addresses().at(0), kDetectStream);  // reads nothing, so it sees no ping
  ASSERT_TRUE(deaf.Write(OptionsMessage().SerializeAsString(), 1 << 14));
  ASSERT_TRUE(Eventually([&] { return server->sessions() == 1; }));
  EXPECT_TRUE(Eventually([&] { return server->calls() == 0; }));
  EXPECT_FALSE(deaf.WaitForData(1));
}

}  // namespace
}  // namespace glint::testing
