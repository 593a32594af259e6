// Basalt's calibration.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string BasaltPoseText(const RigidTransform& pose) {
  const Eigen::Quaterniond q(pose.rotation);
  return absl::StrFormat(
      R"({"px": %.17g, "py": %.17g, "pz": %.17g, "qx": %.17g, "qy": %.17g, "qz": %.17g, "qw": %.17g})",
      pose.translation[0], pose.translation[1], pose.translation[2], q.x(), q.y(), q.z(), q.w());
}

std::string BasaltFile(const std::string& type, const std::string& lens) {
  const std::string camera =
      absl::StrCat(R"({"camera_type": ")", type,
                   R"(", "intrinsics": {"fx": 458.654, "fy": 457.296, "cx": 367.215, "cy": 248.375)", lens, "}}");
  return absl::StrCat(
      R"({"value0": {"T_imu_cam": [)", BasaltPoseText(BodyFromLeft()), ", ",
      BasaltPoseText(BodyFromLeft() * LeftFromRight()), R"(], "intrinsics": [)", camera, ", ", camera,
      R"(], "resolution": [[752, 480], [752, 480]], "calib_accel_bias": [1, 2, 3, 4, 5, 6, 7, 8, 9],)",
      R"( "imu_update_rate": 200.0, "accel_noise_std": [0.016, 0.016, 0.016],)",
      R"( "gyro_noise_std": 0.000282, "accel_bias_std": [0.001, 0.001, 0.001], "gyro_bias_std": 0.0001,)",
      R"( "cam_time_offset_ns": -12500000, "vignette": []}})");
}

TEST(Basalt, CamerasInTheInertialSensorsFrame) {
  const auto read = Read(BasaltFile("ds", R"(, "xi": -0.2, "alpha": 0.6)"));
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.format, "basalt");
  ExpectSame(read.rig.cameras[0].rig_from_camera, BodyFromLeft());
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
  ExpectSame(read.rig.cameras[0].camera, RaggedCamera(CameraModel::kDoubleSphere, {-0.2, 0.6}));
  ASSERT_TRUE(read.rig.imu);
  ExpectSame(read.rig.imu->rig_from_imu, {});
  EXPECT_EQ(read.rig.imu->accelerometer_noise_density, 0.016);
  EXPECT_EQ(read.rig.imu->gyroscope_noise_density, 0.000282);  // a scalar, as in older files
  EXPECT_NEAR(read.rig.imu->imu_time_minus_camera_time, -0.0125, 1e-15);
}

TEST(Basalt, ModelsByTheirKeys) {
  const struct {
    const char* type;
    const char* lens;
    Camera camera;
  } cases[] = {
      {"pinhole", "", RaggedCamera(CameraModel::kPinhole, {})},
      {"kb4", R"(, "k1": 0.1, "k2": 0.02, "k3": 0.003, "k4": 0.0004)",
       RaggedCamera(CameraModel::kKannalaBrandt, {0.1, 0.02, 0.003, 0.0004})},
      {"eucm", R"(, "alpha": 0.6, "beta": 1.1)", RaggedCamera(CameraModel::kEucm, {0.6, 1.1})},
      {"ucm", R"(, "alpha": 0.6)", RaggedCamera(CameraModel::kEucm, {0.6, 1})},
      {"pinhole-radtan8", R"(, "k3": 5, "k4": 6, "k5": 7, "k6": 8, "p1": 3, "p2": 4, "k1": 1, "k2": 2, "rpmax": 2.5)",
       RaggedCamera(CameraModel::kRational, {1, 2, 3, 4, 5, 6, 7, 8})},
  };
  for (const auto& [type, lens, camera] : cases) {
    ExpectSame(Read(BasaltFile(type, lens)).rig.cameras[1].camera, camera);
  }
}

TEST(Basalt, ErrorsNameTheField) {
  EXPECT_THAT(ErrorOf(BasaltFile("mei", "")), HasSubstr("camera_type: 'mei' is none of pinhole, kb4, ds"));
  EXPECT_THAT(ErrorOf(BasaltFile("ds", R"(, "xi": -0.2)")), HasSubstr("alpha: is missing"));
  EXPECT_THAT(ErrorOf(Without(BasaltFile("pinhole", ""), R"("qw": )", R"("qw": 3)")),
              HasSubstr("qx qy qz qw have the norm"));
  EXPECT_THAT(ErrorOf(Without(BasaltFile("pinhole", ""), "[752, 480]", "[752, 0]")),
              HasSubstr("752 x 0 is no image size"));
}

TEST(Basalt, WritesWhatItReads) {
  const std::pair<CameraModel, std::vector<double>> models[] = {
      {CameraModel::kPinhole, {}},
      {CameraModel::kRational, {-0.28, 0.07, 2e-4, 1e-5, 0.3, 0.1, 0.01, 0.001}},
      {CameraModel::kKannalaBrandt, {0.01, -0.02, 0.003, 0.0004}},
      {CameraModel::kDoubleSphere, {-0.2, 0.6}},
      {CameraModel::kEucm, {0.6, 1.1}},
      {CameraModel::kFov, {0.92}}};
  for (const auto& [model, lens] : models) {
    const auto rig = TurnedRig(model, lens);
    const auto written = FormatOf("basalt").write(rig);
    ASSERT_TRUE(written.ok()) << written.status();
    const auto again = Read((*written)[0].text);
    ExpectSame(again.rig.cameras[1].camera, rig.rig.cameras[1].camera);
    ExpectSame(SecondInFirst(again.rig), SecondInFirst(rig.rig));
    ExpectSame(again.rig.imu->rig_from_imu.Inverse() * again.rig.cameras[0].rig_from_camera,
               rig.rig.imu->rig_from_imu.Inverse() * rig.rig.cameras[0].rig_from_camera);
    EXPECT_EQ(again.rig.imu->gyroscope_random_walk, rig.rig.imu->gyroscope_random_walk);
    EXPECT_EQ(again.rig.imu->accelerometer_random_walk, rig.rig.imu->accelerometer_random_walk);
    EXPECT_NEAR(again.rig.imu->imu_time_minus_camera_time, rig.rig.imu->imu_time_minus_camera_time, 1e-9);
  }
  // A rig without a sensor stays one.
  calibration::Calibration cameras = TurnedRig(CameraModel::kPinhole, {});
  cameras.rig.imu.reset();
  for (RigCamera& camera : cameras.rig.cameras)
    camera.rig_from_camera = BodyFromLeft().Inverse() * camera.rig_from_camera;
  cameras.rig.cameras[0].rig_from_camera = {};
  const auto written = FormatOf("basalt").write(cameras);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_FALSE(Read((*written)[0].text).rig.imu.has_value());
  EXPECT_THAT(FormatOf("basalt").write(TurnedRig(CameraModel::kOmni, {1})).status().message(),
              HasSubstr("Basalt has no camera model"));
}

}  // namespace
}  // namespace glint::testing
