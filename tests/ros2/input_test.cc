// Messages of cameras to frames.
#include "ros2/input/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/ros2/input_helpers.h"

namespace glint::ros2 {
namespace {

using client::ImageInput;
using client::PixelFormat;
using ::testing::ElementsAre;
using testing::Grey;
using ::testing::HasSubstr;
using testing::HeaderAt;
using testing::ImageOf;
using ::testing::IsEmpty;
using testing::Opened;
using testing::PairConfig;

Config OneCamera() {
  Config config;
  config.camera.left = "/cam/image_raw";
  return config;
}

std::vector<uint8_t> Bytes(const ImageInput& image, int row, int count) {
  const uint8_t* const at = image.data + row * image.stride;
  return {at, at + count};
}

TEST(Input, ImagesOfEveryEncoding) {
  std::vector<uint8_t> data;  // rows of 12 bytes: 0 1 2 ... 11, 12 13 ...
  for (uint8_t i = 0; i < 36; ++i) data.push_back(i);
  struct Case {
    const char* encoding;
    PixelFormat format;
    std::vector<uint8_t> second_row;  // of 2 x 2 pixels
  };
  const std::vector<Case> cases = {
      {"mono8", PixelFormat::kGray8, {12, 13}},
      {"8UC1", PixelFormat::kGray8, {12, 13}},
      {"mono16", PixelFormat::kGray16, {12, 13, 14, 15}},
      {"16UC1", PixelFormat::kGray16, {12, 13, 14, 15}},
      {"bgr8", PixelFormat::kBgr8, {12, 13, 14, 15, 16, 17}},
      {"rgb8", PixelFormat::kRgb8, {12, 13, 14, 15, 16, 17}},
      {"bgra8", PixelFormat::kBgra8, {12, 13, 14, 15, 16, 17, 18, 19}},
      {"rgba8", PixelFormat::kRgba8, {12, 13, 14, 15, 16, 17, 18, 19}},
      {"bayer_rggb8", PixelFormat::kBayerRggb8, {12, 13}},
      {"yuv422_yuy2", PixelFormat::kYuyv, {12, 13, 14, 15}},
      {"yuyv", PixelFormat::kYuyv, {12, 13, 14, 15}},
      {"yuv422", PixelFormat::kGray8, {13, 15}},
      {"uyvy", PixelFormat::kGray8, {13, 15}},
      {"nv12", PixelFormat::kGray8, {12, 13}},
      {"nv21", PixelFormat::kGray8, {12, 13}},
      {"nv24", PixelFormat::kGray8, {12, 13}},
  };
  Opened opened(OneCamera());
  int64_t ms = 1;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.encoding);
    opened.frames.clear();
    opened.participant.Send("/cam/image_raw", ImageOf(c.encoding, 2, 2, 12, data, ms, "frame").message, 4711 + ms);
    ASSERT_EQ(opened.frames.size(), 1u);
    const Picture& left = opened.frames[0]->left;
    EXPECT_EQ(left.image.kind, ImageInput::Kind::kRaw);
    EXPECT_EQ(left.image.format, c.format);
    EXPECT_EQ(left.image.width, 2);
    EXPECT_EQ(left.image.height, 2);
    EXPECT_EQ(left.image.stride, static_cast<ptrdiff_t>(c.second_row.size()));  // padding is left out
    EXPECT_EQ(Bytes(left.image, 1, static_cast<int>(c.second_row.size())), c.second_row);
    EXPECT_EQ(left.bytes.size(), 2 * c.second_row.size());
    EXPECT_EQ(left.stamp_ns, testing::kBegin + ms * testing::kMs);
    EXPECT_EQ(left.received_ns, 4711 + ms);
    EXPECT_EQ(left.frame_id, "frame");
    EXPECT_TRUE(opened.frames[0]->right.empty());
    EXPECT_TRUE(opened.frames[0]->depth.empty());
    ++ms;
  }
  auto big_endian = ImageOf("mono16", 2, 2, 12, data, ms);
  big_endian.message.is_bigendian = 1;
  opened.participant.Send("/cam/image_raw", big_endian.message);
  EXPECT_THAT(Bytes(opened.frames.back()->left.image, 1, 4), ElementsAre(13, 12, 15, 14));
}

TEST(Input, DepthsAreSamplesOfTheUnit) {
  std::vector<uint8_t> metres(12);
  const float values[] = {1.25F, std::numeric_limits<float>::quiet_NaN(), 70.0F};
  std::memcpy(metres.data(), values, sizeof(values));
  Config config = OneCamera();
  config.camera.depth = "/cam/depth";
  Opened opened(config);
  EXPECT_EQ(opened.participant.topics.count("/cam/depth"), 1u);
  opened.participant.Send("/cam/image_raw", Grey(3, 1, 1).message);
  opened.participant.Send("/cam/depth", ImageOf("32FC1", 3, 1, 12, metres, 1).message);
  opened.participant.Send("/cam/depth", ImageOf("16UC1", 3, 1, 6, {1, 2, 3, 4, 5, 6}, 34).message);
  opened.participant.Send("/cam/image_raw", Grey(3, 1, 34).message);
  ASSERT_EQ(opened.frames.size(), 2u);
  const ImageInput& of_metres = opened.frames[0]->depth.image;
  EXPECT_EQ(of_metres.format, PixelFormat::kGray16);
  EXPECT_THAT(Bytes(of_metres, 0, 6), ElementsAre(1250 % 256, 1250 / 256, 0, 0, 0, 0));
  EXPECT_THAT(Bytes(opened.frames[1]->depth.image, 0, 6), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_TRUE(opened.frames[0]->right.empty());

  config.camera.depth_unit = 0.0002;
  Opened other(config);
  other.participant.Send("/cam/depth", ImageOf("32FC1", 3, 1, 12, metres, 1).message);
  EXPECT_THAT(other.Value("/cam/depth last unreadable"), HasSubstr("camera.depth_unit is 0.0002"));
  other.participant.Send("/cam/depth", ImageOf("mono8", 3, 1, 3, {1, 2, 3}, 1).message);
  EXPECT_THAT(other.Value("/cam/depth last unreadable"), HasSubstr("\"mono8\" is not one of mono16, 16UC1, 32FC1"));
  EXPECT_EQ(other.Value("/cam/depth unreadable"), "2");
  EXPECT_EQ(other.Value("/cam/depth messages"), "0");
}

TEST(Input, CompressedImagesStayFiles) {
  Config config = PairConfig();
  config.camera.transport = Transport::kCompressed;
  config.camera.right = "/right/image_raw/compressed";  // as it is, too
  Opened opened(config);
  const std::vector<uint8_t> jpeg = {0xff, 0xd8, 0xff, 0xe0, 1, 2, 3}, png = {0x89, 'P', 'N', 'G', 9},
                             depth = {0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0x89, 'P', 'N', 'G'};
  opened.participant.Send("/left/image_raw/compressed", ros::CompressedImage{HeaderAt(1), "jpeg", jpeg});
  opened.participant.Send("/right/image_raw/compressed", ros::CompressedImage{HeaderAt(1), "png", png});
  ASSERT_EQ(opened.frames.size(), 1u);
  const Picture& left = opened.frames[0]->left;
  EXPECT_EQ(left.image.kind, ImageInput::Kind::kEncoded);
  EXPECT_EQ(left.bytes, jpeg);
  EXPECT_EQ(reinterpret_cast<const uint8_t*>(left.image.file.data()), left.bytes.data());
  EXPECT_EQ(left.image.file.size(), jpeg.size());
  EXPECT_EQ(opened.frames[0]->right.bytes, png);
  opened.participant.Send("/left/image_raw/compressed",
                          ros::CompressedImage{HeaderAt(2), "16UC1; compressedDepth png", depth});
  EXPECT_THAT(opened.Value("/left/image_raw/compressed last unreadable"),
              HasSubstr("depths are taken as Image of 16UC1 or 32FC1"));
}

TEST(Input, BytesThatAreNoMessageAreCountedAndDoNoHarm) {
  Opened opened(OneCamera());
  std::vector<uint8_t> good;
  ros::WriteCdr(Grey(16, 8, 1).message, &good);
  int64_t sent = 0;
  for (size_t size = 0; size < good.size(); ++size, ++sent) {
    opened.participant.SendBytes("/cam/image_raw", absl::MakeConstSpan(good).first(size));
  }
  EXPECT_THAT(opened.frames, IsEmpty());
  EXPECT_EQ(opened.Value("/cam/image_raw unreadable"), absl::StrCat(sent));
  EXPECT_THAT(opened.Value("/cam/image_raw last unreadable"),
              HasSubstr("sensor_msgs/msg/Image.data: 128 bytes announced, 127 are left"));
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i, ++sent) {
    std::vector<uint8_t> bad = good;
    for (int changes = 0; changes < 3; ++changes) bad[random() % 70] = static_cast<uint8_t>(random());
    opened.participant.SendBytes("/cam/image_raw", bad);
    for (const auto& frame : opened.frames) ASSERT_LE(frame->left.bytes.size(), good.size());
    opened.frames.clear();
  }
  int64_t read = 0, unreadable = 0;
  ASSERT_TRUE(absl::SimpleAtoi(opened.Value("/cam/image_raw messages"), &read));
  ASSERT_TRUE(absl::SimpleAtoi(opened.Value("/cam/image_raw unreadable"), &unreadable));
  EXPECT_EQ(read + unreadable, sent);
  EXPECT_GT(read, 100);
  opened.participant.Send("/cam/image_raw", Grey(16, 8, 2'000'000'000).message);
  EXPECT_EQ(opened.frames.size(), 1u);
}

TEST(Input, StampsAndNamesAreChecked) {
  Opened opened(OneCamera());
  const auto why = [&](const ros::Header& header) {
    auto image = Grey(4, 4, 1);
    image.message.header = header;
    opened.participant.Send("/cam/image_raw", image.message);
    EXPECT_THAT(opened.frames, IsEmpty());
    return opened.Value("/cam/image_raw last unreadable");
  };
  EXPECT_THAT(why({{0, 0}, "cam"}), HasSubstr("header.stamp: 0 s, 0 ns: its publisher sets no time"));
  EXPECT_THAT(why({{-5, 0}, "cam"}), HasSubstr("its publisher sets no time"));
  EXPECT_THAT(why({{5, 1'000'000'000}, "cam"}), HasSubstr("nanosec: 1000000000 is not in 0..999999999"));
  EXPECT_THAT(why({{5, 0}, std::string(1001, 'a')}), HasSubstr("header.frame_id: 1001 bytes are more than 1000"));
}

TEST(Input, MemoryGoesRound) {
  Opened opened(PairConfig());
  const auto send = [&](int64_t ms) {
    opened.participant.Send("/left/image_raw", Grey(64, 48, ms).message);
    opened.participant.Send("/right/image_raw", Grey(64, 48, ms).message);
  };
  send(1);
  std::vector<const uint8_t*> seen = {opened.frames[0]->left.bytes.data(), opened.frames[0]->right.bytes.data()};
  opened.frames.clear();
  for (int64_t i = 1; i < 20; ++i) {
    send(1 + i * 33);
    ASSERT_EQ(opened.frames.size(), 1u);
    for (const Picture* picture : {&opened.frames[0]->left, &opened.frames[0]->right}) {
      EXPECT_THAT(seen, ::testing::Contains(picture->bytes.data()));
      EXPECT_EQ(picture->bytes[64 * 48 - 1], 77);
    }
    opened.frames.clear();
  }
  EXPECT_EQ(opened.input->image_bytes(), size_t{64} * 48);
}

TEST(Input, FramesOutliveIt) {
  std::shared_ptr<const Frame> frame;
  {
    Opened opened(OneCamera());
    opened.participant.Send("/cam/image_raw", Grey(64, 48, 1).message);
    frame = opened.frames[0];
    opened.input = nullptr;
    EXPECT_THAT(opened.participant.topics, IsEmpty());
  }
  EXPECT_EQ(frame->left.bytes[5], 77);
}

TEST(Input, TopicsComeOnThreadsOfTheirOwn) {
  Config config = PairConfig();
  config.imu.topic = "/imu";
  Opened opened(config);
  constexpr int64_t kPairs = 300;
  std::atomic<int> running{3};
  const auto images = [&](const char* topic) {
    for (int64_t i = 0; i < kPairs; ++i) opened.participant.Send(topic, Grey(64, 48, 33 * i + 1).message);
    --running;
  };
  std::thread left(images, "/left/image_raw"), right(images, "/right/image_raw"), other([&] {
    ros::TFMessage transforms;
    transforms.transforms.push_back({HeaderAt(0, "cam"), "imu", {}});
    ros::Imu imu;
    for (int64_t i = 0; i < kPairs; ++i) {
      imu.header = HeaderAt(5 * i, "imu");
      opened.participant.Send("/imu", imu);
      opened.participant.Send("/tf_static", transforms);
      opened.participant.Send("/left/camera_info", testing::InfoOf(false));
    }
    --running;
  });
  std::string why;
  while (running > 0) {
    opened.input->UseRing(nullptr);
    EXPECT_FALSE(opened.input->cameras(&why).has_value());
    EXPECT_FALSE(opened.input->Diagnose().values.empty());
  }
  for (std::thread* thread : {&left, &right, &other}) thread->join();
  EXPECT_FALSE(opened.frames.empty());
  EXPECT_EQ(absl::StrCat(opened.frames.size()), opened.Value("pairs"));
  for (size_t i = 1; i < opened.frames.size(); ++i) {
    EXPECT_GT(opened.frames[i]->left.stamp_ns, opened.frames[i - 1]->left.stamp_ns);
    EXPECT_EQ(opened.frames[i]->left.stamp_ns, opened.frames[i]->right.stamp_ns);
  }
  EXPECT_EQ(opened.readings.size(), static_cast<size_t>(kPairs));
}

TEST(Input, ReadingsAreHandedOnIfTheyAreSome) {
  Config config = OneCamera();
  config.imu.topic = "/imu";
  Opened opened(config);
  ros::Imu imu;
  imu.header = HeaderAt(5, "imu");
  imu.angular_velocity = {0.1, 0.2, 0.3};
  imu.linear_acceleration = {0, 9.81, 0};
  opened.participant.Send("/imu", imu);
  ASSERT_EQ(opened.readings.size(), 1u);
  EXPECT_EQ(opened.readings[0].angular_velocity.z, 0.3);
  EXPECT_EQ(opened.readings[0].header.frame_id, "imu");
  ros::Imu other = imu;
  other.linear_acceleration_covariance[0] = -1;
  opened.participant.Send("/imu", other);
  EXPECT_THAT(opened.Value("/imu last unreadable"), HasSubstr("linear_acceleration: is not measured"));
  other = imu;
  other.angular_velocity.y = std::nan("");
  opened.participant.Send("/imu", other);
  EXPECT_THAT(opened.Value("/imu last unreadable"), HasSubstr("angular_velocity: nan is not in"));
  EXPECT_EQ(opened.readings.size(), 1u);
  EXPECT_EQ(opened.Value("/imu messages"), "1");
  EXPECT_EQ(opened.Value("/imu unreadable"), "2");
}

}  // namespace
}  // namespace glint::ros2
