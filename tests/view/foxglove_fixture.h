// A view that serves Foxglove and a page, and clients of it.
#ifndef GLINT_TESTS_VIEW_FOXGLOVE_FIXTURE_H_
#define GLINT_TESTS_VIEW_FOXGLOVE_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/view/foxglove/session.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/view/http_client.h"
#include "tests/view/view_fixture.h"
#include "tests/view/wire_fields.h"

namespace glint::view {

inline constexpr char kNewProtocol[] = "Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n";

class FoxgloveTest : public ViewFixture {
 protected:
  void SetUp() override { Start({}, kPatience); }

  void Start(const std::vector<std::string>& origins, absl::Duration patience) {
    State state;
    state.title = "street";
    view_.reset();
    view_ = View::Start({"127.0.0.1:0", "127.0.0.1:0", origins}, state, patience).value();
    port_ = PortOf(view_->foxglove_url());
    page_port_ = PortOf(view_->url());
    host_ = HostHeader(port_);
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

  int port_ = 0, page_port_ = 0;
  std::string host_;
};

}  // namespace glint::view

#endif  // GLINT_TESTS_VIEW_FOXGLOVE_FIXTURE_H_
