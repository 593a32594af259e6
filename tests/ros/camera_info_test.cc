// CameraInfo by way of the calibration file that ROS has for it.
#include "ros/camera_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "calibration/calibration.h"

namespace glint::ros {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

CameraInfo Right() {
  CameraInfo info;
  info.width = 752;
  info.height = 480;
  info.distortion_model = "plumb_bob";
  info.d = {-0.28, 0.07, 0.0002, 1.7e-05, 0.1};
  info.k = {458.654, 0, 367.215, 0, 457.296, 248.375, 0, 0, 1};
  info.r = {std::cos(0.1), -std::sin(0.1), 0, std::sin(0.1), std::cos(0.1), 0, 0, 0, 1};
  info.p = {435, 0, 367, -52.2, 0, 435, 252, 0, 0, 0, 1, 0};
  return info;
}

absl::StatusOr<calibration::Calibration> Read(const CameraInfo& info, absl::string_view name = "right") {
  const auto text = CalibrationYaml(info, name);
  EXPECT_TRUE(text.ok()) << text.status();
  return calibration::ParseCalibration("topic", *text);
}

TEST(CameraInfo, AllOfItsNumbersArrive) {
  const CameraInfo info = Right();
  const auto read = Read(info, "stereo \"right\"\\\n");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->format, "ros");
  EXPECT_THAT(read->warnings, IsEmpty());
  ASSERT_THAT(read->rig.cameras, SizeIs(1));
  const RigCamera& camera = read->rig.cameras[0];
  EXPECT_EQ(camera.name, "stereo \"right\"\\\\x0a");
  EXPECT_EQ(camera.camera.image, (Shape{752, 480}));
  EXPECT_EQ(camera.camera.fx, 458.654);
  EXPECT_EQ(camera.camera.fy, 457.296);
  EXPECT_EQ(camera.camera.cx, 367.215);
  EXPECT_EQ(camera.camera.cy, 248.375);
  EXPECT_EQ(camera.camera.model, CameraModel::kRadialTangential);
  for (size_t i = 0; i < info.d.size(); ++i) EXPECT_EQ(camera.camera.lens[i], info.d[i]);
  for (int i = 0; i < 9; ++i) EXPECT_EQ((*camera.rectified_from_camera)(i / 3, i % 3), info.r[i]);
  for (int i = 0; i < 12; ++i) EXPECT_EQ((*camera.projection)(i / 4, i % 4), info.p[i]);
}

TEST(CameraInfo, OtherLenses) {
  CameraInfo info = Right();
  info.distortion_model = "equidistant";
  info.d = {0.1, 0.2, 0.3, 0.4};
  EXPECT_EQ(Read(info)->rig.cameras[0].camera.model, CameraModel::kKannalaBrandt);
  info.distortion_model = "rational_polynomial";
  info.d = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};
  EXPECT_EQ(Read(info)->rig.cameras[0].camera.model, CameraModel::kRational);
}

// As drivers publish images that they have rectified.
TEST(CameraInfo, WithoutALens) {
  CameraInfo info = Right();
  info.d.clear();
  for (const char* model : {"", "plumb_bob"}) {
    info.distortion_model = model;
    const auto read = Read(info);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->rig.cameras[0].camera.model, CameraModel::kPinhole);
  }
}

TEST(CameraInfo, WhatIsNoCalibrationIsForTheReaderToRefuse) {
  EXPECT_THAT(std::string(Read(CameraInfo()).status().message()), HasSubstr("not calibrated"));
  CameraInfo info = Right();
  info.k[0] = std::nan("");
  EXPECT_THAT(std::string(Read(info).status().message()), HasSubstr("topic: camera_matrix"));
  info = Right();
  info.distortion_model = "\"cube\": [\n";
  EXPECT_THAT(std::string(Read(info).status().message()), HasSubstr("topic: distortion_model"));
}

TEST(CameraInfo, BinnedAndCroppedImagesAreRefused) {
  CameraInfo info = Right();
  info.binning_x = info.binning_y = 1;
  info.roi.width = 752;
  info.roi.height = 480;
  EXPECT_TRUE(CalibrationYaml(info, "").ok());
  const auto error = [](uint32_t RegionOfInterest::*field, uint32_t value) {
    CameraInfo cropped = Right();
    cropped.roi.*field = value;
    return std::string(CalibrationYaml(cropped, "").status().message());
  };
  EXPECT_EQ(
      error(&RegionOfInterest::x_offset, 8),
      "sensor_msgs/msg/CameraInfo.roi.x_offset: 8: the images are not those of the calibration, of which binned and "
      "cropped ones are not taken");
  EXPECT_THAT(error(&RegionOfInterest::y_offset, 8), HasSubstr(".roi.y_offset: 8"));
  EXPECT_THAT(error(&RegionOfInterest::width, 751), HasSubstr(".roi.width: 751"));
  EXPECT_THAT(error(&RegionOfInterest::height, 479), HasSubstr(".roi.height: 479"));
  info.binning_y = 2;
  EXPECT_THAT(std::string(CalibrationYaml(info, "").status().message()), HasSubstr(".binning_y: 2"));
}

}  // namespace
}  // namespace glint::ros
