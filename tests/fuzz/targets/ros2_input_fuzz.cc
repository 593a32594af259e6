// What comes to glint-ros2 over DDS: any bytes, and messages of cameras whose fields are any. Input: what is subscribed
// to, then for each message its topic, whether it is bytes or fields, and these.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ros2/config/config.h"
#include "ros2/input/input.h"
#include "tests/fuzz/targets/input.h"
#include "tests/ros2/fake_participant.h"

namespace glint::ros2 {
namespace {

constexpr const char* kEncodings[] = {"mono8", "mono16", "32FC1", "16UC1", "bgr8", "yuv422", "nv12", "bayer_rggb8", ""};
constexpr const char* kFrames[] = {"a", "b", "/c", "d"};

ros::Header HeaderOf(fuzz::Input* input) {
  const auto time = input->Number<uint16_t>();  // near the others, but for some
  const int64_t ns = time % 7 == 0 ? int64_t{time} * 1'000'000'000 : 100'000'000'000 + int64_t{time} * 3'000'000;
  return {ros::TimeOf(ns), kFrames[time % 4]};
}

std::vector<uint8_t> ImageOf(fuzz::Input* input) {
  ros::Image image;
  image.header = HeaderOf(input);
  image.width = input->Number<uint8_t>() % 40;
  image.height = input->Number<uint8_t>() % 40;
  image.encoding = kEncodings[input->Number<uint8_t>() % std::size(kEncodings)];
  image.step = input->Number<uint8_t>();
  image.is_bigendian = input->Number<uint8_t>() % 2;
  const std::vector<uint8_t> data(size_t{image.step} * image.height, 7);
  image.data = data;
  std::vector<uint8_t> cdr;
  ros::WriteCdr(image, &cdr);
  return cdr;
}

std::vector<uint8_t> InfoOf(fuzz::Input* input) {
  ros::CameraInfo info;
  info.header = HeaderOf(input);
  info.width = info.height = 8 * (input->Number<uint8_t>() % 4);
  info.distortion_model = "plumb_bob";
  info.d = {0.1, 0, 0, 0, input->Number<double>()};
  info.k = {20, 0, 10, 0, 20, 10, 0, 0, 1};
  info.r = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  info.p = {20, 0, 10, input->Number<int8_t>() / 10.0, 0, 20, 10, 0, 0, 0, 1, 0};
  if (const auto at = input->Number<uint8_t>(); at < 9) info.k[at] = input->Number<double>();
  std::vector<uint8_t> cdr;
  ros::WriteCdr(info, &cdr);
  return cdr;
}

std::vector<uint8_t> TransformsOf(fuzz::Input* input) {
  ros::TFMessage message;
  for (int count = input->Number<uint8_t>() % 4; count >= 0; --count) {
    ros::TransformStamped& stamped = message.transforms.emplace_back();
    stamped.header = HeaderOf(input);
    stamped.child_frame_id = kFrames[input->Number<uint8_t>() % 4];
    if (input->Number<uint8_t>() % 4 == 0) stamped.transform.rotation.x = input->Number<double>();
    stamped.transform.translation.y = input->Number<int8_t>();
  }
  std::vector<uint8_t> cdr;
  ros::WriteCdr(message, &cdr);
  return cdr;
}

std::vector<uint8_t> ImuOf(fuzz::Input* input) {
  ros::Imu imu;
  imu.header = HeaderOf(input);
  imu.angular_velocity.x = input->Number<double>();
  imu.angular_velocity_covariance[0] = input->Number<int8_t>();
  std::vector<uint8_t> cdr;
  ros::WriteCdr(imu, &cdr);
  return cdr;
}

void CheckPicture(const Picture& picture) {
  FUZZ_CHECK(picture.stamp_ns > 0 && !picture.empty());
  if (picture.image.kind == client::ImageInput::Kind::kEncoded) {
    FUZZ_CHECK(picture.image.file.size() == picture.bytes.size() && !picture.bytes.empty());
    return;
  }
  const auto rows = static_cast<size_t>(picture.image.height);
  FUZZ_CHECK(picture.image.data == picture.bytes.data());
  FUZZ_CHECK(picture.bytes.size() == rows * static_cast<size_t>(picture.image.stride));
  FUZZ_CHECK(picture.image.width * client::BytesPerPixel(picture.image.format) == picture.image.stride);
  unsigned sum = 0;
  for (const uint8_t byte : picture.bytes) sum += byte;
  FUZZ_CHECK(sum <= 255u * picture.bytes.size());  // which reads all
}

std::string RestartsOf(const ros::DiagnosticStatus& status) {
  for (const ros::KeyValue& value : status.values) {
    if (value.key == "clocks set back") return value.value;
  }
  FUZZ_CHECK(false);
  return "";
}

void Run(fuzz::Input input) {
  Config config;
  const auto kind = input.Number<uint8_t>();
  config.camera.left = kind % 5 == 0 ? "/l/image_rect" : "/l/image_raw";
  if (kind % 3 == 0) config.camera.depth = "/r/image_raw";
  if (kind % 3 == 1) config.camera.right = kind % 5 == 0 ? "/r/image_rect" : "/r/image_raw";
  if (kind >= 128) config.camera.transport = Transport::kCompressed;
  if (kind % 2 == 0) config.imu.topic = "/imu";
  config.camera.max_time_difference = 0.02;
  testing::FakeParticipant participant;
  Input::Callbacks callbacks;
  std::vector<int64_t> stamps;  // of one message's frames
  int64_t last = 0, frames = 0;
  std::string last_restarts;
  std::unique_ptr<Input> opened;
  std::shared_ptr<const Frame> kept;
  callbacks.on_frame = [&](std::shared_ptr<const Frame> frame) {
    CheckPicture(frame->left);
    if (!config.camera.right.empty()) CheckPicture(frame->right);
    if (!config.camera.depth.empty()) CheckPicture(frame->depth);
    stamps.push_back(frame->left.stamp_ns);
    if (frames++ % 3 == 0) kept = std::move(frame);
  };
  callbacks.on_imu = [](const ros::Imu& imu) { FUZZ_CHECK(imu.angular_velocity_covariance[0] != -1); };
  opened = Input::Open(&participant, config, callbacks).value();
  std::vector<std::string> names;
  for (const auto& [name, topic] : participant.topics) names.push_back(name);
  for (int messages = 0; !input.empty() && messages < 60; ++messages) {
    const std::string& name = names[input.Number<uint8_t>() % names.size()];
    const std::string& type = participant.topics[name].type.name;
    std::vector<uint8_t> cdr;
    if (input.Number<uint8_t>() % 4 == 0 || type == ros::CompressedImage::kName) {
      const fuzz::Bytes bytes = input.Take(input.Number<uint16_t>() % 2000);
      cdr.assign(bytes.begin(), bytes.end());
    } else if (type == ros::Image::kName) {
      cdr = ImageOf(&input);
    } else if (type == ros::CameraInfo::kName) {
      cdr = InfoOf(&input);
    } else if (type == ros::Imu::kName) {
      cdr = ImuOf(&input);
    } else {
      cdr = TransformsOf(&input);
    }
    participant.SendBytes(name, cdr, 1 + messages);
    const std::string restarts = RestartsOf(opened->Diagnose());
    for (const int64_t stamp : stamps) {
      FUZZ_CHECK(stamp > last || restarts != last_restarts);
      last = stamp;
    }
    stamps.clear();
    last_restarts = restarts;
    std::string why;
    if (messages % 4 == 0) FUZZ_CHECK(opened->cameras(&why).has_value() == why.empty());
  }
  FUZZ_CHECK(!opened->Diagnose().values.empty());
  opened->Transform("a", "c");
}

}  // namespace
}  // namespace glint::ros2

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::ros2::Run({data, size});
  return 0;
}
