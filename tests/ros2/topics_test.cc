// What is subscribed to, and what diagnosis says of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "tests/ros2/input_helpers.h"

namespace glint::ros2 {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Grey;
using ::testing::HasSubstr;
using testing::Opened;
using testing::PairConfig;

TEST(InputTopics, WhatCannotBeMeantIsRefusedAtOnce) {
  const auto refusal = [](void (*change)(CameraConfig*)) {
    Config config = PairConfig();
    change(&config.camera);
    const Opened opened(config);
    return std::string(opened.status.message());
  };
  EXPECT_THAT(refusal([](CameraConfig* c) { c->right = c->left; }), HasSubstr("is camera.left, too"));
  EXPECT_THAT(refusal([](CameraConfig* c) {
                c->right.clear();
                c->depth = "/d/image_rect/compressedDepth";
              }),
              AllOf(HasSubstr("camera.depth: "), HasSubstr("is compressedDepth, which is not read")));
  EXPECT_THAT(refusal([](CameraConfig* c) { c->left = "/left/image_raw/compressed"; }),
              HasSubstr("camera.left: \"/left/image_raw/compressed\" is compressed, and camera.transport is raw"));
  EXPECT_THAT(refusal([](CameraConfig* c) {
                c->left = "/cam/left";
                c->right = "/cam/right";
              }),
              HasSubstr("camera.right_info: \"/cam/camera_info\" is that of the left camera, too"));
  EXPECT_THAT(refusal([](CameraConfig* c) { c->left = "/left/image_rect"; }),
              HasSubstr("camera.rectified: of /left/image_rect and /right/image_raw one is rectified"));
  EXPECT_THAT(refusal([](CameraConfig* c) { c->calibration_files = {"/nowhere/a.yaml"}; }),
              HasSubstr("camera.calibration_files: /nowhere/a.yaml is not there"));
  EXPECT_EQ(refusal([](CameraConfig* c) { c->right_info = "/other/info"; }), "");
}

TEST(InputTopics, SubscribesAsTheConfigurationSays) {
  Config config = PairConfig();
  config.camera.right_info = "/right/info";
  config.imu.topic = "/imu";
  config.qos.of_topic["/left/image_raw"] = {true, false, 3};
  Opened opened(config);
  std::vector<std::string> names;
  for (const auto& [name, topic] : opened.participant.topics) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("/imu", "/left/camera_info", "/left/image_raw", "/right/image_raw", "/right/info",
                                 "/tf_static"));
  EXPECT_TRUE(opened.participant.topics["/left/image_raw"].qos.reliable);
  EXPECT_EQ(opened.participant.topics["/left/image_raw"].qos.depth, 3);
  EXPECT_FALSE(opened.participant.topics["/right/image_raw"].qos.reliable);
  config.camera.transport = Transport::kCompressed;
  config.qos.of_topic["/right/image_raw/compressed"] = {true, false, 2};
  Opened compressed(config);
  EXPECT_EQ(compressed.participant.topics["/left/image_raw/compressed"].qos.depth, 3);
  EXPECT_EQ(compressed.participant.topics["/right/image_raw/compressed"].qos.depth, 2);
  EXPECT_TRUE(opened.participant.topics["/tf_static"].qos.transient_local);
  EXPECT_EQ(opened.participant.topics["/left/image_raw"].type.hash,
            "RIHS01_d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47");
}

TEST(InputTopics, DiagnosisSaysWhatIsMissing) {
  Opened opened(PairConfig());
  opened.participant.topics["/right/image_raw"].counts.matched = 0;
  ros::DiagnosticStatus status = opened.input->Diagnose();
  EXPECT_EQ(status.level, ros::DiagnosticStatus::kWarn);
  EXPECT_EQ(status.name, "glint: input");
  for (int64_t i = 0; i <= 90; ++i) opened.participant.Send("/left/image_raw", Grey(4, 4, 100 * i + 1).message);
  opened.participant.topics["/left/image_raw"].counts.lost = 7;
  EXPECT_EQ(opened.Value("/left/image_raw rate"), "10.0");
  EXPECT_EQ(opened.Value("/left/image_raw messages"), "91");
  EXPECT_EQ(opened.Value("/left/image_raw lost"), "7");
  EXPECT_EQ(opened.Value("/right/image_raw publishers"), "0");
  EXPECT_EQ(opened.Value("left images without a partner"), "83");
  EXPECT_EQ(opened.Value("right images without a partner"), "0");
  EXPECT_THAT(opened.Value("cameras"), HasSubstr("no CameraInfo has come on /left/camera_info"));

  opened.participant.Send("/left/camera_info", testing::InfoOf(false));
  opened.participant.Send("/right/camera_info", testing::InfoOf(true));
  opened.participant.Send("/right/image_raw", Grey(4, 4, 9001).message);
  status = opened.input->Diagnose();
  EXPECT_EQ(status.level, ros::DiagnosticStatus::kError);  // of 640x480
  EXPECT_THAT(status.message, HasSubstr("/left/camera_info: is of images of 640x480, and those of"));
}

TEST(InputTopics, DiagnosisIsOkOnceAllIsThere) {
  Opened opened(PairConfig());
  const int64_t now = absl::GetCurrentTimeNanos() + 3'600'000'000'000;  // so that none is old
  for (int64_t i = 0; i <= 90; ++i) {
    opened.participant.Send("/left/image_raw", Grey(640, 480, 33 * i + 1).message, now);
    opened.participant.Send("/right/image_raw", Grey(640, 480, 33 * i + 1).message, now);
  }
  opened.participant.Send("/left/camera_info", testing::InfoOf(false), 1);  // long ago, which does not matter now
  opened.participant.Send("/right/camera_info", testing::InfoOf(true), 1);
  const ros::DiagnosticStatus ok = opened.input->Diagnose();
  EXPECT_EQ(ok.message, "images come");
  EXPECT_EQ(ok.level, ros::DiagnosticStatus::kOk);
  EXPECT_EQ(opened.Value("pairs"), "91");
  opened.participant.Send("/left/image_raw", Grey(640, 480, 5000).message, 1'000'000'000);
  const ros::DiagnosticStatus old = opened.input->Diagnose();
  EXPECT_EQ(old.level, ros::DiagnosticStatus::kWarn);
  EXPECT_THAT(old.message, HasSubstr("/left/image_raw: no message for "));
}

}  // namespace
}  // namespace glint::ros2
