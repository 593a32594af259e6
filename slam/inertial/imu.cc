#include "slam/inertial/imu.h"

#include "features/error.h"
#include "features/status_macros.h"

namespace glint::slam {

absl::Status ValidateImuModel(const ImuModel& m) {
  constexpr int64_t kLongestOffsetNs = 1'000'000'000;
  constexpr double kLengthTolerance = 1e-6;
  GLINT_RETURN_IF_ERROR(CheckRange("imu.camera_from_imu.rotation", m.camera_from_imu.rotation.norm(),
                                   1 - kLengthTolerance, 1 + kLengthTolerance));
  for (int axis = 0; axis < 3; ++axis) {
    GLINT_RETURN_IF_ERROR(
        CheckRange("imu.camera_from_imu.translation", m.camera_from_imu.translation[axis], -100., 100.));
  }
  GLINT_RETURN_IF_ERROR(CheckRange("imu.gyroscope_noise_density", m.gyroscope_noise_density, 1e-6, 1.));
  GLINT_RETURN_IF_ERROR(CheckRange("imu.gyroscope_random_walk", m.gyroscope_random_walk, 1e-8, 0.1));
  GLINT_RETURN_IF_ERROR(CheckRange("imu.accelerometer_noise_density", m.accelerometer_noise_density, 1e-5, 10.));
  GLINT_RETURN_IF_ERROR(CheckRange("imu.accelerometer_random_walk", m.accelerometer_random_walk, 1e-7, 1.));
  GLINT_RETURN_IF_ERROR(CheckRange("imu.noise_inflation", m.noise_inflation, 1., 1000.));
  GLINT_RETURN_IF_ERROR(CheckRange("imu.gravity", m.gravity, 1., 30.));
  GLINT_RETURN_IF_ERROR(CheckRange("imu.imu_time_minus_camera_time_ns", m.imu_time_minus_camera_time_ns,
                                   -kLongestOffsetNs, kLongestOffsetNs));
  GLINT_RETURN_IF_ERROR(CheckRange("imu.gyroscope_range", m.gyroscope_range, 0., 1000.));
  return CheckRange("imu.accelerometer_range", m.accelerometer_range, 0., 10000.);
}

}  // namespace glint::slam
