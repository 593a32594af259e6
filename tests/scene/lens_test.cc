// Pictures through a lens, and the calibration that is written beside them.
#include "tests/scene/lens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/calibration.h"

namespace glint::scene {
namespace {

using ::testing::HasSubstr;

glint::Camera Fisheye(double focal_length) {
  return {CameraModel::kKannalaBrandt, {320, 240}, focal_length, focal_length, 160.5, 119.25, {-0.02, 0.01, 0, 0}};
}

TEST(Lens, ShowsWhatLiesInTheDirectionOfEachPixel) {
  const glint::Camera lens = Fisheye(200);
  const auto pinhole = PinholeFor(lens);
  ASSERT_TRUE(pinhole.ok()) << pinhole.status();
  EXPECT_EQ(pinhole->focal, 300);
  Image ramp(pinhole->width, pinhole->height);  // of the direction
  const auto grey = [](double right, double down) { return 128 + 60 * right + 40 * down; };
  for (int y = 0; y < pinhole->height; ++y) {
    for (int x = 0; x < pinhole->width; ++x) {
      ramp.row(y)[x] = static_cast<uint8_t>(
          std::lround(grey((x - pinhole->cx) / pinhole->focal, (y - pinhole->cy) / pinhole->focal)));
    }
  }
  const Image shown = ThroughLens(lens, *pinhole)(ramp);
  ASSERT_EQ(shown.shape(), lens.image);
  for (int y = 0; y < 240; ++y) {
    for (int x = 0; x < 320; ++x) {
      Eigen::Vector3d ray;
      ASSERT_TRUE(Unproject(lens, Eigen::Vector2d(x, y), &ray));
      EXPECT_NEAR(shown.row(y)[x], grey(ray.x() / ray.z(), ray.y() / ray.z()), 1.01) << x << " " << y;
    }
  }
}

TEST(Lens, RefusesWhatAPinholeCannotSee) {
  EXPECT_THAT(PinholeFor(Fisheye(100)).status().message(), HasSubstr("over 150 degrees"));
}

TEST(Lens, ItsCalibrationIsRead) {
  glint::Camera prism = Fisheye(300);
  prism.model = CameraModel::kThinPrism;
  prism.lens = {-0.1, 0.01, 0, 0, 0, 0.1, 0, 0, 0.004, 0, -0.003, 0, 0.02, -0.01};
  for (const glint::Camera& lens : {Fisheye(200), prism}) {
    const std::string folder = ::testing::TempDir() + std::string(NameOf(lens.model));
    ASSERT_TRUE(PinholeFor(lens).ok());
    ASSERT_TRUE(WriteCalibration(lens, /*stereo=*/true, 0.25, std::nullopt, folder).ok());
    const auto read = calibration::ReadCalibration({folder});
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->rig.cameras.size(), 2u);
    for (const RigCamera& camera : read->rig.cameras) {
      EXPECT_EQ(camera.camera.model, lens.model);
      EXPECT_EQ(camera.camera.lens, lens.lens);
    }
    const RigidTransform pose = read->rig.cameras[0].rig_from_camera.Inverse() * read->rig.cameras[1].rig_from_camera;
    EXPECT_NEAR(pose.translation.x(), 0.25, 1e-12);
    EXPECT_FALSE(read->rig.imu.has_value());
  }
}

TEST(Lens, ItsInertialSensorIsRead) {
  glint::Camera pinhole = Fisheye(200);
  pinhole.model = CameraModel::kPinhole;
  pinhole.lens = {};
  RigImu imu;
  imu.rig_from_imu.rotation << 0, 0, 1, 1, 0, 0, 0, 1, 0;
  imu.rig_from_imu.translation = {0.1, -0.02, 0.03};
  imu.gyroscope_noise_density = 1.7e-4;
  imu.gyroscope_random_walk = 2e-5;
  imu.accelerometer_noise_density = 2e-3;
  imu.accelerometer_random_walk = 3e-3;
  imu.imu_time_minus_camera_time = -0.004;
  imu.rate_hz = 250;
  const std::string folder = ::testing::TempDir() + "with_imu";
  ASSERT_TRUE(WriteCalibration(pinhole, /*stereo=*/true, 0.25, imu, folder).ok());
  const auto read = calibration::ReadCalibration({folder});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_TRUE(read->rig.imu.has_value());
  const RigidTransform left_from_imu = read->rig.cameras[0].rig_from_camera.Inverse() * read->rig.imu->rig_from_imu;
  EXPECT_TRUE(left_from_imu.rotation.isApprox(imu.rig_from_imu.rotation, 1e-12));
  EXPECT_TRUE(left_from_imu.translation.isApprox(imu.rig_from_imu.translation, 1e-12));
  EXPECT_EQ(read->rig.imu->gyroscope_noise_density, 1.7e-4);
  EXPECT_EQ(read->rig.imu->accelerometer_random_walk, 3e-3);
  EXPECT_EQ(read->rig.imu->imu_time_minus_camera_time, -0.004);
  EXPECT_EQ(read->rig.imu->rate_hz, 250);
}

}  // namespace
}  // namespace glint::scene
