// The page's server against a plain client: who is answered, what is sent, and that nobody slows the frames.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/view/base/connection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/view/http_client.h"
#include "tests/view/view_fixture.h"

namespace glint::view {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kText = 1, kBinary = 2, kClose = 8;
constexpr char kPolicy[] = "\x03\xf0", kTryAgainLater[] = "\x03\xf5", kGoingAway[] = "\x03\xe9";

class ViewTest : public ViewFixture {
 protected:
  void SetUp() override { Start(kPatience); }

  void Start(absl::Duration patience) {
    State state;
    state.title = "street";
    state.threshold = 20;
    state.max_features = 500;
    view_ = View::Start({"127.0.0.1:0", "", {}}, state, patience).value();
    port_ = PortOf(view_->url());
    host_ = HostHeader(port_);
  }

  std::unique_ptr<WebSocketClient> Connect(int receive_buffer = 0) const {
    auto client = std::make_unique<WebSocketClient>(port_, host_, receive_buffer);
    EXPECT_THAT(client->status_line(), HasSubstr(" 101 "));
    const WebSocketClient::Message state = client->Read();
    EXPECT_EQ(state.opcode, kText);
    EXPECT_THAT(state.data, HasSubstr("street"));
    return client;
  }

  int port_ = 0;
  std::string host_;
};

TEST_F(ViewTest, ServesThePageAndNothingFromElsewhere) {
  const std::string page = Get(port_, "/", "127.0.0.1");
  EXPECT_THAT(page, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("<canvas"), HasSubstr("default-src 'none'")));
  for (const std::string& text : {page, Get(port_, "/view.js", "localhost"), Get(port_, "/view.css", "[::1]")}) {
    EXPECT_THAT(text, AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("https:")), Not(HasSubstr("src=\"http"))));
  }
  EXPECT_THAT(Get(port_, "/frames", "localhost"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Get(port_, "/../etc/passwd", "localhost"), Not(StartsWith("HTTP/1.1 200")));
  EXPECT_THAT(Get(port_, "/other", "localhost"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(SendRequest(port_, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405"));
}

TEST_F(ViewTest, AnswersNothingToWhatIsNoRequest) {
  for (const std::string& text : {std::string("\r\n\r\n"), "GET /\r\n\r\n" + std::string(), std::string(9000, 'x'),
                                  "GET / HTTP/1.1\r\n" + host_ + host_ + "\r\n"}) {
    EXPECT_EQ(SendRequest(port_, text), "") << text.substr(0, 40);
  }
}

TEST(AcceptKey, IsThatOfTheStandardsExample) {
  EXPECT_EQ(AcceptKey("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");  // RFC 6455, 1.3
}

TEST_F(ViewTest, RefusesPagesOfOtherSites) {
  EXPECT_THAT(Get(port_, "/", "evil.example"), StartsWith("HTTP/1.1 403"));
  for (const std::string& headers :
       {std::string("Host: evil.example\r\n"), std::string("Host: evil.example\r\nOrigin: http://evil.example\r\n"),
        host_ + "Origin: http://evil.example\r\n", host_ + "Origin: null\r\n"}) {
    const WebSocketClient client(port_, headers);
    EXPECT_THAT(client.status_line(), Not(HasSubstr(" 101 "))) << headers;
  }
  const WebSocketClient same(port_, absl::StrCat(host_, "Origin: http://127.0.0.1:", port_, "\r\n"));
  EXPECT_THAT(same.status_line(), HasSubstr(" 101 "));
}

TEST_F(ViewTest, SendsTheNewestFrameOnceTheLastOneIsDrawn) {
  EXPECT_FALSE(view_->wanted());
  const auto client = Connect();
  AwaitWanted();
  view_->Show(Numbered(0));
  EXPECT_THAT(client->Read().data, AllOf(HasSubstr("frame 0."), HasSubstr("pppp")));
  for (int i = 1; i <= 100; ++i) view_->Show(Numbered(i));
  EXPECT_FALSE(view_->wanted());
  client->SendText("ready");
  AwaitWanted();
  view_->Show(Numbered(101));
  const WebSocketClient::Message message = client->Read();
  EXPECT_EQ(message.opcode, kBinary);
  EXPECT_THAT(message.data, HasSubstr("frame 101."));
}

TEST_F(ViewTest, APictureIsEncodedOnceAndOnlyIfItIsSent) {
  std::atomic<int> encoded{0};
  view_->Show(Counted(&encoded));
  const auto first = Connect(), second = Connect();
  AwaitWanted();
  EXPECT_EQ(encoded, 0);
  view_->Show(Counted(&encoded));
  EXPECT_EQ(first->Read().opcode, kBinary);
  EXPECT_EQ(second->Read().opcode, kBinary);
  EXPECT_EQ(encoded, 1);
}

TEST_F(ViewTest, ABrowserThatReadsNothingStopsNobody) {
  constexpr size_t kHuge = 16 << 20;  // more than the sockets hold
  const auto slow = Connect(4096), quick = Connect();
  AwaitWanted();
  for (int i = 0; i < 20; ++i) {
    view_->Show(Numbered(i, kHuge));
    const WebSocketClient::Message message = quick->Read();
    ASSERT_EQ(message.opcode, kBinary);
    ASSERT_GT(message.data.size(), kHuge);
    EXPECT_THAT(message.data.substr(0, 200), HasSubstr(absl::StrCat("frame ", i, ".")));
    quick->SendText("ready");
    AwaitWanted();
  }
}

TEST_F(ViewTest, TellsFurtherBrowsersThatThereAreEnough) {
  std::vector<std::unique_ptr<WebSocketClient>> clients;
  for (int i = 0; i < kMaxBrowsers; ++i) clients.push_back(Connect());
  WebSocketClient further(port_, host_);
  const WebSocketClient::Message message = further.Read();
  EXPECT_EQ(message.opcode, kClose);
  EXPECT_THAT(message.data, AllOf(StartsWith(kTryAgainLater), HasSubstr("already 4 pages")));
  clients.pop_back();
  std::unique_ptr<WebSocketClient> again;
  Await([&] {
    again = std::make_unique<WebSocketClient>(port_, host_);
    return again->Read().opcode == kText;
  });
}

TEST_F(ViewTest, SilentConnectionsKeepNobodyOut) {
  const std::vector<std::unique_ptr<SilentClient>> silent = SilentClient::Many(port_, 40);
  EXPECT_THAT(Get(port_, "/", "127.0.0.1"), StartsWith("HTTP/1.1 200"));
  const auto browser = Connect();
  AwaitWanted();
  view_->Show(Numbered(1));
  EXPECT_EQ(browser->Read().opcode, kBinary);
}

// They have a frame each and do not say that they have drawn it.
TEST_F(ViewTest, SilentBrowsersMakeWay) {
  Start(absl::Milliseconds(100));
  std::vector<std::unique_ptr<WebSocketClient>> silent;
  for (int i = 0; i < kMaxBrowsers; ++i) silent.push_back(Connect());
  AwaitWanted();
  view_->Show(Numbered(1));
  for (const auto& client : silent) EXPECT_EQ(client->Read().opcode, kBinary);
  absl::SleepFor(absl::Milliseconds(200));
  for (const int i : {0, 2, 3}) silent[static_cast<size_t>(i)]->SendText("ready");
  AwaitWanted();
  view_->Show(Numbered(2));
  for (const int i : {0, 2, 3}) EXPECT_EQ(silent[static_cast<size_t>(i)]->Read().opcode, kBinary);
  const auto further = Connect();
  const WebSocketClient::Message message = silent[1]->Read();  // it was silent longest
  EXPECT_EQ(message.opcode, kClose);
  EXPECT_THAT(message.data, StartsWith(kTryAgainLater));
}

TEST_F(ViewTest, HasTheLastFrameForWhoComesLater) {
  const auto first = Connect();
  AwaitWanted();
  view_->Show(Numbered(7));
  EXPECT_EQ(first->Read().opcode, kBinary);
  const auto second = Connect();
  EXPECT_THAT(second->Read().data, HasSubstr("frame 7."));
}

TEST_F(ViewTest, PausesAndMovesSlidersForAllBrowsers) {
  const auto first = Connect(), second = Connect();
  first->SendText("threshold 35");
  EXPECT_THAT(second->Read().data, HasSubstr("\"threshold\": 35"));
  first->SendText("features 1200");
  EXPECT_THAT(second->Read().data, HasSubstr("\"features\": 1200"));
  EXPECT_EQ(view_->threshold(), 35);
  EXPECT_EQ(view_->max_features(), 1200);
  first->SendText("pause");
  EXPECT_THAT(second->Read().data, HasSubstr("\"paused\": true"));
  EXPECT_TRUE(view_->paused());
  first->SendText("resume");
  EXPECT_THAT(second->Read().data, HasSubstr("\"paused\": false"));
  EXPECT_FALSE(view_->paused());
  view_->SetSliders(std::nullopt, 500);
  EXPECT_THAT(second->Read().data, AllOf(HasSubstr("\"features\": 500"), Not(HasSubstr("threshold"))));
  first->SendText("threshold 40");
  EXPECT_THAT(second->Read().data, Not(HasSubstr("threshold")));
  EXPECT_EQ(view_->threshold(), std::nullopt);
  view_->SetNotice("no server");
  EXPECT_THAT(second->Read().data, HasSubstr("no server"));
}

TEST_F(ViewTest, ClosesOnWhatNoPageSays) {
  const auto client = Connect();
  client->SendText("threshold 1000");
  const WebSocketClient::Message message = client->Read();
  EXPECT_EQ(message.opcode, kClose);
  EXPECT_THAT(message.data, StartsWith(kPolicy));
  const auto claiming = Connect();
  claiming->SendClaim(kText, uint64_t{1} << 62);
  const int opcode = claiming->Read().opcode;
  EXPECT_TRUE(opcode == kClose || opcode == -1) << opcode;
}

TEST_F(ViewTest, TellsBrowsersThatItEnds) {
  const auto client = Connect();
  std::thread ending([this] { view_.reset(); });
  const WebSocketClient::Message message = client->Read();
  EXPECT_EQ(message.opcode, kClose);
  EXPECT_THAT(message.data, AllOf(StartsWith(kGoingAway), HasSubstr("glint has ended")));
  ending.join();
}

TEST_F(ViewTest, SaysWhoseThePortIs) {
  const auto second = View::Start({absl::StrCat("127.0.0.1:", port_), "", {}}, {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()),
              AllOf(HasSubstr(absl::StrCat("127.0.0.1:", port_)), HasSubstr("another program listens"),
                    HasSubstr("give another port"), Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace glint::view
