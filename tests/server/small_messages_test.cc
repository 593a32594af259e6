// Calls without a picture are received as Detect is: a few at a time, up to a few KiB, within a time; and silence keeps
// nobody out. gRPC receives what a client announces, whatever the limit, so the sum is limited, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/memory/memory_bound.h"
#include "tests/server/harness.h"
#include "tests/server/http2_client.h"
#include "tests/server/http_page.h"
#include "tests/server/process_memory.h"
#include "tests/server/raw_calls.h"

namespace glint::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;
using Milliseconds = Http2Client::Milliseconds;

constexpr char kGetServerInfo[] = "/glint.v1.Server/GetServerInfo";
constexpr char kRegister[] = "/glint.v1.Server/RegisterSharedMemory";
constexpr char kUnregister[] = "/glint.v1.Server/UnregisterSharedMemory";
constexpr char kDetect[] = "/glint.v1.FeatureDetection/Detect";
constexpr char kDetectStream[] = "/glint.v1.FeatureDetection/DetectStream";
constexpr const char* kSmallMethods[] = {kGetServerInfo, kRegister,    kUnregister,
                                         kHealthCheck,   kHealthWatch, kReflection};
constexpr int64_t kMiB = 1 << 20;

std::string PathOf(const ServerOptions& options) { return options.listen[0].substr(5); }

// `calls` calls announce a message of 33 MiB each and send all of it but a byte, one after the other.
uint64_t SendAllButAByte(Http2Client* client, const char* method, int calls) {
  constexpr uint32_t kSize = 33 << 20;
  std::vector<uint32_t> streams;
  for (int i = 0; i < calls; ++i) {
    streams.push_back(client->Call(method));
    client->SendPrefix(streams.back(), kSize);
  }
  uint64_t sent = 0;
  for (const uint32_t stream : streams) sent += client->SendZeros(stream, kSize - 1, Milliseconds(10));
  return sent;
}

// A server that says it takes little, so that a client can send more than that.
ServerOptions OptionsOfLittleMemory() {
  ServerOptions options = TestOptions();
  options.max_message_bytes = kMiB;
  options.max_pending_bytes = 8 * kMiB;
  options.max_sessions = options.max_detect_calls = 4;
  options.max_track_streams = options.max_localize_streams = 0;
  options.max_features = 100;
  options.lanes.max_image_pixels = kMiB;
  return options;
}

// gRPC takes a window of at least 4 MiB of each call that waits for a slot, and more on a fast machine: in all more
// than the bound, were it not told one.
TEST(SmallMessages, LargeOnesThatStopShortStayWithinTheBound) {
  constexpr int kCalls = 128;
  LaneControl control;
  ServerOptions options = OptionsOfLittleMemory();
  options.max_small_calls = kCalls;
  const int64_t bound = ComputeMemoryBound(options, 1).total();
  ASSERT_LT(bound, kCalls * kReceiveWindowBytes);
  for (const char* method : kSmallMethods) {
    options.listen = {"unix:" + UniqueSocketPath()};
    TestServer server(options, &control);
    ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
    Http2Client client(PathOf(options));
    const PeakMemory peak;
    SendAllButAByte(&client, method, kCalls);
    EXPECT_LT(peak.GrowthBytes(), bound) << method;
    // The first try may fail: its slot may go to another call.
    EXPECT_TRUE(Eventually([&] { return CheckHealth(server.channel()) == kServing; })) << method;
  }
}

// What all clients together send and the server has not taken yet stays within what it says it may receive.
TEST(SmallMessages, AMessageOverTheLimitDoesNotTakeMoreThanTheBound) {
  LaneControl control;
  ServerOptions options = OptionsOfLittleMemory();
  for (const char* method : {kDetect, kDetectStream, kGetServerInfo}) {
    options.listen = {"unix:" + UniqueSocketPath()};
    TestServer server(options, &control);
    ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
    const int64_t bound = ComputeMemoryBound(options, 1).total();
    Http2Client client(PathOf(options));
    const PeakMemory peak;
    const uint32_t stream = client.Call(method);
    ASSERT_TRUE(client.SendPrefix(stream, 1000 * kMiB));
    const uint64_t sent = client.SendZeros(stream, 500 * kMiB, Milliseconds(2000));
    EXPECT_LT(sent, 300u * kMiB) << method;
    EXPECT_TRUE(client.ended(stream)) << method;
    EXPECT_LT(peak.GrowthBytes(), bound) << method;
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    v1::DetectResponse response;
    const grpc::Status status = server.stub()->Detect(&context, GrayRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

// One megabyte of gzip is a gigabyte of zeros.
TEST(SmallMessages, CompressedOnesAreRefusedUnopened) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(10)));
  const v1::DetectRequest request = GrayRequest(5000, 5000);
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    v1::DetectResponse response;
    const grpc::Status status = server.stub()->Detect(&context, request, &response);
    EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED) << status.error_message();
  }
  EXPECT_TRUE(Eventually([&] { return server->calls() == 0; }));
}

class SmallCallTest : public ::testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.max_small_calls = 8;
    options.small_call_timeout = absl::Milliseconds(400);
    return options;
  }
  void Start(const ServerOptions& options = Options()) {
    path_ = PathOf(options);
    server_ = std::make_unique<TestServer>(options, &control_);
    ASSERT_TRUE((*server_)->WaitUntilServing(absl::Seconds(10)));
  }
  void ExpectAllCallsEnd() {
    EXPECT_TRUE(Eventually([&] { return (*server_)->calls() == 0; })) << (*server_)->calls() << " calls stay";
  }
  // At the third try, at most: where all places are taken, a call whose message is late is told to try again, and on a
  // busy machine it may be late here.
  void ExpectGoodCallsAreAnswered() {
    std::string health;
    for (int i = 0; i < 3 && health != kServing; ++i) health = CheckHealth(server_->channel());
    EXPECT_EQ(health, kServing);
    grpc::Status status(grpc::StatusCode::RESOURCE_EXHAUSTED, "");
    for (int i = 0; i < 3 && status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED; ++i) {
      grpc::ClientContext context;
      v1::GetServerInfoResponse info;
      status = server_->server_stub()->GetServerInfo(&context, {}, &info);
    }
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  std::string Page() { return Http((*server_)->metrics_address(), "GET /metrics"); }

  LaneControl control_;
  std::unique_ptr<TestServer> server_;
  std::string path_;
};

TEST_F(SmallCallTest, AMessageOverAFewKiBIsRefused) {
  Start();
  for (const char* method : kSmallMethods) {
    RawCall call(server_->channel(), method);
    call.Write(std::string(5000, '\0'));
    EXPECT_EQ(call.Read(), std::nullopt) << method;
    const grpc::Status status = call.Finish();
    EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << method;
    EXPECT_EQ(status.error_message(),
              "request: 5000 bytes are over this server's limit of 4096 for calls without a picture");
  }
  EXPECT_THAT(Page(), HasSubstr("glint_small_calls_refused_total{reason=\"too_large\"} 6"));
  ExpectAllCallsEnd();
}

TEST_F(SmallCallTest, GarbageIsRefused) {
  Start();
  const std::string garbage("\xff\xff\xff\xff\xff", 5);
  for (const char* method : {kGetServerInfo, kHealthCheck, kHealthWatch, kReflection}) {
    RawCall call(server_->channel(), method);
    call.Write(garbage);
    EXPECT_EQ(call.Read(), std::nullopt) << method;
    const grpc::Status status = call.Finish();
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << method;
    EXPECT_THAT(status.error_message(), HasSubstr("request: not a serialized ")) << method;
  }
  RawCall nothing(server_->channel(), kGetServerInfo);
  nothing.WritesDone();
  EXPECT_EQ(nothing.Read(), std::nullopt);
  EXPECT_EQ(nothing.Finish().error_message(), "request: missing");
  ExpectAllCallsEnd();
}

TEST_F(SmallCallTest, WhoSaysNothingIsEnded) {
  Start();
  for (const char* method : kSmallMethods) {
    RawCall silent(server_->channel(), method);
    EXPECT_EQ(silent.Read(), std::nullopt) << method;
    const grpc::Status status = silent.Finish();
    EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED) << method;
    EXPECT_EQ(status.error_message(), "request: not received within 400ms (--small-call-timeout)");
  }
  EXPECT_THAT(Page(), HasSubstr("glint_small_calls_refused_total{reason=\"late\"} 6"));
  ExpectAllCallsEnd();
}

// More calls than slots, all the time, for far longer than the test takes.
TEST_F(SmallCallTest, SilenceKeepsNobodyOut) {
  ServerOptions options = Options();
  options.small_call_timeout = absl::Hours(1);
  options.max_small_calls = 16;
  Start(options);
  Http2Client client(path_);
  for (int i = 0; i < 12; ++i) {
    for (int s = 0; s < 5; ++s) {
      const uint32_t stream = client.Call(kSmallMethods[static_cast<size_t>(s)]);
      if (s % 2 == 0) client.SendPrefix(stream, 10);  // half a message
    }
    client.Pump(Milliseconds(10));
    ExpectGoodCallsAreAnswered();
  }
  EXPECT_GT(client.ended(), 40);
  EXPECT_TRUE(Eventually([&] { return (*server_)->calls() <= 16; }));
  EXPECT_THAT(Page(), HasSubstr("glint_small_calls_refused_total{reason=\"displaced\"} "));
}

TEST_F(SmallCallTest, ManyAtATimeAreAnswered) {
  Start();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<RawCall>> calls;
    for (int i = 0; i < 8; ++i) {
      calls.push_back(std::make_unique<RawCall>(server_->channel(), i % 2 == 0 ? kGetServerInfo : kHealthCheck));
    }
    for (const auto& call : calls) EXPECT_TRUE(call->Write(""));
    for (const auto& call : calls) {
      EXPECT_TRUE(call->Read().has_value());
      EXPECT_TRUE(call->Finish().ok());
    }
  }
  ExpectAllCallsEnd();
}

TEST_F(SmallCallTest, WatchersAreLimitedAndGetEveryChange) {
  ServerOptions options = Options();
  options.max_watchers = 2;
  Start(options);
  std::vector<std::unique_ptr<RawCall>> watchers;
  for (int i = 0; i < 3; ++i) {
    watchers.push_back(std::make_unique<RawCall>(server_->channel(), kHealthWatch));
    watchers.back()->Write(HealthRequest(i == 0 ? "no.such.Service" : ""));
  }
  EXPECT_EQ(watchers[0]->Read(), std::string("\x08\x03", 2));  // SERVICE_UNKNOWN
  EXPECT_EQ(watchers[1]->Read(), kServing);
  EXPECT_EQ(watchers[2]->Read(), std::nullopt);
  EXPECT_EQ(watchers[2]->Finish().error_message(),
            "health.watchers: 3 is over this server's limit of 2 (--max-watchers)");
  absl::SleepFor(absl::Milliseconds(700));  // longer than a message may take
  control_.Fail(absl::InternalError("x"), absl::InternalError("lost"));
  grpc::ClientContext context;
  v1::DetectResponse response;
  server_->stub()->Detect(&context, GrayRequest(), &response);
  EXPECT_EQ(watchers[1]->Read(), kNotServing);
  EXPECT_TRUE(Eventually([&] { return (*server_)->calls() == 0; }));  // watchers are no work
  watchers.clear();
  EXPECT_TRUE(Eventually([&] {
    RawCall again(server_->channel(), kHealthWatch);
    again.Write(HealthRequest());
    return again.Read() == kNotServing;
  }));
}

// Watchers do not hold up a stop.
TEST_F(SmallCallTest, AWatcherSeesTheEndOfService) {
  Start();
  RawCall watch(server_->channel(), kHealthWatch);
  RawCall silent(server_->channel(), kGetServerInfo);
  ASSERT_TRUE(watch.Write(HealthRequest()));
  EXPECT_EQ(watch.Read(), kServing);
  EXPECT_TRUE((*server_)->Shutdown(absl::Seconds(60)).ok());
  EXPECT_EQ(watch.Read(), kNotServing);
  EXPECT_EQ(watch.Read(), std::nullopt);
}

}  // namespace
}  // namespace glint::testing
