// Messages of cameras, and an Input that takes them from a fake participant.
#ifndef GLINT_TESTS_ROS2_INPUT_HELPERS_H_
#define GLINT_TESTS_ROS2_INPUT_HELPERS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ros/messages.h"
#include "ros2/config/config.h"
#include "ros2/input/input.h"
#include "tests/ros2/fake_participant.h"

namespace glint::ros2::testing {

inline constexpr int64_t kMs = 1'000'000;
inline constexpr int64_t kBegin = 1'700'000'000'000'000'000;

inline ros::Header HeaderAt(int64_t ms, const std::string& frame = "cam") {
  return {ros::TimeOf(kBegin + ms * kMs), frame};
}

// An image with memory of its own.
struct OwnedImage {
  std::vector<uint8_t> data;
  ros::Image message;
};
inline OwnedImage ImageOf(const std::string& encoding, uint32_t width, uint32_t height, uint32_t step,
                          std::vector<uint8_t> data, int64_t ms = 0, const std::string& frame = "cam") {
  OwnedImage image;
  image.data = std::move(data);
  image.message = {HeaderAt(ms, frame), height, width, encoding, 0, step, image.data};
  return image;
}
inline OwnedImage Grey(uint32_t width, uint32_t height, int64_t ms, const std::string& frame = "cam") {
  return ImageOf("mono8", width, height, width, std::vector<uint8_t>(size_t{width} * height, 77), ms, frame);
}

// A pinhole of 640x480 with a lens, whose rectified image has a focal length of 400 px; 0.12 m right of the left one.
inline ros::CameraInfo InfoOf(bool right) {
  ros::CameraInfo info;
  info.header.frame_id = "cam";
  info.width = 640;
  info.height = 480;
  info.distortion_model = "plumb_bob";
  info.d = {-0.28, 0.07, 0.0002, 0.00002, 0};
  info.k = {458.654, 0, 317.215, 0, 457.296, 238.375, 0, 0, 1};
  info.r = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  info.p = {400, 0, 320.5, right ? -48.0 : 0, 0, 400, 241.25, 0, 0, 0, 1, 0};
  return info;
}

// Rows of the frames' pictures that came out.
class Opened {
 public:
  explicit Opened(const Config& config) {
    Input::Callbacks callbacks;
    callbacks.on_frame = [this](std::shared_ptr<const Frame> frame) { frames.push_back(std::move(frame)); };
    callbacks.on_imu = [this](const ros::Imu& imu) { readings.push_back(imu); };
    auto opened = Input::Open(&participant, config, callbacks);
    status = opened.status();
    if (opened.ok()) input = *std::move(opened);
  }

  std::string WhyNoCameras() const {
    std::string why;
    EXPECT_FALSE(input->cameras(&why).has_value());
    return why;
  }
  Cameras CamerasNow() const {
    std::string why;
    const auto cameras = input->cameras(&why);
    EXPECT_TRUE(cameras.has_value()) << why;
    return cameras.value_or(Cameras());
  }
  // Of Diagnose(); "": there is none.
  std::string Value(const std::string& key) const {
    const ros::DiagnosticStatus status = input->Diagnose();
    const auto at =
        std::find_if(status.values.begin(), status.values.end(), [&](const auto& value) { return value.key == key; });
    return at == status.values.end() ? "" : at->value;
  }

  FakeParticipant participant;
  std::vector<std::shared_ptr<const Frame>> frames;
  std::vector<ros::Imu> readings;
  absl::Status status;
  std::unique_ptr<Input> input;
};

inline Config PairConfig() {
  Config config;
  config.camera.left = "/left/image_raw";
  config.camera.right = "/right/image_raw";
  return config;
}

}  // namespace glint::ros2::testing

#endif  // GLINT_TESTS_ROS2_INPUT_HELPERS_H_
