// A view that serves Foxglove and a page, and clients of it.
#ifndef GLINT_TESTS_VIEW_FOXGLOVE_FIXTURE_H_
#define GLINT_TESTS_VIEW_FOXGLOVE_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/view/foxglove/session.h"
#include "client/view/view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/view/http_client.h"
#include "tests/view/wire_fields.h"

namespace glint::view {

inline constexpr char kNewProtocol[] = "Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n";

class FoxgloveTest : public ::testing::Test {
 protected:
  void SetUp() override { Start({}, kPatience); }

  void Start(const std::vector<std::string>& origins, absl::Duration patience) {
    State state;
    state.title = "street";
    view_.reset();
    view_ = View::Start({"127.0.0.1:0", "127.0.0.1:0", origins}, state, patience).value();
    const std::string url = view_->foxglove_url(), page = view_->url();
    ASSERT_THAT(url, ::testing::StartsWith("ws://127.0.0.1:"));
    ASSERT_TRUE(absl::SimpleAtoi(url.substr(15), &port_)) << url;
    ASSERT_TRUE(absl::SimpleAtoi(page.substr(17, page.size() - 18), &page_port_)) << page;
    host_ = absl::StrCat("Host: 127.0.0.1:", port_, "\r\n");
  }

  // A client that has got what comes first.
  std::unique_ptr<WebSocketClient> Connect(int receive_buffer = 0) const {
    auto client = std::make_unique<WebSocketClient>(port_, host_ + kNewProtocol, receive_buffer);
    EXPECT_THAT(client->head(), ::testing::AllOf(::testing::StartsWith("HTTP/1.1 101 "),
                                                 ::testing::HasSubstr("Protocol: foxglove.sdk.v1\r\n")));
    EXPECT_THAT(client->Read().data, ::testing::HasSubstr("serverInfo"));
    EXPECT_THAT(client->Read().data, ::testing::HasSubstr("advertise"));
    return client;
  }

  static std::string Subscription(uint32_t id, uint32_t channel) {
    return absl::StrCat(R"({"id":)", id, R"(,"channelId":)", channel + 1, "}");
  }
  static std::string Subscribe(uint32_t id, uint32_t channel) {
    return absl::StrCat(R"({"op":"subscribe","subscriptions":[)", Subscription(id, channel), "]}");
  }

  static void Await(const std::function<bool()>& done) {
    const absl::Time end = absl::Now() + absl::Seconds(10);
    bool is_done = done();
    while (!is_done && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(1));
      is_done = done();
    }
    EXPECT_TRUE(is_done);
  }
  void AwaitWanted() const {
    Await([this] { return view_->wanted(); });
  }

  static Scene Numbered(int number, size_t bytes = 4) {
    Scene scene;
    scene.name = absl::StrCat("frame ", number);
    scene.picture = [bytes] { return EncodedPicture{std::string(bytes, 'p')}; };
    return scene;
  }

  // Message data of this subscription: its payload.
  static std::string Payload(const WebSocketClient::Message& message, uint32_t subscription) {
    EXPECT_EQ(message.opcode, 2);
    if (message.opcode != 2 || message.data.size() < 13) return "";
    EXPECT_EQ(message.data[0], 1);
    EXPECT_EQ(LittleEndian(message.data, 1, 4), subscription);
    const auto at = absl::FromUnixNanos(static_cast<int64_t>(LittleEndian(message.data, 5, 8)));
    EXPECT_LT(absl::AbsDuration(absl::Now() - at), absl::Minutes(1));
    return message.data.substr(13);
  }

  std::unique_ptr<View> view_;
  int port_ = 0, page_port_ = 0;
  std::string host_;
};

}  // namespace glint::view

#endif  // GLINT_TESTS_VIEW_FOXGLOVE_FIXTURE_H_
