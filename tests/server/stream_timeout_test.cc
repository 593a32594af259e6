// Streams whose clients are idle, or read no replies, lose their session slots; slow ones that are alive keep them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/server/raw_calls.h"
#include "tests/server/raw_http2.h"

namespace glint::testing {
namespace {

constexpr char kDetectStream[] = "/glint.v1.FeatureDetection/DetectStream";

ServerOptions Options() {
  ServerOptions options = TestOptions();
  options.metrics_listen = "127.0.0.1:0";
  options.stream_first_message_timeout = absl::Milliseconds(300);
  options.stream_idle_timeout = absl::Milliseconds(300);
  return options;
}

double TimedOut(TestServer* server, const std::string& reason) {
  return Sample(Http((*server)->metrics_address(), "GET /metrics"),
                "glint_sessions_timed_out_total{reason=\"" + reason + "\"}");
}

bool CanStream(TestServer* server) {
  TestStream stream(server->stub());
  stream.Write(OptionsMessage());
  stream.Write(FrameMessage(1));
  return stream.Read().frame_id() == 1;
}

TEST(StreamTimeoutTest, SilentStreamsDoNotKeepANewClientOut) {
  constexpr int kStreams = 64;
  LaneControl control;
  ServerOptions options = Options();
  options.max_sessions = kStreams;
  options.stream_first_message_timeout = options.stream_idle_timeout = absl::Seconds(2);
  TestServer server(options, &control);
  // Half of them never say anything, the others stop after their options.
  const auto channel = Dial(server->addresses().at(0));
  std::vector<std::unique_ptr<RawCall>> silent;
  for (int i = 0; i < kStreams; ++i) {
    silent.push_back(std::make_unique<RawCall>(channel, kDetectStream));
    if (i % 2 == 1) silent.back()->Write(OptionsMessage().SerializeAsString());
  }
  ASSERT_TRUE(Eventually([&] { return server->sessions() == kStreams; }));
  EXPECT_FALSE(CanStream(&server));
  // A client that came meanwhile would take the place of one of them.
  ASSERT_TRUE(Eventually([&] { return TimedOut(&server, "first_message") + TimedOut(&server, "idle") >= kStreams; }));
  EXPECT_TRUE(Eventually([&] { return CanStream(&server); }));
  for (int i = 0; i < kStreams; ++i) {
    EXPECT_FALSE(silent[static_cast<size_t>(i)]->Read().has_value());
    const grpc::Status status = silent[static_cast<size_t>(i)]->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(status.error_message(),
              i % 2 == 1 ? "frame: none received within 2s (--stream-idle-timeout); open a new stream"
                         : "options: not received within 2s (--stream-first-message-timeout); send them first");
  }
  EXPECT_TRUE(Eventually([&] { return server->calls() == 0; }));
  EXPECT_EQ(TimedOut(&server, "first_message"), kStreams / 2);
  EXPECT_GE(TimedOut(&server, "idle"), kStreams / 2);
  EXPECT_EQ(TimedOut(&server, "reply"), 0);
}

// The limit is for silence, not for the stream's life: this one lives for several of them.
TEST(StreamTimeoutTest, SlowFramesKeepAStreamAlive) {
  LaneControl control;
  ServerOptions options = Options();
  options.stream_idle_timeout = absl::Seconds(2);
  TestServer server(options, &control);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  for (uint64_t id = 1; id <= 9; ++id) {
    absl::SleepFor(absl::Milliseconds(500));
    ASSERT_TRUE(stream.Write(FrameMessage(id)));
    ASSERT_EQ(stream.Read().frame_id(), id);
  }
  stream.WritesDone();
  stream.Read();
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(TimedOut(&server, "idle"), 0);
}

// While the server owes an answer, the client need not say anything.
TEST(StreamTimeoutTest, WaitingForALaneIsNotSilence) {
  LaneControl control;
  TestServer server(Options(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  control.Hold(true);
  TestStream stream(server.stub());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  control.WaitUntilRunning(1);
  absl::SleepFor(absl::Milliseconds(1000));
  control.Hold(false);
  EXPECT_EQ(stream.Read().frame_id(), 1u);
  EXPECT_EQ(TimedOut(&server, "idle"), 0);
}

// Replies that are not taken fill the client's window, which this one never opens again; then the stream is broken off,
// whether or not it has been half-closed.
TEST(StreamTimeoutTest, WhoTakesNoRepliesLosesItsPlace) {
  for (const bool half_closed : {false, true}) {
    SCOPED_TRACE(half_closed);
    LaneControl control;
    ServerOptions options = Options();
    options.listen = {"127.0.0.1:0"};
    options.max_in_flight = kMaxInFlightCeiling;  // the server takes all of them
    TestServer server(options, &control);
    ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
    RawHttp2Call lazy(server->addresses().at(0), kDetectStream);
    ASSERT_TRUE(lazy.Write(OptionsMessage().SerializeAsString(), 1 << 14));
    const std::string good = FrameMessage(1, 16, 16).SerializeAsString();
    v1::DetectStreamRequest without_image;
    without_image.mutable_frame();
    const std::string bad = without_image.SerializeAsString();  // answered with a text
    int written = 0;                                            // the end may come before the last of them
    while (written < 4000 && lazy.Write(written % 2 == 0 ? good : bad, 1 << 14)) ++written;
    if (half_closed) lazy.WritesDone();
    // At first the call may not have begun: its frames may still be on their way.
    EXPECT_TRUE(Eventually([&] { return TimedOut(&server, "reply") == 1 && server->calls() == 0; }));
    EXPECT_EQ(server->sessions(), 0);
    EXPECT_EQ(server->frames_in_flight(), 0);
    EXPECT_EQ(TimedOut(&server, "idle"), 0);
  }
}

TEST(StreamTimeoutTest, EachStreamHasOneEnd) {
  LaneControl control;
  ServerOptions options = Options();
  options.stream_first_message_timeout = options.stream_idle_timeout = absl::Milliseconds(5);
  TestServer server(options, &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  for (int i = 0; i < 200; ++i) {
    TestStream stream(server.stub());
    absl::SleepFor(absl::Microseconds(37 * i));
    stream.Write(OptionsMessage());
    stream.Write(FrameMessage(1));
    if (i % 3 == 0) stream.Cancel();
    if (i % 3 == 1) stream.WritesDone();
    while (!stream.ended()) stream.Read();
    stream.Finish();
  }
  EXPECT_TRUE(Eventually([&] { return server->calls() == 0; }));
  EXPECT_EQ(server->sessions(), 0);
  EXPECT_EQ(server->frames_in_flight(), 0);
}

}  // namespace
}  // namespace glint::testing
