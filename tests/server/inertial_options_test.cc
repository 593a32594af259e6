// The inertial sensor in the options of a LocalizeStream: defaults, ranges, and the axes of the camera that raw images
// become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "glint/v1/localization.pb.h"
#include "server/operations/localize/localize_convert.h"

namespace glint {
namespace {

using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Of the sensor's axes ahead, left and up.
const double kAheadLeftUp[] = {0, -1, 0, 0, 0, -1, 1, 0, 0};

v1::LocalizeStreamOptions Options() {
  v1::LocalizeStreamOptions options;
  v1::StereoCamera* const camera = options.mutable_camera();
  camera->set_width(320);
  camera->set_height(200);
  camera->set_focal_length(200);
  camera->set_centre_x(160);
  camera->set_centre_y(100);
  camera->set_baseline(0.2);
  v1::RigidTransform* const mounting = options.mutable_imu()->mutable_camera_from_imu();
  for (const double v : kAheadLeftUp) mounting->add_rotation(v);
  mounting->set_x(0.05);
  return options;
}

absl::StatusOr<LocalizationOptions> Convert(const v1::LocalizeStreamOptions& proto) {
  Rectifications rectifications(int64_t{1} << 30);
  return FromProto(proto, ServerOptions(), &rectifications);
}

std::string ErrorOf(const v1::LocalizeStreamOptions& proto) { return std::string(Convert(proto).status().message()); }

std::string ErrorOf(void (v1::InertialSensor::*set)(double), double value) {
  v1::LocalizeStreamOptions options = Options();
  (options.mutable_imu()->*set)(value);
  return ErrorOf(options);
}

TEST(InertialOptions, EachIsChecked) {
  using Sensor = v1::InertialSensor;
  EXPECT_EQ(ErrorOf(&Sensor::set_gravity, 40), "imu.gravity: 40 is not in 1..30");
  EXPECT_THAT(ErrorOf(&Sensor::set_gravity, kNan), StartsWith("imu.gravity: nan"));
  EXPECT_EQ(ErrorOf(&Sensor::set_noise_inflation, 0.5), "imu.noise_inflation: 0.5 is not in 1..1000");
  EXPECT_THAT(ErrorOf(&Sensor::set_gyroscope_noise_density, -1), StartsWith("imu.gyroscope_noise_density: -1"));
  EXPECT_THAT(ErrorOf(&Sensor::set_gyroscope_random_walk, 2), StartsWith("imu.gyroscope_random_walk: 2"));
  EXPECT_THAT(ErrorOf(&Sensor::set_accelerometer_noise_density, 11), StartsWith("imu.accelerometer_noise_density: 11"));
  EXPECT_THAT(ErrorOf(&Sensor::set_accelerometer_random_walk, 2), StartsWith("imu.accelerometer_random_walk: 2"));
  EXPECT_THAT(ErrorOf(&Sensor::set_gyroscope_range, -1), StartsWith("imu.gyroscope_range: -1"));
  EXPECT_THAT(ErrorOf(&Sensor::set_accelerometer_range, 20000), StartsWith("imu.accelerometer_range: 20000"));
  v1::LocalizeStreamOptions options = Options();
  options.mutable_imu()->set_imu_time_minus_camera_time_ns(-2'000'000'000);
  EXPECT_THAT(ErrorOf(options), StartsWith("imu.imu_time_minus_camera_time_ns: -2000000000"));
  options = Options();
  options.mutable_imu()->mutable_camera_from_imu()->set_rotation(0, 1);
  EXPECT_THAT(ErrorOf(options), StartsWith("imu.camera_from_imu.rotation: is "));
  options.mutable_imu()->mutable_camera_from_imu()->mutable_rotation()->RemoveLast();
  EXPECT_THAT(ErrorOf(options), StartsWith("imu.camera_from_imu.rotation: 8 elements"));
  options = Options();
  options.mutable_imu()->mutable_camera_from_imu()->set_y(2000);
  EXPECT_THAT(ErrorOf(options), StartsWith("imu.camera_from_imu.y: 2000"));
  options.mutable_imu()->clear_camera_from_imu();
  EXPECT_THAT(ErrorOf(options), StartsWith("imu.camera_from_imu: missing"));
}

TEST(InertialOptions, ZerosAreDefaults) {
  v1::LocalizeStreamOptions proto = Options();
  const auto defaults = Convert(proto);
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  const slam::ImuModel& model = *defaults->localizer.odometry.imu;
  EXPECT_EQ(model.gyroscope_noise_density, 1.7e-4);
  EXPECT_EQ(model.gyroscope_random_walk, 2e-5);
  EXPECT_EQ(model.accelerometer_noise_density, 2e-3);
  EXPECT_EQ(model.accelerometer_random_walk, 3e-3);
  EXPECT_EQ(model.noise_inflation, 10);
  EXPECT_EQ(model.gravity, 9.81);
  EXPECT_EQ(model.gyroscope_range, 0);
  const Eigen::Matrix3d rotation = model.camera_from_imu.rotation.toRotationMatrix();
  EXPECT_TRUE(rotation.isApprox(Eigen::Matrix3d(kAheadLeftUp).transpose(), 1e-12)) << rotation;
  EXPECT_EQ(model.camera_from_imu.translation, Eigen::Vector3d(0.05, 0, 0));
  proto.mutable_imu()->set_gyroscope_noise_density(1e-3);
  proto.mutable_imu()->set_imu_time_minus_camera_time_ns(-5);
  proto.mutable_imu()->set_accelerometer_range(150);
  const auto given = Convert(proto);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->localizer.odometry.imu->gyroscope_noise_density, 1e-3);
  EXPECT_EQ(given->localizer.odometry.imu->imu_time_minus_camera_time_ns, -5);
  EXPECT_EQ(given->localizer.odometry.imu->accelerometer_range, 150);
}

// A sensor in the raw left camera: in the rectified one the right camera is where x points.
TEST(InertialOptions, ASensorTurnsWithTheRectifiedCamera) {
  v1::LocalizeStreamOptions proto = Options();
  proto.clear_camera();
  v1::StereoRig* const rig = proto.mutable_rig();
  for (v1::Camera* const camera : {rig->mutable_left(), rig->mutable_right()}) {
    camera->set_width(320);
    camera->set_height(200);
    camera->set_fx(200);
    camera->set_fy(200);
    camera->set_cx(160);
    camera->set_cy(100);
  }
  rig->mutable_right_from_left()->set_x(-0.2);  // the right camera is a little below the left one, and ahead
  rig->mutable_right_from_left()->set_y(-0.02);
  rig->mutable_right_from_left()->set_z(-0.03);
  v1::RigidTransform* const mounting = proto.mutable_imu()->mutable_camera_from_imu();
  mounting->clear_rotation();
  mounting->set_x(0.4);  // twice as far that way
  mounting->set_y(0.04);
  mounting->set_z(0.06);
  const auto options = Convert(proto);
  ASSERT_TRUE(options.ok()) << options.status();
  const slam::Pose& pose = options->localizer.odometry.imu->camera_from_imu;
  const double baseline = options->camera.baseline;
  EXPECT_NEAR(baseline, std::hypot(0.2, 0.02, 0.03), 1e-9);
  EXPECT_TRUE(pose.translation.isApprox(Eigen::Vector3d(2 * baseline, 0, 0), 1e-9)) << pose.translation;
  EXPECT_TRUE((pose.rotation * Eigen::Vector3d(0.2, 0.02, 0.03)).isApprox(Eigen::Vector3d(baseline, 0, 0), 1e-9));
}

}  // namespace
}  // namespace glint
