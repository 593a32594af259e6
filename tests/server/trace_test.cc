// W3C Trace Context: what is read, and where the trace id goes.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "client/client.h"
#include "proto/traceparent.h"
#include "server/base/log_writer.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"

namespace glint::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTraceId[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kSampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr char kNotSampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

TEST(TraceparentTest, ReadsWhatTheRecommendationAllows) {
  for (const auto& [text, sampled] : std::vector<std::pair<std::string, bool>>{
           {kSampled, true},
           {kNotSampled, false},
           {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe", false},
           {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0b", true},
           {"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true},
           {"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what comes", true}}) {
    const auto parsed = ParseTraceparent(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed->trace_id, kTraceId);
    EXPECT_EQ(parsed->sampled, sampled) << text;
  }
}

TEST(TraceparentTest, IgnoresWhatItCallsInvalid) {
  for (const char* text : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",  // version 00 has no more
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 ",
                           "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.more",
                           "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                           "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
                           "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
                           "000af7651916cd43dd8448eb211c80319c--b7ad6b7169203331-01"}) {
    EXPECT_FALSE(ParseTraceparent(text).has_value()) << text;
  }
}

class TraceTest : public ::testing::Test {
 protected:
  // The trailer's trace id, or "" without one, of a call of Detect that came with these traceparents.
  std::string Detect(const std::vector<std::string>& traceparents, const v1::DetectRequest& request) {
    grpc::ClientContext context;
    for (const std::string& traceparent : traceparents) context.AddMetadata("traceparent", traceparent);
    v1::DetectResponse response;
    status_ = server_.stub()->Detect(&context, request, &response);
    const auto& trailer = context.GetServerTrailingMetadata();
    const auto found = trailer.find("trace-id");
    return found == trailer.end() ? "" : std::string(found->second.data(), found->second.size());
  }
  // What the server has logged when no call is open any more.
  std::string Log() {
    EXPECT_TRUE(Eventually([this] { return server_->calls() == 0; }));
    EXPECT_TRUE(StandardErrorWriter().Flush(absl::Seconds(10)));
    std::string log = ::testing::internal::GetCapturedStderr();
    ::testing::internal::CaptureStderr();
    return log;
  }
  void SetUp() override {
    ASSERT_TRUE(server_->WaitUntilServing(absl::Minutes(1)));
    ::testing::internal::CaptureStderr();
  }
  void TearDown() override { ::testing::internal::GetCapturedStderr(); }

  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    return options;
  }
  LaneControl control_;
  TestServer server_{Options(), &control_};
  grpc::Status status_;
};

TEST_F(TraceTest, OfCallsIsInTrailerAndLog) {
  EXPECT_EQ(Detect({kSampled}, GrayRequest()), kTraceId);
  EXPECT_THAT(Log(), AllOf(HasSubstr(std::string("info call ended trace_id=") + kTraceId),
                           HasSubstr("method=Detect code=OK seconds=")));
  // A caller that records nothing is told the id, and the log of what went wrong.
  EXPECT_EQ(Detect({kNotSampled}, GrayRequest()), kTraceId);
  EXPECT_EQ(Log(), "");
  EXPECT_EQ(Detect({kNotSampled}, v1::DetectRequest()), kTraceId);
  EXPECT_FALSE(status_.ok());
  EXPECT_THAT(Log(), AllOf(HasSubstr(std::string("warning call ended trace_id=") + kTraceId),
                           HasSubstr("code=INVALID_ARGUMENT error=\"image")));
}

TEST_F(TraceTest, InvalidOnesAreIgnoredAndCounted) {
  const auto ignored = [this] {
    return Sample(Http(server_->metrics_address(), "GET /metrics"), "glint_traceparent_ignored_total");
  };
  EXPECT_EQ(Detect({}, GrayRequest()), "");
  EXPECT_EQ(ignored(), 0);
  EXPECT_EQ(Detect({"rubbish"}, GrayRequest()), "");
  EXPECT_TRUE(status_.ok());
  EXPECT_EQ(Detect({kSampled, kNotSampled}, GrayRequest()), "");
  EXPECT_TRUE(status_.ok());
  EXPECT_EQ(ignored(), 2);
  EXPECT_EQ(Log(), "");
}

TEST_F(TraceTest, OfStreamsNamesTheFirstFrameThatFailed) {
  const client::Client client(server_.channel());
  client::StreamOptions options;
  options.traceparent = kSampled;
  auto stream = client.OpenStream(options, [](const client::FrameResult&) {});
  ASSERT_TRUE(stream.ok()) << stream.status();
  const Image image(64, 48);
  const client::ImageInput bad = client::ImageInput::Encoded("no picture");
  for (const auto& [id, input] :
       std::vector<std::pair<uint64_t, client::ImageInput>>{{1, image}, {22, bad}, {333, bad}, {4, image}}) {
    ASSERT_TRUE((*stream)->Write(id, input).ok());
  }
  ASSERT_TRUE((*stream)->Finish().ok());
  const std::string log = Log();
  EXPECT_THAT(log, HasSubstr(std::string("warning frame failed trace_id=") + kTraceId + " frame_id=22 code="));
  EXPECT_THAT(log, Not(HasSubstr("frame_id=333")));
  EXPECT_THAT(log, AllOf(HasSubstr("info call ended"), HasSubstr("method=DetectStream code=OK"),
                         HasSubstr("frames=4 failed=2")));
}

TEST_F(TraceTest, TheClientPassesItOnAndRefusesRubbish) {
  const client::Client client(server_.channel());
  const Image image(64, 48);
  EXPECT_TRUE(client.Detect(DetectorOptions(), image, {}, absl::InfiniteDuration(), kSampled).ok());
  EXPECT_THAT(Log(), HasSubstr(kTraceId));
  EXPECT_TRUE(absl::IsInvalidArgument(
      client.Detect(DetectorOptions(), image, {}, absl::InfiniteDuration(), "rubbish").status()));
  client::StreamOptions options;
  options.traceparent = "rubbish";
  EXPECT_TRUE(absl::IsInvalidArgument(client.OpenStream(options, nullptr).status()));
}

}  // namespace
}  // namespace glint::testing
