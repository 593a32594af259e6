// Who may have streams open, and that nobody can take all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/rpc/canary.h"
#include "server/rpc/peer.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/support/status.h"

namespace glint::testing {
namespace {

TEST(PeerTest, IsTheAddressWithoutWhatAClientChooses) {
  EXPECT_EQ(PeerOf("ipv4:192.0.2.7:40000"), "192.0.2.7");
  EXPECT_EQ(PeerOf("ipv6:[2001:db8::7]:40000"), "2001:db8::/64");
  EXPECT_EQ(PeerOf("ipv6:%5B2001:db8::ffff:7%5D:1"), "2001:db8::/64");
  EXPECT_EQ(PeerOf("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(PeerOf("ipv6:%5Bfe80::1%25eth0%5D:1"), "fe80::/64");
  EXPECT_EQ(PeerOf("ipv6:[::ffff:192.0.2.7]:40000"), "192.0.2.7");
  EXPECT_EQ(PeerOf("ipv4:128.0.0.1:40000"), "128.0.0.1");
  for (const char* own :
       {"ipv4:127.0.0.1:7", "ipv4:127.255.3.4:7", "ipv6:[::1]:7", "ipv6:%5B::1%5D:7", "ipv6:[::ffff:127.9.9.9]:7"}) {
    EXPECT_EQ(PeerOf(own), "loopback") << own;
  }
  EXPECT_EQ(PeerOf("unix:"), "unix sockets");
  EXPECT_EQ(PeerOf("unix:/run/glint.sock"), "unix sockets");
  EXPECT_EQ(PeerOf("unknown"), "");
}

TEST(PeerTest, HasASiteAroundIt) {
  EXPECT_EQ(SiteOf("2001:db8:1:2::/64"), "2001:db8:1::/48");
  EXPECT_EQ(SiteOf(PeerOf("ipv6:[2001:db8:1:ffff::7]:40000")), "2001:db8:1::/48");
  for (const char* alone : {"192.0.2.7", "loopback", "user 1000", "identity 2001:db8:1:2::/64", "identity a/64", ""}) {
    EXPECT_EQ(SiteOf(alone), alone);
  }
}

// A stream that works: its first frame has been answered.
std::unique_ptr<TestStream> Open(v1::FeatureDetection::Stub* stub) {
  auto stream = std::make_unique<TestStream>(stub);
  stream->Write(OptionsMessage());
  stream->Write(FrameMessage(1));
  stream->Read();
  return stream;
}

class SharesTest : public ::testing::Test {
 protected:
  SharesTest() : server_(Options(), &control_), tcp_(v1::FeatureDetection::NewStub(Dial(server_->addresses().at(1)))) {}
  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.listen.push_back("127.0.0.1:0");
    options.metrics_listen = "127.0.0.1:0";
    options.max_sessions = 4;
    options.max_sessions_per_peer = 0;  // as by default
    return options;
  }
  double Refused(const std::string& reason) {
    return Sample(Http(server_->metrics_address(), "GET /metrics"),
                  "glint_sessions_refused_total{reason=\"" + reason + "\"}");
  }

  LaneControl control_;
  TestServer server_;
  std::unique_ptr<v1::FeatureDetection::Stub> tcp_;
};

TEST_F(SharesTest, OnePeerCannotTakeAllSessions) {
  std::vector<std::unique_ptr<TestStream>> greedy;
  for (int i = 0; i < 3; ++i) {
    greedy.push_back(Open(tcp_.get()));
    ASSERT_FALSE(greedy.back()->ended());
  }
  for (int i = 0; i < 5; ++i) {  // on connections of their own, which are the same peer's
    const auto stub = v1::FeatureDetection::NewStub(Dial(server_->addresses().at(1)));
    const auto refused = Open(stub.get());
    EXPECT_TRUE(refused->ended());
    const grpc::Status status = refused->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(
        status.error_message(),
        "sessions: 4 of loopback is over this server's limit of 3 (--max-sessions-per-peer); end a stream, or try "
        "again later");
  }
  EXPECT_EQ(Refused("max_sessions_per_peer"), 5);
  const auto other = Open(server_.stub());
  EXPECT_FALSE(other->ended());
  // All are taken. Once one of the three has been silent for a second, its place goes to a peer that has fewer.
  absl::SleepFor(absl::Milliseconds(1200));
  const auto second = Open(server_.stub());
  EXPECT_FALSE(second->ended());
  int ended = 0;
  for (const auto& stream : greedy) {
    stream->WritesDone();
    stream->Read();
    const grpc::Status status = stream->Finish();
    if (status.ok()) continue;
    ++ended;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.error_message(),
              "sessions: all 4 are taken (--max-sessions), and another client needs the place of this one; try again "
              "later");
    EXPECT_THAT(status.error_details(), ::testing::HasSubstr("google.rpc.RetryInfo"));
  }
  EXPECT_EQ(ended, 1);
  // What was given back can be taken again.
  EXPECT_TRUE(Eventually([&] { return !Open(tcp_.get())->ended(); }));
}

TEST_F(SharesTest, WhereAllAreTakenNobodyGoesForAPeerWithAsMany) {
  std::vector<std::unique_ptr<TestStream>> open;
  for (auto* stub : {tcp_.get(), server_.stub(), tcp_.get(), server_.stub()}) open.push_back(Open(stub));
  for (const auto& stream : open) ASSERT_FALSE(stream->ended());
  const auto one_too_many = Open(server_.stub());
  EXPECT_EQ(one_too_many->Finish().error_message(),
            "sessions: 5 is over this server's limit of 4 (--max-sessions); end a stream, or try again later");
  EXPECT_EQ(Refused("max_sessions"), 1);
}

TEST_F(SharesTest, TheCanaryHasAPlaceOfItsOwn) {
  std::vector<std::unique_ptr<TestStream>> all;
  for (int i = 0; i < 3; ++i) all.push_back(Open(tcp_.get()));
  all.push_back(Open(server_.stub()));
  for (const auto& stream : all) ASSERT_FALSE(stream->ended());
  Canary canary(server_->InProcessChannel());
  EXPECT_EQ(canary.Send(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(server_->sessions(), 5);
}

// What marks the canary counts inside this process only.
TEST_F(SharesTest, NobodyElseCanHaveTheCanarysPlace) {
  std::vector<std::unique_ptr<TestStream>> all;
  for (auto* stub : {tcp_.get(), server_.stub(), tcp_.get(), server_.stub()}) all.push_back(Open(stub));
  for (auto* stub : {tcp_.get(), server_.stub()}) {
    grpc::ClientContext context;
    context.AddMetadata(kCanaryKey, "1");
    auto stream = stub->DetectStream(&context);
    v1::DetectStreamResponse response;
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
}

}  // namespace
}  // namespace glint::testing
