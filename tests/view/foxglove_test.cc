// Foxglove's WebSocket protocol against a plain client: who is answered, what is sent, and that nobody slows the
// frames.
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/view/foxglove_fixture.h"

namespace glint::view {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kBinary = 2;
constexpr char kGoingAway[] = "\x03\xe9";

TEST_F(FoxgloveTest, SpeaksBothSubprotocolsAndNoOther) {
  const auto head = [this](const std::string& offered) {
    return WebSocketClient(port_, absl::StrCat(host_, "Sec-WebSocket-Protocol: ", offered, "\r\n")).head();
  };
  EXPECT_THAT(head("foxglove.websocket.v1"), HasSubstr("\r\nSec-WebSocket-Protocol: foxglove.websocket.v1\r\n"));
  EXPECT_THAT(head("foxglove.websocket.v1, foxglove.sdk.v1"), HasSubstr("Protocol: foxglove.sdk.v1\r\n"));
  EXPECT_THAT(head("mqtt"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(WebSocketClient(port_, host_).head(), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Get(port_, "/", "127.0.0.1"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Get(port_, "/", "evil.example"), StartsWith("HTTP/1.1 403 "));
}

TEST_F(FoxgloveTest, PagesOfOtherSitesConnectOnlyIfTheyAreNamed) {
  const auto status = [this](const std::string& origin) {
    return WebSocketClient(port_, absl::StrCat(host_, kNewProtocol, "Origin: ", origin, "\r\n")).status_line();
  };
  const std::string app = "https://app.foxglove.dev";
  for (const std::string& origin : {app, std::string("null"), std::string("file://"), absl::StrCat(app, ".evil")}) {
    EXPECT_THAT(status(origin), HasSubstr(" 403 ")) << origin;
  }
  EXPECT_THAT(status(absl::StrCat("http://127.0.0.1:", port_)), HasSubstr(" 101 "));
  Start({"https://other.example", app}, kPatience);
  EXPECT_THAT(status(app), HasSubstr(" 101 "));
  EXPECT_THAT(status(absl::StrCat(app, ".evil")), HasSubstr(" 403 "));
}

// Foxglove's names, numbers and types, as its own servers advertise them; of messages, what a view fills in.
TEST_F(FoxgloveTest, AdvertisesChannelsWithFoxglovesSchemas) {
  WebSocketClient client(port_, host_ + kNewProtocol);
  EXPECT_THAT(client.Read().data, AllOf(StartsWith(R"({"op": "serverInfo","name": "glint: street","capabilities": [])"),
                                        HasSubstr("\"sessionId\": \"")));
  const std::string text = client.Read().data;
  const std::string begin = absl::StrCat(R"({"op": "advertise","channels": [{"id": 1,"topic": "/image",)",
                                         R"("encoding": "protobuf","schemaName": "foxglove.CompressedImage",)",
                                         R"("schemaEncoding": "protobuf","schema": ")");
  ASSERT_THAT(text, StartsWith(begin));
  const std::map<std::string, std::string> schemas = {{"/annotations", "ImageAnnotations"},
                                                      {"/pose", "PoseInFrame"},
                                                      {"/tf", "FrameTransform"},
                                                      {"/path", "PosesInFrame"},
                                                      {"/map", "PointCloud"},
                                                      {"/log", "Log"}};
  for (const auto& [topic, schema] : schemas) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("\"topic\": \"", topic, "\",\"encoding\": \"protobuf\",\"schemaName\": \"",
                                             "foxglove.", schema, "\"")));
  }
  EXPECT_THAT(text, HasSubstr(R"("topic": "/stages","encoding": "json","schemaName": "glint.Stages",)"
                              R"("schemaEncoding": "jsonschema","schema": "{\"type\": \"object\")"));

  std::string set;
  ASSERT_TRUE(absl::Base64Unescape(text.substr(begin.size(), text.find('"', begin.size()) - begin.size()), &set));
  std::map<std::string, std::string> fields;  // "Message.field" to number and type of FieldDescriptorProto
  for (const std::string& file : WireFields(set).Texts(1)) {
    const std::string package = WireFields(file).Text(2);
    for (const std::string& message : WireFields(file).Texts(4)) {
      for (const std::string& field : WireFields(message).Texts(2)) {
        const WireFields f(field);
        fields[absl::StrCat(package, ".", WireFields(message).Text(1), ".", f.Text(1))] =
            absl::StrCat(f.Number(3), " ", f.Number(5));
      }
    }
  }
  constexpr int kDouble = 1, kInt64 = 3, kInt32 = 5, kFixed32 = 7, kString = 9, kMessage = 11, kBytes = 12, kEnum = 14;
  const std::vector<std::tuple<std::string, int, int>> expected = {
      {"google.protobuf.Timestamp.seconds", 1, kInt64},
      {"google.protobuf.Timestamp.nanos", 2, kInt32},
      {"foxglove.CompressedImage.timestamp", 1, kMessage},
      {"foxglove.CompressedImage.data", 2, kBytes},
      {"foxglove.CompressedImage.format", 3, kString},
      {"foxglove.CompressedImage.frame_id", 4, kString},
      {"foxglove.ImageAnnotations.points", 2, kMessage},
      {"foxglove.ImageAnnotations.timestamp", 5, kMessage},
      {"foxglove.PointsAnnotation.type", 2, kEnum},
      {"foxglove.PointsAnnotation.points", 3, kMessage},
      {"foxglove.PointsAnnotation.outline_color", 4, kMessage},
      {"foxglove.PointsAnnotation.outline_colors", 5, kMessage},
      {"foxglove.PointsAnnotation.thickness", 7, kDouble},
      {"foxglove.PoseInFrame.frame_id", 2, kString},
      {"foxglove.PoseInFrame.pose", 3, kMessage},
      {"foxglove.PosesInFrame.poses", 3, kMessage},
      {"foxglove.FrameTransform.parent_frame_id", 2, kString},
      {"foxglove.FrameTransform.child_frame_id", 3, kString},
      {"foxglove.FrameTransform.translation", 4, kMessage},
      {"foxglove.FrameTransform.rotation", 5, kMessage},
      {"foxglove.Quaternion.w", 4, kDouble},
      {"foxglove.PointCloud.pose", 3, kMessage},
      {"foxglove.PointCloud.point_stride", 4, kFixed32},
      {"foxglove.PointCloud.fields", 5, kMessage},
      {"foxglove.PointCloud.data", 6, kBytes},
      {"foxglove.PackedElementField.offset", 2, kFixed32},
      {"foxglove.PackedElementField.type", 3, kEnum},
      {"foxglove.Log.level", 2, kEnum},
      {"foxglove.Log.message", 3, kString},
      {"foxglove.Log.name", 4, kString}};
  for (const auto& [name, number, type] : expected) EXPECT_EQ(fields[name], absl::StrCat(number, " ", type)) << name;
}

TEST_F(FoxgloveTest, SendsWhatIsSubscribed) {
  const auto client = Connect();
  EXPECT_FALSE(view_->wanted());
  EXPECT_FALSE(view_->wants_map());
  client->SendText(absl::StrCat(R"({"op":"subscribe","subscriptions":[)", Subscription(7, kImageChannel), ",",
                                Subscription(4000000000, kPoseChannel), ",", Subscription(1, kMapChannel), "]}"));
  AwaitWanted();
  EXPECT_TRUE(view_->wants_map());
  Scene scene = Numbered(1, 300);
  scene.pose = {{0, 0, 0, 1}, {1.5, 0, -2}};
  scene.map = std::make_shared<const MapPoints>(MapPoints{{1, 2, 3}, {4, 5, 6}});
  view_->Show(scene);
  EXPECT_EQ(WireFields(Payload(client->Read(), 7)).Text(2), std::string(300, 'p'));
  const WireFields position = WireFields(Payload(client->Read(), 4000000000)).Message(3).Message(1);
  EXPECT_EQ(position.Double(1), 1.5);
  EXPECT_EQ(position.Double(3), -2);
  EXPECT_EQ(WireFields(Payload(client->Read(), 1)).Text(6).size(), 2 * 12u);

  client->SendText(R"({"op":"unsubscribe","subscriptionIds":[7,1]})");
  Await([this] { return !view_->wants_map(); });
  AwaitWanted();
  view_->Show(scene);
  EXPECT_NE(Payload(client->Read(), 4000000000), "");
  client->SendText(R"({"op":"unsubscribe","subscriptionIds":[4000000000]})");
  Await([this] { return !view_->wanted(); });
}

TEST_F(FoxgloveTest, APictureIsEncodedOnceForAllAndOnlyIfItIsWanted) {
  std::atomic<int> encoded{0};
  const auto first = Connect(), second = Connect();
  first->SendText(Subscribe(1, kStagesChannel));
  AwaitWanted();
  view_->Show(Counted(&encoded));
  EXPECT_THAT(Payload(first->Read(), 1), HasSubstr("frame 1"));
  EXPECT_EQ(encoded, 0);
  WebSocketClient page(page_port_, HostHeader(page_port_));
  EXPECT_THAT(page.Read().data, HasSubstr("street"));
  second->SendText(Subscribe(2, kImageChannel));
  second->SendText("{}");
  EXPECT_THAT(second->Read().data, HasSubstr("status"));
  AwaitWanted();
  view_->Show(Counted(&encoded));
  EXPECT_EQ(WireFields(Payload(second->Read(), 2)).Text(2), "p");
  EXPECT_THAT(page.Read().data, HasSubstr("frame 1"));
  EXPECT_NE(Payload(first->Read(), 1), "");
  EXPECT_EQ(encoded, 1);
}

TEST_F(FoxgloveTest, TheLogHasNotices) {
  const auto client = Connect();
  view_->SetNotice("no server");
  client->SendText(Subscribe(3, kLogChannel));
  WireFields log(Payload(client->Read(), 3));
  EXPECT_EQ(log.Number(2), 3u);  // WARNING
  EXPECT_EQ(log.Text(3), "no server");
  view_->SetNotice("");
  AwaitWanted();
  view_->Show(Numbered(5));
  log = WireFields(Payload(client->Read(), 3));
  EXPECT_EQ(log.Number(2), 2u);  // INFO
  EXPECT_EQ(log.Text(3), "frame 5.: ");
}

TEST_F(FoxgloveTest, ASlowClientGetsTheNewestFrameAndStopsNobody) {
  constexpr size_t kHuge = 4 << 20;  // more than the sockets hold
  constexpr int kFrames = 20;
  const auto slow = Connect(4096), quick = Connect();
  for (const auto& client : {slow.get(), quick.get()}) client->SendText(Subscribe(1, kImageChannel));
  slow->SendText(Subscribe(2, kStagesChannel));
  slow->SendText(Subscribe(3, kMapChannel));
  Await([this] { return view_->wants_map(); });
  for (int i = 0; i < kFrames; ++i) {
    AwaitWanted();
    Scene scene = Numbered(i, kHuge);
    if (i == kFrames / 2) scene.map = std::make_shared<const MapPoints>(MapPoints{{1, 2, 3}});
    view_->Show(std::move(scene));
    EXPECT_EQ(WireFields(Payload(quick->Read(), 1)).Text(2).size(), kHuge);
  }
  std::vector<std::string> names;
  while (names.empty() || names.back().find(absl::StrCat("frame ", kFrames - 1, ".")) == std::string::npos) {
    const WebSocketClient::Message message = slow->Read();
    ASSERT_EQ(message.opcode, kBinary);
    if (LittleEndian(message.data, 1, 4) == 2) names.push_back(Payload(message, 2));
  }
  EXPECT_LT(names.size(), 5u);
  EXPECT_EQ(WireFields(Payload(slow->Read(), 3)).Text(6).size(), 12u);  // of a frame that was skipped
}

TEST_F(FoxgloveTest, TellsClientsThatItEnds) {
  const auto client = Connect();
  std::thread ending([this] { view_.reset(); });
  EXPECT_THAT(client->Read().data, AllOf(StartsWith(kGoingAway), HasSubstr("glint has ended")));
  ending.join();
}

TEST(ViewStart, ListensWhereItIsTold) {
  const auto foxglove = View::Start({"", "127.0.0.1:0", {}}, {}).value();
  EXPECT_EQ(foxglove->url(), "");
  EXPECT_THAT(foxglove->foxglove_url(), StartsWith("ws://127.0.0.1:"));
  const auto taken = View::Start({"127.0.0.1:0", foxglove->foxglove_url().substr(5), {}}, {});
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(std::string(taken.status().message()), HasSubstr("option '--foxglove': another program listens"));
  EXPECT_THAT(std::string(View::Start({"127.0.0.1:0", "x", {}}, {}).status().message()),
              HasSubstr("option '--foxglove': 'x' is not HOST:PORT"));
}

}  // namespace
}  // namespace glint::view
