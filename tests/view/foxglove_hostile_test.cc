// Clients of Foxglove's protocol that are wrong, hostile, idle or too many: none ends what others get.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/view/foxglove_fixture.h"

namespace glint::view {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kText = 1, kBinary = 2, kClose = 8, kEnd = -1;
constexpr char kTryAgainLater[] = "\x03\xf5";

TEST_F(FoxgloveTest, SaysWhatIsWrongAndGoesOn) {
  const auto client = Connect();
  const auto told = [&client](const std::string& text) {
    client->SendText(text);
    const WebSocketClient::Message message = client->Read();
    EXPECT_EQ(message.opcode, kText);
    EXPECT_THAT(message.data, StartsWith(R"({"op": "status","level": )"));
    return message.data;
  };
  EXPECT_THAT(told(R"({"op":"getParameters","parameterNames":[],"id":"x"})"),
              AllOf(HasSubstr("\"level\": 2"), HasSubstr("op 'getParameters' is not one of subscribe, unsubscribe")));
  EXPECT_THAT(told("{\"op\":\"" + std::string(9000, 'x') + "\"}"), HasSubstr("xx..."));
  for (const std::string& text :
       {std::string(), std::string("not json"), std::string("[]"), std::string("{\"op\":"), std::string("null"),
        std::string(R"({"op":"subscribe","subscriptions":[{"id":-1,"channelId":1}]})"),
        std::string(R"({"op":"subscribe","subscriptions":[{"id":4294967296,"channelId":1}]})"),
        std::string(R"({"op":"subscribe","subscriptions":7})"), std::string("{\"op\":\"\xff\"}"),
        std::string(60000, '['), std::string("{\"a\":") + std::string(60000, '[')}) {
    EXPECT_THAT(told(text), HasSubstr("no operation in JSON")) << text.substr(0, 80);
  }
  for (const uint32_t channel : {static_cast<uint32_t>(kChannelCount), uint32_t{4294967294}, uint32_t{4294967295}}) {
    EXPECT_THAT(told(Subscribe(1, channel)), HasSubstr(absl::StrCat("is not in 1..", kChannelCount)));
  }
  client->SendText(Subscribe(1, kStagesChannel));
  EXPECT_THAT(told(Subscribe(2, kStagesChannel)), AllOf(HasSubstr("\"level\": 1"), HasSubstr("has subscription 1")));
  EXPECT_THAT(told(Subscribe(1, kLogChannel)), HasSubstr("there is a subscription with id 1"));
  EXPECT_THAT(told(R"({"op":"unsubscribe","subscriptionIds":[9]})"), HasSubstr("no subscription with id 9"));
  client->Send(kBinary, std::string("\x01\x02\0", 3));
  EXPECT_THAT(client->Read().data, HasSubstr("clients cannot publish here"));

  std::string many;
  for (uint32_t i = 0; i < 1000; ++i) absl::StrAppend(&many, i == 0 ? "" : ",", Subscription(100 + i, kImageChannel));
  client->SendText(absl::StrCat(R"({"op":"subscribe","subscriptions":[)", many, "]}"));
  EXPECT_THAT(client->Read().data, HasSubstr("channel 1 has subscription 100"));  // once
  AwaitWanted();
  view_->Show(Numbered(1));
  EXPECT_EQ(WireFields(Payload(client->Read(), 100)).Text(2), "pppp");
  EXPECT_THAT(Payload(client->Read(), 1), HasSubstr("frame 1"));
}

TEST_F(FoxgloveTest, EndsWhatIsNoWebSocketClient) {
  const std::vector<std::string> frames = {
      std::string("\x01\x80\1\2\3\4", 6),                      // a part of a message
      std::string("\x81\x02{}", 4),                            // without a mask
      std::string("\xf1\x80\1\2\3\4", 6),                      // reserved bits
      std::string("\x81\xff\0\0\0\0\0\x01\0\x01\1\2\3\4", 14)  // one byte too long
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto client = Connect();
    client->SendRaw(frames[i]);
    EXPECT_EQ(client->Read().opcode, kEnd) << i;
  }
  const auto claiming = Connect();
  claiming->SendClaim(kText, ~uint64_t{0});
  EXPECT_EQ(claiming->Read().opcode, kEnd);
  const auto closing = Connect();
  closing->Send(kClose, "\x03\xe8");
  EXPECT_THAT(closing->Read().data, "\x03\xe8");
}

TEST_F(FoxgloveTest, AsManyClientsAsThereArePlacesAndPagesBeside) {
  std::vector<std::unique_ptr<WebSocketClient>> clients;
  for (int i = 0; i < kMaxBrowsers; ++i) {
    clients.push_back(Connect());
    clients.back()->SendText(Subscribe(1, kStagesChannel));
  }
  const WebSocketClient::Message message = WebSocketClient(port_, host_ + kNewProtocol).Read();
  EXPECT_EQ(message.opcode, kClose);
  EXPECT_THAT(message.data, AllOf(StartsWith(kTryAgainLater), HasSubstr("already 4 clients")));
  WebSocketClient page(page_port_, HostHeader(page_port_));
  EXPECT_THAT(page.Read().data, HasSubstr("street"));
}

TEST_F(FoxgloveTest, ClientsThatWantNothingMakeWay) {
  Start({}, absl::Milliseconds(50));
  std::vector<std::unique_ptr<WebSocketClient>> idle;
  for (int i = 0; i < kMaxBrowsers; ++i) idle.push_back(Connect());
  idle[0]->SendRaw("\x81");  // half of a message
  absl::SleepFor(absl::Milliseconds(100));
  const auto further = Connect();
  further->SendText(Subscribe(1, kStagesChannel));
  AwaitWanted();
  view_->Show(Numbered(3));
  EXPECT_THAT(Payload(further->Read(), 1), HasSubstr("frame 3"));
  EXPECT_THAT(idle[0]->Read().data, StartsWith(kTryAgainLater));
}

}  // namespace
}  // namespace glint::view
