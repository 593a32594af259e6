// Settings of stella_vslam and OpenVSLAM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kStereo[] = R"(# a stereo rig
Camera:
  name: "rig"
  setup: "stereo"
  model: "perspective"

  fx: 437.5
  fy: 437.5
  cx: 367.5
  cy: 252.25

  k1: 0.0
  k2: 0.0
  p1: 0.0
  p2: 0.0
  k3: 0.0

  fps: 20.0
  cols: 752
  rows: 480
  focal_x_baseline: 48.125
  depth_threshold: 40
  color_order: "Gray"

Feature:
  name: "default"
)";

TEST(Stella, RectifiedPair) {
  // OpenVSLAM's keys are flat.
  std::string flat;
  for (const absl::string_view line :
       {"name: \"rig\"", "setup: \"stereo\"", "model: \"perspective\"", "fx: 437.5", "fy: 437.5", "cx: 367.5",
        "cy: 252.25", "k1: 0", "k2: 0", "p1: 0", "p2: 0", "cols: 752", "rows: 480", "focal_x_baseline: 48.125"}) {
    absl::StrAppend(&flat, "Camera.", line, "\n");
  }
  for (const std::string& text : {std::string(kStereo), flat}) {
    const auto read = Read(text);
    EXPECT_EQ(read.format, "stella");
    EXPECT_THAT(read.warnings, IsEmpty());
    EXPECT_TRUE(read.rectified);
    ASSERT_THAT(read.rig.cameras, SizeIs(2));
    EXPECT_EQ(read.rig.cameras[1].camera.image, (Shape{752, 480}));
    ExpectSame(SecondInFirst(read.rig), {Eigen::Matrix3d::Identity(), {0.11, 0, 0}});
  }
}

std::string Rectifier(const std::string& model, const std::string& d) {
  const auto side = [&](const char* name, double f, const RigidTransform& turn) {
    return absl::StrCat("  K_", name, ": [", f, ", 0.0, 254.9, 0.0, 190.9, 256.9, 0.0, 0.0, 1.0]\n  D_", name, ": [", d,
                        "]\n  R_", name, ": [", Numbers(ByRows(turn.rotation)), "]\n");
  };
  return absl::StrCat("StereoRectifier:\n  model: \"", model, "\"\n",
                      side("left", 190.5, Turned(0.003, -0.004, 0.005, {0, 0, 0})),
                      side("right", 191.5, Turned(-0.006, 0.02, 0.001, {0, 0, 0})));
}

TEST(Stella, RawPairOfTheRectifier) {
  const auto read = Read(kStereo + Rectifier("fisheye", "0.0034, 0.0007, -0.002, 0.0002"));
  EXPECT_THAT(read.warnings, IsEmpty());
  EXPECT_FALSE(read.rectified);
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  const RigCamera& right = read.rig.cameras[1];
  EXPECT_EQ(right.camera.model, CameraModel::kKannalaBrandt);
  EXPECT_EQ(right.camera.fx, 191.5);
  EXPECT_EQ(right.camera.lens[2], -0.002);
  EXPECT_EQ((*right.projection)(0, 3), -48.125);
  // A point of the right camera, turned to both rectified images, lies a baseline apart.
  const Eigen::Vector3d p(0.3, -0.2, 2.5);
  const Eigen::Vector3d in_left = *read.rig.cameras[0].rectified_from_camera * (SecondInFirst(read.rig) * p);
  EXPECT_LE((in_left - *right.rectified_from_camera * p - Eigen::Vector3d(0.11, 0, 0)).norm(), 1e-12);
  const auto brown = Read(kStereo + Rectifier("perspective", "-0.28, 0.07, 0.0002, 0.00002, 0.01"));
  EXPECT_EQ(brown.rig.cameras.at(0).camera.lens[4], 0.01);
}

TEST(Stella, OneCameraAndDepth) {
  EXPECT_THAT(Read(Without(kStereo, "\"stereo\"", "\"monocular\"")).rig.cameras, SizeIs(1));
  EXPECT_THAT(Read(Without(kStereo, "\"stereo\"", "\"RGBD\"")).rig.cameras, SizeIs(1));
  const auto fisheye = Read(absl::StrReplaceAll(
      kStereo, {{"\"stereo\"", "\"monocular\""}, {"perspective", "fisheye"}, {"p1: 0.0", "k3: -0.002"}}));
  EXPECT_EQ(fisheye.rig.cameras.at(0).camera.model, CameraModel::kKannalaBrandt);
  EXPECT_EQ(fisheye.rig.cameras.at(0).camera.lens[2], -0.002);
}

TEST(Stella, WhatIsLeftOutAndWhatIsWrong) {
  EXPECT_THAT(Read(Without(kStereo, "k1: 0.0", "k1: -0.28")).warnings, ElementsAre(HasSubstr("Camera/k1: the lens's")));
  EXPECT_THAT(ErrorOf(Without(kStereo, "perspective", "equirectangular")),
              HasSubstr("file: Camera/model: 'equirectangular' is not one of perspective, fisheye"));
  EXPECT_THAT(ErrorOf(Without(kStereo, "\"stereo\"", "\"triple\"")), HasSubstr("Camera/setup: 'triple'"));
  EXPECT_THAT(ErrorOf(Without(kStereo, "  focal_x_baseline: 48.125\n")),
              HasSubstr("file: Camera/focal_x_baseline: is missing"));
  EXPECT_THAT(ErrorOf(Without(kStereo, "fy: 437.5", "fy: 0")), HasSubstr("the focal length 0"));
  EXPECT_THAT(ErrorOf(kStereo + Without(Rectifier("fisheye", "0, 0, 0, 0"), "D_right", "D_r")),
              HasSubstr("file: StereoRectifier/D_right: is missing"));
}

}  // namespace
}  // namespace glint::testing
