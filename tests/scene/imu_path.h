// What an inertial sensor measures that is fixed to a camera on a smooth path, with its noise and faults.
#ifndef GLINT_TESTS_SCENE_IMU_PATH_H_
#define GLINT_TESTS_SCENE_IMU_PATH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/scene/geometry.h"
#include "tests/scene/smooth_path.h"

namespace glint::scene {

enum class ImuFault {
  kNone,
  kDegrees,       // angular velocity in degrees a second
  kGravityUnits,  // acceleration in units of 9.81 m/s^2
  kAxes,          // x and y exchanged, of both sensors
  kFrozen,        // the last values before, again and again
  kSilent,        // no readings
};

struct ImuOptions {
  Pose camera_from_imu;         // rotation * p_imu + position, metres
  Vec3 gravity = {0, 9.81, 0};  // in the world, downwards: y
  double rate = 200;            // Hz, 1..10000
  // Noise in continuous time; both densities and both walks are multiplied by `noise`: 0 is a perfect sensor.
  double gyroscope_noise_density = 1.7e-4;    // rad/s/sqrt(Hz)
  double gyroscope_random_walk = 2e-5;        // rad/s^2/sqrt(Hz)
  double accelerometer_noise_density = 2e-3;  // m/s^2/sqrt(Hz)
  double accelerometer_random_walk = 3e-3;    // m/s^3/sqrt(Hz)
  double noise = 1;
  Vec3 gyroscope_bias, accelerometer_bias;  // at the beginning, rad/s and m/s^2
  // Values beyond are cut off; 0: never.
  double gyroscope_range = 0, accelerometer_range = 0;  // rad/s, m/s^2
  double offset = 0;  // seconds: time of the sensor's clock = time of the images + this
  ImuFault fault = ImuFault::kNone;
  double fault_from = 0, fault_to = 1e9;  // seconds of the images' clock
  uint32_t seed = 1;
};

struct ImuRow {
  double seconds = 0;                       // of the images' clock
  int64_t time_ns = 0;                      // of the sensor's
  Vec3 angular_velocity;                    // rad/s, in the sensor's axes
  Vec3 acceleration;                        // m/s^2, likewise: specific force, at rest upwards
  Vec3 gyroscope_bias, accelerometer_bias;  // truth: what the two are off by, without noise and faults
};

// Readings along the whole path, at its first time and every 1 / rate seconds after; without those before time 0 of
// the sensor's clock.
std::vector<ImuRow> MeasureImu(const SmoothPath& path, const ImuOptions& options);

// As EuRoC's imu0/data.csv: nanoseconds, angular velocity, acceleration.
std::string ImuCsv(const std::vector<ImuRow>& rows);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_IMU_PATH_H_
