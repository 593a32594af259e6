// How much one client may take of a server, and that its streams share what one stream would have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/access_client.h"
#include "tests/server/http_page.h"

namespace glint::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

class ClientLimitsTest : public ::testing::Test {
 protected:
  // Two identities, and these limits for each.
  void Start(const ClientLimits& limits, const std::function<void(ServerOptions*)>& change = nullptr) {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.access_file = file_.path();
    options.client_limits = limits;
    if (change != nullptr) change(&options);
    server_ = std::make_unique<TestServer>(std::move(options), &control_);
    ASSERT_TRUE((*server_)->WaitUntilServing(absl::Seconds(30)));
    greedy_ = DialAs((*server_)->addresses().at(0), "greedy's");
    modest_ = DialAs((*server_)->addresses().at(0), "modest's");
  }
  double Refused(const std::string& limit) {
    return Sample(Http((*server_)->metrics_address(), "GET /metrics"),
                  "glint_client_refusals_total{limit=\"" + limit + "\"}");
  }
  // Expects that a frame was refused and that its client was told when to come again.
  static void ExpectRefused(const v1::DetectStreamResponse& reply, const std::string& why) {
    EXPECT_EQ(reply.status().code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(reply.status().drop_reason(), v1::DROP_REASON_REJECTED);
    EXPECT_GE(reply.status().retry_after_ns(), 1'000'000);
    EXPECT_THAT(reply.status().message(), HasSubstr(why));
  }

  const TestAccessFile file_{TokenLine("greedy") + TokenLine("modest")};
  LaneControl control_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<v1::FeatureDetection::Stub> greedy_, modest_;
};

TEST_F(ClientLimitsTest, FramesInFlightAreCountedOverAllCallsOfAClient) {
  ClientLimits limits;
  limits.frames = 2;
  Start(limits);
  control_.Hold(true);
  const auto one = std::make_unique<TestStream>(greedy_.get()), two = std::make_unique<TestStream>(greedy_.get());
  for (const auto& stream : {one.get(), two.get()}) {
    ASSERT_TRUE(stream->Write(OptionsMessage()));
    ASSERT_TRUE(stream->Write(FrameMessage(1)));
  }
  ASSERT_TRUE(Eventually([&] { return (*server_)->frames_in_flight() == 2; }));
  TestStream third(greedy_.get());
  ASSERT_TRUE(third.Write(OptionsMessage()));
  ASSERT_TRUE(third.Write(FrameMessage(7)));
  const v1::DetectStreamResponse refused = third.Read();
  EXPECT_EQ(refused.frame_id(), 7u);
  ExpectRefused(refused, "frames: one more in flight of identity greedy is over this server's limit of 2");

  grpc::ClientContext context;
  v1::DetectResponse response;
  const grpc::Status status = greedy_->Detect(&context, GrayRequest(), &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_details(), HasSubstr("type.googleapis.com/google.rpc.RetryInfo"));
  EXPECT_EQ(context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
  EXPECT_EQ(Refused("frames"), 2);
  EXPECT_EQ(Refused("bytes"), 0);

  // Another client has its own.
  TestStream other(modest_.get());
  ASSERT_TRUE(other.Write(OptionsMessage()));
  ASSERT_TRUE(other.Write(FrameMessage(1)));
  control_.Hold(false);
  EXPECT_TRUE(other.Read().has_features());
  EXPECT_TRUE(one->Read().has_features());
  EXPECT_TRUE(two->Read().has_features());
  // ... and the frames that were answered count no longer.
  ASSERT_TRUE(third.Write(FrameMessage(8)));
  EXPECT_TRUE(third.Read().has_features());
}

TEST_F(ClientLimitsTest, BytesInFlight) {
  ClientLimits limits;
  limits.bytes = 40000;
  Start(limits, [](ServerOptions* options) { options->max_message_bytes = 40000; });
  control_.Hold(true);
  TestStream stream(greedy_.get());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1, 180, 180)));
  ASSERT_TRUE(stream.Write(FrameMessage(2, 180, 180)));
  ASSERT_TRUE(Eventually([&] { return Refused("bytes") == 1; }));
  ASSERT_TRUE(stream.Write(FrameMessage(3)));  // fits
  ASSERT_TRUE(Eventually([&] { return (*server_)->frames_in_flight() == 3; }));
  control_.Hold(false);
  EXPECT_TRUE(stream.Read().has_features());
  ExpectRefused(stream.Read(), "bytes: one more in flight of identity greedy is over this server's limit of 40000");
  EXPECT_TRUE(stream.Read().has_features());
}

TEST_F(ClientLimitsTest, FramesASecond) {
  ClientLimits limits;
  limits.frame_rate = 0.001;  // one, and then none for a quarter of an hour
  Start(limits);
  TestStream stream(greedy_.get());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  EXPECT_TRUE(stream.Read().has_features());
  ASSERT_TRUE(stream.Write(FrameMessage(2)));
  const v1::DetectStreamResponse refused = stream.Read();
  ExpectRefused(refused, "frames: one more a second of identity greedy is over this server's limit of 0.001");
  EXPECT_GT(refused.status().retry_after_ns(), 60'000'000'000);
  EXPECT_EQ(Refused("frame_rate"), 1);
  // To come again does not help.
  stream.Cancel();
  TestStream again(greedy_.get());
  ASSERT_TRUE(again.Write(OptionsMessage()));
  ASSERT_TRUE(again.Write(FrameMessage(1)));
  ExpectRefused(again.Read(), "frames: one more a second");
  grpc::ClientContext context;
  v1::DetectResponse response;
  EXPECT_TRUE(modest_->Detect(&context, GrayRequest(), &response).ok());
}

TEST_F(ClientLimitsTest, LaneSecondsASecond) {
  ClientLimits limits;
  limits.lane_seconds = 0.00001;
  Start(limits);
  TestStream stream(greedy_.get());
  ASSERT_TRUE(stream.Write(OptionsMessage()));
  control_.Hold(true);
  ASSERT_TRUE(stream.Write(FrameMessage(1)));
  control_.WaitUntilRunning(1);
  absl::SleepFor(absl::Milliseconds(20));  // on the lane: two thousand seconds' worth
  control_.Hold(false);
  EXPECT_TRUE(stream.Read().has_features());
  ASSERT_TRUE(stream.Write(FrameMessage(2)));
  const v1::DetectStreamResponse refused = stream.Read();
  ExpectRefused(refused, "lane_seconds: one more a second of identity greedy is over this server's limit of 1e-05");
  EXPECT_GT(refused.status().retry_after_ns(), 60'000'000'000);
  EXPECT_EQ(Refused("lane_seconds"), 1);
}

TEST_F(ClientLimitsTest, StreamsOfAnIdentity) {
  Start({}, [](ServerOptions* options) { options->max_sessions_per_peer = 2; });
  std::vector<std::unique_ptr<TestStream>> open;
  for (int i = 0; i < 2; ++i) open.push_back(OpenStream(greedy_.get()));
  TestStream third(greedy_.get());
  third.Read();
  const grpc::Status refused = third.Finish();
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(
      refused.error_message(),
      "sessions: 3 of identity greedy is over this server's limit of 2 (--max-sessions-per-peer); end a stream, or "
      "try again later");
  EXPECT_THAT(refused.error_details(), HasSubstr("google.rpc.RetryInfo"));
  EXPECT_FALSE(OpenStream(modest_.get())->ended());  // through the same unix socket
}

// Keeps a number of frames of one stream unanswered.
class Flood {
 public:
  Flood(v1::FeatureDetection::Stub* stub, int unanswered, std::atomic<int>* answered)
      : stream_(stub), answered_(answered) {
    EXPECT_TRUE(stream_.Write(OptionsMessage()));
    for (int i = 0; i < unanswered; ++i) EXPECT_TRUE(stream_.Write(FrameMessage(1)));
    thread_ = std::thread([this] {
      while (stream_.Read(), !stream_.ended()) {
        ++*answered_;
        if (!stream_.Write(FrameMessage(1))) return;
      }
    });
  }
  ~Flood() {
    stream_.Cancel();
    thread_.join();
    stream_.Finish();
  }

 private:
  TestStream stream_;
  std::atomic<int>* const answered_;
  std::thread thread_;
};

// Takes its time, so that what is measured is the queue, and not who is faster at sending.
class SlowLane final : public Lane {
 public:
  explicit SlowLane(LaneControl* control) : lane_(control) {}
  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    absl::SleepFor(absl::Milliseconds(2));
    return lane_.Run(options, image, mask, features, times);
  }
  absl::Status fatal() const override { return lane_.fatal(); }
  const std::string& device() const override { return lane_.device(); }

 private:
  FakeLane lane_;
};

// Also where the queue is full, so that the streams' frames wait outside it.
TEST_F(ClientLimitsTest, SixteenStreamsHaveNoMoreOfTheLanesThanOne) {
  for (const int queue : {64, 4}) {
    ServerOptions options = TestOptions();
    options.access_file = file_.path();
    options.queue_capacity = queue;
    options.create_lanes = [this](const LaneOptions& lane_options) {
      auto lanes = FakeLanes(&control_)(lane_options);
      lanes->lanes[0] = std::make_unique<SlowLane>(&control_);
      return lanes;
    };
    TestServer server(std::move(options));
    ASSERT_TRUE(server->WaitUntilServing(absl::Seconds(30)));
    const auto greedy = DialAs(server->addresses().at(0), "greedy's"),
               modest = DialAs(server->addresses().at(0), "modest's");
    std::atomic<int> of_greedy{0}, of_modest{0};
    control_.Hold(true);
    std::vector<std::unique_ptr<Flood>> floods;
    for (int i = 0; i < 16; ++i) floods.push_back(std::make_unique<Flood>(greedy.get(), 8, &of_greedy));
    // So many that the server has some of them at any time, also where this stream's thread waits for a processor.
    floods.push_back(std::make_unique<Flood>(modest.get(), 64, &of_modest));
    ASSERT_TRUE(Eventually([&] { return server->frames_in_flight() >= queue && server->sessions() == 17; }));
    control_.Hold(false);
    ASSERT_TRUE(Eventually([&] { return of_greedy + of_modest >= 400; }));
    const double share = static_cast<double>(of_modest) / (of_greedy + of_modest);
    RecordProperty(absl::StrCat("share_of_one_stream_", queue), absl::StrCat(share));
    EXPECT_GT(share, 0.4) << of_modest << " of " << of_greedy + of_modest << ", queue of " << queue;
    EXPECT_LT(share, 0.6) << of_modest << " of " << of_greedy + of_modest << ", queue of " << queue;
  }
}

}  // namespace
}  // namespace glint::testing
