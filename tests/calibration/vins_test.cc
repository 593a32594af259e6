// Settings of VINS-Mono and VINS-Fusion, and the camera files beside them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/calibration/turned_rig.h"
#include "tests/calibration/written_files.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPinhole[] = R"(%YAML:1.0
---
model_type: PINHOLE
camera_name: camera
image_width: 752
image_height: 480
distortion_parameters:
   k1: -0.2917
   k2: 8.228e-02
   p1: 5.333e-05
   p2: -1.578e-04
projection_parameters:
   fx: 4.616e+02
   fy: 4.603e+02
   cx: 3.630e+02
   cy: 2.481e+02
)";
constexpr char kMei[] = R"(%YAML:1.0
---
model_type: MEI
camera_name: camera
image_width: 1280
image_height: 1024
mirror_parameters:
   xi: 1.89
distortion_parameters: {k1: -0.2, k2: 1.5, p1: 0.0008, p2: 0.0003}
projection_parameters:
   gamma1: 2175.1
   gamma2: 2176.2
   u0: 619.1
   v0: 508.9
)";

std::string VinsPose(const std::string& name, const RigidTransform& pose) {
  Eigen::Matrix<double, 4, 4, Eigen::RowMajor> m = Eigen::Matrix4d::Identity();
  m.topLeftCorner<3, 3>() = pose.rotation;
  m.topRightCorner<3, 1>() = pose.translation;
  return absl::StrCat(name, ": !!opencv-matrix\n   rows: 4\n   cols: 4\n   dt: d\n   data: [",
                      Numbers({m.data(), m.data() + 16}), "]\n");
}
std::string VinsSettings() {
  return absl::StrCat(
      "%YAML:1.0\n\nimu: 1\nnum_of_cam: 2\nimu_topic: \"/imu0\"\ncam0_calib: \"left.yaml\"\n",
      "cam1_calib: \"right.yaml\"\nimage_width: 752\nimage_height: 480\nestimate_extrinsic: 0\n",
      VinsPose("body_T_cam0", BodyFromLeft()), VinsPose("body_T_cam1", BodyFromLeft() * LeftFromRight()),
      "acc_n: 0.1\ngyr_n: 0.01\nacc_w: 0.001\ngyr_w: 0.0001\ng_norm: 9.81007\nestimate_td: 0\n", "td: -0.0125\n");
}

TEST(Vins, SettingsAndTwoCameras) {
  const std::vector<calibration::NamedText> orders[] = {
      {{"s.yaml", VinsSettings()}, {"left.yaml", kPinhole}, {"right.yaml", kMei}},
      {{"right.yaml", kMei}, {"left.yaml", kPinhole}, {"s.yaml", VinsSettings()}},
      {{"s.yaml", VinsSettings()}, {"a.yaml", kPinhole}, {"b.yaml", kMei}}};
  for (const auto& files : orders) {
    const auto read = ReadTogether(files);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->format, "vins");
    EXPECT_THAT(read->warnings, IsEmpty());
    ASSERT_THAT(read->rig.cameras, SizeIs(2));
    EXPECT_EQ(read->rig.cameras[0].camera.fx, 461.6);
    EXPECT_EQ(read->rig.cameras[1].camera.fx, 2175.1);
    ExpectSame(SecondInFirst(read->rig), LeftFromRight());
    ASSERT_TRUE(read->rig.imu.has_value());
    ExpectSame(read->rig.imu->rig_from_imu, BodyFromLeft().Inverse());
    EXPECT_EQ(read->rig.imu->imu_time_minus_camera_time, -0.0125);
    EXPECT_EQ(read->rig.imu->accelerometer_noise_density, 0);
  }
}

TEST(Vins, OneFileOfVinsMono) {
  const RigidTransform pose = BodyFromLeft();
  const auto read = Read(absl::StrCat(
      kPinhole, "extrinsicRotation: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [",
      Numbers(ByRows(pose.rotation)), "]\nextrinsicTranslation: !!opencv-matrix\n   rows: 3\n   cols: 1\n   dt: d\n",
      "   data: [", Numbers(Of(pose.translation)), "]\ntd: 0.003\n"));
  ASSERT_THAT(read.rig.cameras, SizeIs(1));
  ASSERT_TRUE(read.rig.imu.has_value());
  ExpectSame(read.rig.imu->rig_from_imu, pose.Inverse());
  EXPECT_EQ(read.rig.imu->imu_time_minus_camera_time, 0.003);
}

TEST(Vins, Models) {
  const Camera pinhole = Read(kPinhole).rig.cameras.at(0).camera;
  EXPECT_EQ(pinhole.model, CameraModel::kRadialTangential);
  EXPECT_EQ(pinhole.image, (Shape{752, 480}));
  EXPECT_EQ(pinhole.lens[3], -1.578e-4);
  const Camera mei = Read(kMei).rig.cameras.at(0).camera;
  EXPECT_EQ(mei.model, CameraModel::kOmni);
  EXPECT_EQ(mei.lens[0], 1.89);
  EXPECT_EQ(mei.lens[4], 0.0003);
  EXPECT_EQ(mei.fy, 2176.2);
  const Camera fisheye = Read(
                             "%YAML:1.0\nmodel_type: KANNALA_BRANDT\nimage_width: 512\nimage_height: 512\n"
                             "projection_parameters:\n   k2: 0.0034\n   k3: 0.0007\n   k4: -0.002\n   k5: 0.0002\n"
                             "   mu: 190.9\n   mv: 190.8\n   u0: 254.9\n   v0: 256.8\n")
                             .rig.cameras.at(0)
                             .camera;
  EXPECT_EQ(fisheye.model, CameraModel::kKannalaBrandt);
  EXPECT_EQ(fisheye.lens[2], -0.002);
  EXPECT_EQ(fisheye.fy, 190.8);
}

TEST(Vins, ErrorsNameTheField) {
  EXPECT_THAT(ErrorOf(VinsSettings()), HasSubstr("file: cam0_calib: the file 'left.yaml' has the camera"));
  const auto alone = ReadTogether({{"s.yaml", VinsSettings()}, {"left.yaml", kPinhole}});
  EXPECT_THAT(std::string(alone.status().message()), HasSubstr("cam1_calib: the file 'right.yaml' has the camera"));
  const auto two = ReadTogether({{"left.yaml", kPinhole}, {"right.yaml", kMei}});
  EXPECT_THAT(std::string(two.status().message()), HasSubstr("two cameras need the settings"));
  const auto no_pose = ReadTogether(
      {{"s.yaml", Without(VinsSettings(), "body_T_cam1", "T_cam1")}, {"left.yaml", kPinhole}, {"right.yaml", kMei}});
  EXPECT_THAT(std::string(no_pose.status().message()), HasSubstr("s.yaml: body_T_cam1: is missing"));
  EXPECT_THAT(ErrorOf("%YAML:1.0\n---\nmodel_type: SCARAMUZZA\npoly_parameters: {p0: -200.5, p1: 0}\n"),
              HasSubstr("file: model_type: 'SCARAMUZZA'"));
  EXPECT_THAT(ErrorOf(Without(kPinhole, "   cy: 2.481e+02\n")),
              HasSubstr("file: projection_parameters/cy: is missing"));
  EXPECT_THAT(ErrorOf(Without(kMei, "xi: 1.89", "chi: 1.89")), HasSubstr("file: mirror_parameters/xi: is missing"));
}

}  // namespace
}  // namespace glint::testing
