// Whoever takes all places of a kind and says nothing, or takes no replies, keeps no other peer out; and whoever works
// keeps its place. The silent ones come by TCP, so that they are one peer; the good client by a unix socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "glint/v1/tracking.pb.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/server/raw_calls.h"
#include "tests/server/raw_http2.h"

namespace glint::testing {
namespace {

constexpr char kDetect[] = "/glint.v1.FeatureDetection/Detect";
constexpr char kDetectStream[] = "/glint.v1.FeatureDetection/DetectStream";
constexpr char kTrackStream[] = "/glint.v1.FeatureTracking/TrackStream";
constexpr char kGetServerInfo[] = "/glint.v1.Server/GetServerInfo";

std::string TrackOptions() {
  v1::TrackStreamRequest request;
  request.mutable_options()->set_cameras(1);
  return request.SerializeAsString();
}

class SilentPeersTest : public ::testing::Test {
 protected:
  // Long timeouts, so that only others' needs end a silent call.
  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.listen.push_back("127.0.0.1:0");
    options.metrics_listen = "127.0.0.1:0";
    options.max_sessions = options.max_detect_calls = options.max_small_calls = options.max_watchers = 4;
    options.max_track_streams = 2;
    options.max_sessions_per_peer = 0;
    options.detect_receive_timeout = options.detect_reply_timeout = options.small_call_timeout = absl::Hours(1);
    options.stream_first_message_timeout = options.stream_idle_timeout = absl::Hours(1);
    return options;
  }
  void Start(const ServerOptions& options = Options()) {
    server_ = std::make_unique<TestServer>(options, &control_);
    ASSERT_TRUE((*server_)->WaitUntilServing(absl::Seconds(10)));
  }
  std::string tcp() { return (*server_)->addresses().at(1); }
  void Silent(int count, const std::string& method, uint32_t window = 65535) {
    for (int i = 0; i < count; ++i) silent_.push_back(std::make_unique<RawHttp2Call>(tcp(), method, window));
  }
  grpc::Status Detect() {
    grpc::ClientContext context;
    v1::DetectResponse response;
    return server_->stub()->Detect(&context, GrayRequest(), &response);
  }
  // A stream of the good client works.
  bool CanStream(const std::string& method, const std::string& first) {
    return CanStream(server_->channel(), method, first);
  }
  static bool CanStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                        const std::string& first) {
    RawCall call(channel, method);
    call.Write(first);
    call.WritesDone();
    call.Read();
    return call.Finish().ok();
  }
  double Value(const std::string& metric) {
    return Sample(Http((*server_)->metrics_address(), "GET /metrics"), metric);
  }
  double Preempted(const std::string& kind) { return Value("glint_places_preempted_total{kind=\"" + kind + "\"}"); }

  LaneControl control_;
  std::unique_ptr<TestServer> server_;
  std::vector<std::unique_ptr<RawHttp2Call>> silent_;
};

TEST_F(SilentPeersTest, SilentCallsOfDetectKeepNobodyOut) {
  Start();
  Silent(40, kDetect);
  // On a busy machine some of them have been silent for so long that others of them take their places.
  ASSERT_TRUE(
      Eventually([&] { return Value("glint_places_refused_total{kind=\"unary\"}") + Preempted("unary") >= 36; }));
  const double before = Preempted("unary");
  for (int i = 0; i < 20; ++i) {
    const grpc::Status status = Detect();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_GE(Preempted("unary"), before + 1);
  EXPECT_LE(Preempted("unary"), before + 4);
}

TEST_F(SilentPeersTest, HalfMessagesCountAsSilence) {
  Start();
  const std::string request = GrayRequest(500, 500).SerializeAsString();
  Silent(4, kDetect);
  for (const auto& call : silent_) ASSERT_TRUE(call->WriteHalf(request));
  ASSERT_TRUE(Eventually([&] { return (*server_)->calls() == 4; }));
  EXPECT_TRUE(Detect().ok());
  EXPECT_EQ(Preempted("unary"), 1);
}

// The calls are whole and have been worked on, but nobody takes the answers.
TEST_F(SilentPeersTest, RepliesThatAreNotTakenKeepNobodyOut) {
  Start();
  Silent(4, kDetect, 0);
  for (const auto& call : silent_) ASSERT_TRUE(call->Write(GrayRequest().SerializeAsString(), 1 << 14));
  ASSERT_TRUE(Eventually([&] { return Value("glint_frames_total{operation=\"detect\",result=\"OK\"}") == 4; }));
  EXPECT_EQ((*server_)->calls(), 4);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(Detect().ok());
  EXPECT_GE(Preempted("unary"), 1);
}

TEST_F(SilentPeersTest, AReplyMustBeTakenInTime) {
  ServerOptions options = Options();
  options.detect_reply_timeout = absl::Milliseconds(300);
  Start(options);
  Silent(4, kDetect, 0);
  for (const auto& call : silent_) ASSERT_TRUE(call->Write(GrayRequest().SerializeAsString(), 1 << 14));
  ASSERT_TRUE(Eventually([&] { return Value("glint_frames_total{operation=\"detect\",result=\"OK\"}") == 4; }));
  EXPECT_TRUE(Eventually([&] { return (*server_)->calls() == 0; }));
  EXPECT_EQ((*server_)->frames_in_flight(), 0);
  EXPECT_EQ(Value("grpc_server_handled_total{grpc_code=\"DEADLINE_EXCEEDED\",grpc_method=\"Detect\",grpc_service="
                  "\"glint.v1.FeatureDetection\",grpc_type=\"unary\"}"),
            4);
  EXPECT_EQ(Preempted("unary"), 0);
}

TEST_F(SilentPeersTest, SilentStreamsKeepNobodyOut) {
  Start();
  Silent(12, kTrackStream);
  for (size_t i = 0; i < silent_.size(); i += 2) silent_[i]->Write(TrackOptions(), 1 << 14);
  ASSERT_TRUE(Eventually([&] { return Value("glint_places_refused_total{kind=\"stream\"}") >= 10; }));
  EXPECT_TRUE(Eventually([&] { return CanStream(kTrackStream, TrackOptions()); }));
  Silent(4, kDetectStream);  // takes what is left of its share
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(Eventually([&] { return CanStream(kDetectStream, OptionsMessage().SerializeAsString()); }));
  }
}

// As all users of this machine by TCP are one peer.
TEST_F(SilentPeersTest, SilentStreamsMakeWayForTheirOwnPeerToo) {
  Start();
  const std::shared_ptr<grpc::Channel> own = Dial(tcp());
  for (const auto& [method, first] :
       {std::pair(kTrackStream, TrackOptions()), std::pair(kDetectStream, OptionsMessage().SerializeAsString())}) {
    Silent(6, method);
    ASSERT_TRUE(Eventually([&] { return (*server_)->sessions() >= 2; }));
    EXPECT_TRUE(Eventually([&, m = method, f = first] { return CanStream(own, m, f); })) << method;
  }
}

TEST_F(SilentPeersTest, AWorkingStreamKeepsItsPlace) {
  Start();
  Silent(3, kDetectStream);
  ASSERT_TRUE(Eventually([&] { return (*server_)->sessions() == 3; }));
  TestStream working(server_->stub());
  ASSERT_TRUE(working.Write(OptionsMessage()));
  absl::SleepFor(absl::Milliseconds(1200));  // the others are silent now
  std::vector<std::unique_ptr<RawCall>> further;
  for (uint64_t id = 1; id <= 20; ++id) {
    ASSERT_TRUE(working.Write(FrameMessage(id)));
    ASSERT_EQ(working.Read().frame_id(), id);
    if (id % 5 == 0) further.push_back(std::make_unique<RawCall>(server_->channel(), kDetectStream));
  }
  EXPECT_EQ(Preempted("stream"), 1);  // then nobody has more than the good client
  working.WritesDone();
  working.Read();
  EXPECT_TRUE(working.Finish().ok());
}

TEST_F(SilentPeersTest, WatchersOfOnePeerKeepNobodyOut) {
  Start();
  const auto channel = Dial(tcp());
  std::vector<std::unique_ptr<RawCall>> watchers;
  for (int i = 0; i < 4; ++i) {
    watchers.push_back(std::make_unique<RawCall>(channel, kHealthWatch));
    ASSERT_TRUE(watchers.back()->Write(HealthRequest()));
    ASSERT_EQ(watchers.back()->Read(), kServing);
  }
  RawCall good(server_->channel(), kHealthWatch);
  ASSERT_TRUE(good.Write(HealthRequest()));
  EXPECT_EQ(good.Read(), kServing);
  EXPECT_EQ(watchers[0]->Read(), std::nullopt);  // it had watched for longest
  EXPECT_EQ(watchers[0]->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Preempted("watcher"), 1);
}

TEST_F(SilentPeersTest, SmallCallsWhoseRepliesAreNotTakenKeepNobodyOut) {
  Start();
  Silent(40, kGetServerInfo, 0);
  for (const auto& call : silent_) call->Write("", 1 << 14);
  EXPECT_TRUE(Eventually([&] {
    return Value(
               "grpc_server_handled_total{grpc_code=\"RESOURCE_EXHAUSTED\",grpc_method=\"GetServerInfo\",grpc_service="
               "\"glint.v1.Server\",grpc_type=\"unary\"}") == 36;
  }));
  EXPECT_EQ(Value("glint_places_refused_total{kind=\"small\"}"), 0);
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    v1::GetServerInfoResponse info;
    const grpc::Status status = server_->server_stub()->GetServerInfo(&context, {}, &info);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_TRUE(Eventually([&] { return (*server_)->calls() <= 4; }));
}

}  // namespace
}  // namespace glint::testing
