// What Foxglove gets of localization, and localization of a camera with depths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/view/foxglove/channels.h"
#include "decode/decode.h"
#include "ros2/operations/features/features.h"
#include "ros2/operations/live.h"
#include "tests/ros2/localize_fixture.h"
#include "tests/view/http_client.h"
#include "tests/view/wire_fields.h"

namespace glint::ros2 {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LocalizeView : public LocalizeTest {
 protected:
  void StartView() {
    view::ViewAddresses addresses;
    addresses.foxglove = "127.0.0.1:0";
    view_ = view::View::Start(addresses, {}).value();
    const std::string url = view_->foxglove_url();
    const std::string host = url.substr(url.find("//") + 2);
    client_ = std::make_unique<view::WebSocketClient>(
        std::stoi(host.substr(host.find(':') + 1)),
        absl::StrCat("Host: ", host, "\r\nSec-WebSocket-Protocol: foxglove.sdk.v1\r\n"));
    client_->Read();  // serverInfo
    client_->Read();  // advertise
  }
  // Subscribes to this channel, which no other is now.
  void Subscribe(int channel) {
    client_->SendText(absl::StrCat(R"({"op":"subscribe","subscriptions":[{"id":7,"channelId":)", channel + 1, "}]}"));
    EXPECT_TRUE(Eventually([&] { return view_->wanted(); }));
  }
  // The payload of the next message of it.
  view::WireFields Read() {
    const view::WebSocketClient::Message message = client_->Read();
    client_->SendText(R"({"op":"unsubscribe","subscriptionIds":[7]})");
    EXPECT_TRUE(Eventually([&] { return !view_->wanted(); }));
    EXPECT_EQ(message.opcode, 2);
    return view::WireFields(message.data.substr(13));
  }

  std::unique_ptr<view::WebSocketClient> client_;
};

TEST_F(LocalizeView, FoxgloveGetsPicturePoseAndMap) {
  config_.localize.map_every = 0.01;
  StartView();
  StartServer();
  Start();
  for (size_t i = 0; i < 10; ++i) Locate(i);
  Subscribe(view::kImageChannel);
  Locate(10);
  const view::WireFields image = Read();
  EXPECT_THAT(image.Text(2), StartsWith("\xff\xd8"));
  EXPECT_EQ(image.Text(3), "jpeg");
  Subscribe(view::kPoseChannel);
  Locate(11);
  const view::WireFields position = Read().Message(3).Message(1);
  EXPECT_NEAR(position.Double(1), 11 * kStep, 0.05);
  EXPECT_NEAR(position.Double(3), 0, 0.05);
  node_.topic("/map_points")->wanted = false;
  Subscribe(view::kMapChannel);
  ASSERT_TRUE(Eventually([&] { return view_->wants_map(); }));
  absl::SleepFor(absl::Seconds(1));  // two of Serve()
  Locate(12);
  EXPECT_GT(Read().Text(6).size(), 100u * 12);  // points of three float32
}

TEST(LiveTest, PicturesAreTheLeftImages) {
  Image image(64, 48);
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) image.row(y)[x] = static_cast<uint8_t>(2 * x + y);
  }
  std::vector<uint8_t> rgb;
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) rgb.insert(rgb.end(), 3, image.row(y)[x]);
  }
  const std::string gray = PictureOf(image)().file;
  EXPECT_THAT(gray, StartsWith("\xff\xd8"));
  EXPECT_EQ(PictureOf(client::ImageInput::Raw(PixelFormat::kRgb8, rgb.data(), 64, 48, 64 * 3))().file, gray);
  EXPECT_EQ(PictureOf(client::ImageInput::Encoded(gray))().file, gray);
  EXPECT_EQ(PictureOf({})().file, "");
}

// Pixels are those of when it was asked for, whatever becomes of their memory: it is written as JPEG later.
TEST(LiveTest, PicturesAreCopied) {
  std::vector<uint8_t> pixels(64 * 48, 200);
  const auto raw = [&] { return client::ImageInput::Raw(PixelFormat::kGray8, pixels.data(), 64, 48, 64); };
  const std::string light = PictureOf(raw())().file;
  const auto picture = PictureOf(raw());
  std::fill(pixels.begin(), pixels.end(), uint8_t{10});
  EXPECT_EQ(picture().file, light);
  EXPECT_NE(PictureOf(raw())().file, light);
}

// A scene with a keypoint at its index.
class LiveKeypoints : public LocalizeView {
 protected:
  void Pose(int64_t stamp_ns) {
    view::Scene scene;
    scene.text = absl::StrCat("pose of ", stamp_ns);
    live_->ShowPose(stamp_ns, std::move(scene));
  }
  void Keypoints(int64_t stamp_ns) {
    client::Detection found;
    found.features.Resize(1, 0);
    found.features.x[0] = static_cast<float>(stamp_ns);
    Frame frame;
    frame.left.stamp_ns = stamp_ns;
    live_->ShowKeypoints(found, frame);
  }
  // Of the next annotations: x of each keypoint, as Foxglove has it.
  std::vector<double> Marks() {
    std::vector<double> x;
    for (const std::string& point : Read().Message(2).Texts(3)) x.push_back(view::WireFields(point).Double(1));
    return x;
  }
};

TEST_F(LiveKeypoints, AreShownWithTheirImage) {
  config_.detect.enabled = true;
  StartView();
  live_ = std::make_unique<Live>(view_.get(), config_);
  Subscribe(view::kAnnotationsChannel);
  Keypoints(5);
  Pose(5);
  EXPECT_THAT(Marks(), ElementsAre(5.5));
  Subscribe(view::kAnnotationsChannel);
  Pose(6);
  Keypoints(6);
  EXPECT_THAT(Marks(), ElementsAre(6.5));
  // Those of the image before are no image's.
  Keypoints(6);
  Pose(7);
  Subscribe(view::kAnnotationsChannel);
  Pose(8);  // 7 is shown as it is
  EXPECT_THAT(Marks(), IsEmpty());
}

TEST_F(LiveKeypoints, AreShownWithoutPoses) {
  config_.detect.enabled = true;
  config_.localize.enabled = false;
  StartView();
  live_ = std::make_unique<Live>(view_.get(), config_);
  Subscribe(view::kAnnotationsChannel);
  Keypoints(4);
  EXPECT_THAT(Marks(), ElementsAre(4.5));
}

TEST_F(LocalizeView, FoxgloveGetsKeypointsOfDetect) {
  config_.detect.enabled = true;
  config_.localize.enabled = false;
  StartView();
  StartServer();
  connection_ = std::make_unique<Connection>(Connection::Options{config_.server, 8}, &input_);
  live_ = std::make_unique<Live>(view_.get(), config_);
  auto made = MakeDetect({&config_, &node_, &input_, connection_.get(), live_.get()});
  ASSERT_TRUE(made.ok()) << made.status();
  operation_ = *std::move(made);
  Subscribe(view::kAnnotationsChannel);
  Take(pairs_[0].left, pairs_[0].right);
  const std::vector<std::string> points = Read().Message(2).Texts(3);
  EXPECT_GT(points.size(), 50u);
  for (const std::string& point : points) {
    EXPECT_GT(view::WireFields(point).Double(1), 0);
    EXPECT_LT(view::WireFields(point).Double(1), kShape.width);
  }
}

TEST_F(LocalizeView, CamerasWithDepthAreLocatedToo) {
  config_.camera.right.clear();
  config_.camera.depth = "/depth/image";
  Cameras cameras;
  cameras.camera = Camera();
  cameras.depth = client::DepthCamera{0.001, 0, 0};
  input_.Set(cameras);
  StartServer();
  Start();
  const std::vector<uint16_t> depth(static_cast<size_t>(kShape.width) * kShape.height, 4000);  // millimetres
  const auto depths = client::ImageInput::Raw(PixelFormat::kGray16, depth.data(), kShape.width, kShape.height,
                                              kShape.width * ptrdiff_t{2});
  for (size_t i = 0; i < 8; ++i) {
    Take(pairs_[i].left, depths, /*has_depth=*/true);
    ASSERT_TRUE(Eventually([&] { return Count("/odometry") == i + 1; })) << Told();
    EXPECT_NEAR(Left(), -kStep * static_cast<double>(i), 0.05);
  }
}

}  // namespace
}  // namespace glint::ros2
