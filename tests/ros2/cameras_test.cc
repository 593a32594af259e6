// CameraInfo, calibration files and /tf_static to the cameras of streams: the same as glint localize makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/base/flags.h"
#include "client/cli/source/calibration.h"
#include "ros/camera_info.h"
#include "tests/ros2/input_helpers.h"

namespace glint::ros2 {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Grey;
using ::testing::HasSubstr;
using testing::HeaderAt;
using testing::ImageOf;
using testing::InfoOf;
using testing::Opened;
using testing::PairConfig;

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "ros2-cameras-" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// Of glint localize, for images of 640x480.
client::PairCameras OfCommandLine(const std::vector<std::string>& arguments, bool depth = false) {
  cli::Flags flags;
  cli::CalibrationFlags calibration;
  calibration.AddTo(&flags, true);
  EXPECT_TRUE(flags.Parse(arguments).ok());
  const auto cameras = depth ? calibration.ReadWithDepth({640, 480}) : calibration.Read({640, 480});
  EXPECT_TRUE(cameras.ok()) << cameras.status();
  return cameras.value_or(client::PairCameras());
}

void SendPair(Opened* opened, const std::string& left = "/left/image_raw",
              const std::string& right = "/right/image_raw") {
  opened->participant.Send(left, Grey(640, 480, 1).message);
  opened->participant.Send(right, Grey(640, 480, 1).message);
}

bool AreSame(const Camera& a, const Camera& b) {
  return a.model == b.model && a.image == b.image && a.fx == b.fx && a.fy == b.fy && a.cx == b.cx && a.cy == b.cy &&
         a.lens == b.lens;
}

TEST(Cameras, OfRawPairsAreThoseOfTheCommandLine) {
  Opened opened(PairConfig());
  EXPECT_THAT(opened.WhyNoCameras(), HasSubstr("no image has come on /left/image_raw"));
  SendPair(&opened);
  EXPECT_THAT(opened.WhyNoCameras(), HasSubstr("no CameraInfo has come on /left/camera_info"));
  opened.participant.Send("/left/camera_info", InfoOf(false));
  EXPECT_THAT(opened.WhyNoCameras(), HasSubstr("no CameraInfo has come on /right/camera_info"));
  opened.participant.Send("/right/camera_info", InfoOf(true));
  const Cameras cameras = opened.CamerasNow();
  ASSERT_TRUE(cameras.rig.has_value());
  EXPECT_FALSE(cameras.camera.has_value());
  EXPECT_EQ(cameras.version, 1);
  EXPECT_THAT(cameras.source, HasSubstr("/left/camera_info, /right/camera_info; camera: "));

  const std::string left = Write("left.yaml", ros::CalibrationYaml(InfoOf(false), "left").value());
  const std::string right = Write("right.yaml", ros::CalibrationYaml(InfoOf(true), "right").value());
  const client::PairCameras expected = OfCommandLine({"--calibration", absl::StrCat(left, ",", right)});
  ASSERT_TRUE(expected.rig.has_value());
  EXPECT_TRUE(AreSame(cameras.rig->left, expected.rig->left));
  EXPECT_TRUE(AreSame(cameras.rig->right, expected.rig->right));
  EXPECT_EQ(cameras.rig->right_from_left.translation, expected.rig->right_from_left.translation);
  EXPECT_EQ(cameras.rig->right_from_left.rotation, expected.rig->right_from_left.rotation);
  // By the numbers themselves: 48 px / 400 px to the left, and the lens.
  EXPECT_TRUE(cameras.rig->right_from_left.translation.isApprox(Eigen::Vector3d(-0.12, 0, 0), 1e-12));
  EXPECT_EQ(cameras.rig->left.model, CameraModel::kRadialTangential);
  EXPECT_EQ(cameras.rig->left.fy, 457.296);
  EXPECT_EQ(cameras.rig->left.lens[2], 0.0002);

  // The same from files, without CameraInfo.
  Config config = PairConfig();
  config.camera.calibration_files = {left, right};
  Opened of_files(config);
  EXPECT_EQ(of_files.participant.topics.count("/left/camera_info"), 0u);
  SendPair(&of_files);
  EXPECT_TRUE(AreSame(of_files.CamerasNow().rig->right, expected.rig->right));
}

TEST(Cameras, OfRectifiedPairsAreTheProjections) {
  Config config = PairConfig();
  config.camera.left = "/left/image_rect";
  config.camera.right = "/right/image_rect";
  Opened by_name(config);
  config = PairConfig();
  config.camera.rectified = Rectified::kYes;
  Opened by_key(config);
  SendPair(&by_name, "/left/image_rect", "/right/image_rect");
  SendPair(&by_key);
  for (Opened* opened : {&by_name, &by_key}) {
    opened->participant.Send("/left/camera_info", InfoOf(false));
    opened->participant.Send("/right/camera_info", InfoOf(true));
    const Cameras cameras = opened->CamerasNow();
    ASSERT_TRUE(cameras.camera.has_value());
    EXPECT_FALSE(cameras.rig.has_value());
    EXPECT_EQ(cameras.camera->width, 640);
    EXPECT_EQ(cameras.camera->height, 480);
    EXPECT_THAT(cameras.camera->left_projection, ElementsAre(400, 0, 320.5, 0, 0, 400, 241.25, 0, 0, 0, 1, 0));
    EXPECT_THAT(cameras.camera->right_projection, ElementsAre(400, 0, 320.5, -48, 0, 400, 241.25, 0, 0, 0, 1, 0));
  }
}

TEST(Cameras, WhatDoesNotFitIsTold) {
  const auto why = [](void (*change)(ros::CameraInfo*)) {
    Opened opened(PairConfig());
    SendPair(&opened);
    ros::CameraInfo left = InfoOf(false);
    change(&left);
    opened.participant.Send("/left/camera_info", left);
    opened.participant.Send("/right/camera_info", InfoOf(true));
    const std::string why = opened.WhyNoCameras();
    const ros::DiagnosticStatus status = opened.input->Diagnose();
    EXPECT_EQ(status.level, ros::DiagnosticStatus::kError);
    EXPECT_EQ(status.message, why);
    // Until there are cameras, a better one is taken.
    opened.participant.Send("/left/camera_info", InfoOf(false));
    EXPECT_TRUE(opened.CamerasNow().rig.has_value());
    return why;
  };
  EXPECT_THAT(why([](ros::CameraInfo* info) { info->width = 320; }),
              HasSubstr("/left/camera_info: is of images of 320x480, and those of /left/image_raw have 640x480"));
  EXPECT_THAT(why([](ros::CameraInfo* info) {
                info->k = {};
                info->p = {};
              }),
              HasSubstr("/left/camera_info: is of a camera that is not calibrated"));
  EXPECT_THAT(why([](ros::CameraInfo* info) { info->binning_x = 2; }),
              AllOf(HasSubstr("/left/camera_info: "), HasSubstr("binning_x: 2")));
  EXPECT_THAT(why([](ros::CameraInfo* info) { info->d.assign(5, std::nan("")); }), HasSubstr("/left/camera_info: "));
  EXPECT_THAT(why([](ros::CameraInfo* info) { info->distortion_model = "magic"; }), HasSubstr("magic"));
}

TEST(Cameras, TheFirstCalibrationStays) {
  Opened opened(PairConfig());
  SendPair(&opened);
  opened.participant.Send("/left/camera_info", InfoOf(false));
  opened.participant.Send("/right/camera_info", InfoOf(true));
  EXPECT_EQ(opened.CamerasNow().rig->left.fx, 458.654);
  ros::CameraInfo other = InfoOf(false);
  other.header = HeaderAt(99);
  opened.participant.Send("/left/camera_info", other);
  EXPECT_EQ(opened.Value("/left/camera_info unreadable"), "");
  other.k[0] = 500;
  opened.participant.Send("/left/camera_info", other);
  EXPECT_EQ(opened.CamerasNow().rig->left.fx, 458.654);
  EXPECT_EQ(opened.CamerasNow().version, 1);
  EXPECT_THAT(opened.Value("/left/camera_info last unreadable"), HasSubstr("calibration has changed"));
}

Config DepthConfig() {
  Config config;
  config.camera.left = "/color/image_raw";
  config.camera.depth = "/aligned/image_raw";
  return config;
}

TEST(Cameras, WithDepthsAreThoseOfTheCommandLine) {
  Opened opened(DepthConfig());
  opened.participant.Send("/color/image_raw", Grey(640, 480, 1).message);
  opened.participant.Send("/color/camera_info", InfoOf(false));
  Cameras cameras = opened.CamerasNow();
  ASSERT_TRUE(cameras.raw_camera.has_value());
  const std::string path = Write("color.yaml", ros::CalibrationYaml(InfoOf(false), "color").value());
  const client::PairCameras expected = OfCommandLine({"--calibration", path}, /*depth=*/true);
  EXPECT_TRUE(AreSame(cameras.raw_camera->camera, expected.raw_camera->camera));
  EXPECT_EQ(cameras.raw_camera->camera.cx, 317.215);
  EXPECT_EQ(cameras.raw_camera->baseline, 0.08);
  EXPECT_EQ(cameras.depth->unit, 0.001);
  // Depths turn out to be another camera's.
  opened.participant.Send("/aligned/camera_info", InfoOf(false));
  EXPECT_EQ(opened.CamerasNow().version, 1);
  ros::CameraInfo other = InfoOf(false);
  other.k[2] = 300;
  Opened unaligned(DepthConfig());
  unaligned.participant.Send("/color/image_raw", Grey(640, 480, 1).message);
  unaligned.participant.Send("/color/camera_info", InfoOf(false));
  EXPECT_TRUE(unaligned.CamerasNow().raw_camera.has_value());
  unaligned.participant.Send("/aligned/camera_info", other);
  EXPECT_THAT(unaligned.WhyNoCameras(),
              HasSubstr("the pixels of /aligned/image_raw are not those of /color/image_raw"));
  EXPECT_EQ(unaligned.input->Diagnose().level, ros::DiagnosticStatus::kError);

  Config config = DepthConfig();
  config.camera.left = "/color/image_rect";
  Opened rectified(config);
  ros::CameraInfo info = InfoOf(false);
  rectified.participant.Send("/color/image_rect", Grey(640, 480, 1).message);
  rectified.participant.Send("/color/camera_info", info);
  cameras = rectified.CamerasNow();
  ASSERT_TRUE(cameras.camera.has_value());
  EXPECT_EQ(cameras.camera->left_projection[0], 400);
  EXPECT_EQ(cameras.camera->baseline, 0.08);
}

TEST(Cameras, OneCameraHasNone) {
  Config config;
  config.camera.left = "/cam/image_raw";
  Opened opened(config);
  EXPECT_EQ(opened.participant.topics.count("/cam/camera_info"), 0u);
  const Cameras cameras = opened.CamerasNow();
  EXPECT_FALSE(cameras.camera.has_value() || cameras.rig.has_value() || cameras.raw_camera.has_value());
}

// The camera looks along x of the base, 1 m ahead of it; the sensor's axes are the base's.
void SendTransforms(Opened* opened) {
  ros::TFMessage camera, imu;
  camera.transforms.push_back({HeaderAt(0, "base_link"), "mount", {{1, 0, 0}, {0, 0, 0, 1}}});
  camera.transforms.push_back({HeaderAt(0, "mount"), "cam", {{0, 0, 0}, {-0.5, 0.5, -0.5, 0.5}}});
  imu.transforms.push_back({HeaderAt(0, "base_link"), "imu_link", {{0.1, 0.2, 0.3}, {0, 0, 0, 1}}});
  opened->participant.Send("/tf_static", camera);
  opened->participant.Send("/tf_static", imu);
}

ros::Imu ReadingOf(const std::string& frame) {
  ros::Imu imu;
  imu.header = HeaderAt(1, frame);
  imu.linear_acceleration.z = 9.81;
  return imu;
}

TEST(Cameras, WhereTheSensorIsTheTransformsSay) {
  Config config = PairConfig();
  config.imu.topic = "/imu";
  Opened opened(config);
  SendPair(&opened);
  opened.participant.Send("/left/camera_info", InfoOf(false));
  opened.participant.Send("/right/camera_info", InfoOf(true));
  EXPECT_THAT(opened.WhyNoCameras(), HasSubstr("nothing has come on /imu"));
  opened.participant.Send("/imu", ReadingOf("imu_link"));
  EXPECT_THAT(opened.WhyNoCameras(),
              AllOf(HasSubstr("no transforms on /tf_static lead from \"imu_link\", the frame of /imu, to \"cam\""),
                    HasSubstr("imu.camera_from_imu can say it")));
  SendTransforms(&opened);
  const Cameras cameras = opened.CamerasNow();
  ASSERT_TRUE(cameras.camera_from_imu.has_value());
  Eigen::Matrix3d turned;
  turned << 0, -1, 0, 0, 0, -1, 1, 0, 0;
  EXPECT_TRUE(cameras.camera_from_imu->rotation.isApprox(turned, 1e-12));
  EXPECT_TRUE(cameras.camera_from_imu->translation.isApprox(Eigen::Vector3d(-0.2, -0.3, -0.9), 1e-12));
  ASSERT_TRUE(cameras.imu.has_value());
  EXPECT_EQ(cameras.imu->camera_from_imu.translation, cameras.camera_from_imu->translation);
  const auto base_from_camera = opened.input->Transform("base_link", "cam");
  ASSERT_TRUE(base_from_camera.has_value());
  EXPECT_TRUE(base_from_camera->translation.isApprox(Eigen::Vector3d(1, 0, 0), 1e-12));
  EXPECT_TRUE((base_from_camera->rotation * Eigen::Vector3d(0, 0, 1)).isApprox(Eigen::Vector3d(1, 0, 0), 1e-12));
  EXPECT_FALSE(opened.input->Transform("base_link", "elsewhere").has_value());

  config.imu.camera_from_imu.emplace();  // then it is not asked for
  Opened told(config);
  SendPair(&told);
  told.participant.Send("/left/camera_info", InfoOf(false));
  told.participant.Send("/right/camera_info", InfoOf(true));
  EXPECT_FALSE(told.CamerasNow().camera_from_imu.has_value());
}

TEST(Cameras, FilesSayWhereTheSensorIsAndItsNoise) {
  const std::string chain = Write("chain.yaml",
                                  "cam0:\n  T_cam_imu:\n  - [0, -1, 0, 0.1]\n  - [0, 0, -1, 0.2]\n  - [1, 0, 0, 0.3]\n"
                                  "  - [0, 0, 0, 1]\n  camera_model: pinhole\n  distortion_coeffs: [0, 0, 0, 0]\n"
                                  "  distortion_model: radtan\n  intrinsics: [400, 400, 320, 240]\n"
                                  "  resolution: [640, 480]\n  timeshift_cam_imu: 0.002\n"
                                  "cam1:\n  T_cn_cnm1:\n  - [1, 0, 0, -0.12]\n  - [0, 1, 0, 0]\n  - [0, 0, 1, 0]\n"
                                  "  - [0, 0, 0, 1]\n  camera_model: pinhole\n  distortion_coeffs: [0, 0, 0, 0]\n"
                                  "  distortion_model: radtan\n  intrinsics: [400, 400, 320, 240]\n"
                                  "  resolution: [640, 480]\n");
  Config config = PairConfig();
  config.imu.topic = "/imu";
  config.camera.calibration_files = {chain};
  Opened opened(config);
  SendPair(&opened);
  SendTransforms(&opened);  // less than what the file says
  const Cameras cameras = opened.CamerasNow();
  ASSERT_TRUE(cameras.camera_from_imu.has_value());
  EXPECT_TRUE(cameras.camera_from_imu->translation.isApprox(Eigen::Vector3d(0.1, 0.2, 0.3), 1e-12));
  EXPECT_EQ(cameras.imu->imu_time_minus_camera_time_ns, 2'000'000);
  EXPECT_THAT(cameras.source, HasSubstr(chain));
}

TEST(Cameras, TransformsThatCannotBeAreCounted) {
  Opened opened(PairConfig());
  ros::TFMessage message;
  message.transforms.push_back({HeaderAt(0, "a"), "b", {{1, 0, 0}, {0, 0, 0, 0.5}}});
  message.transforms.push_back({HeaderAt(0, "/a"), "c", {{1, 2, 3}, {0, 0, 0, 1}}});
  opened.participant.Send("/tf_static", message);
  EXPECT_THAT(opened.Value("/tf_static last unreadable"),
              HasSubstr("tf2_msgs/msg/TFMessage.transforms[0].transform.rotation: its length 0.5 is not 1"));
  ASSERT_TRUE(opened.input->Transform("a", "c").has_value());  // the others are taken
  EXPECT_FALSE(opened.input->Transform("a", "b").has_value());
}

}  // namespace
}  // namespace glint::ros2
