// Inertial sensors: what they are, what they measure, and what is known of their motion. Plain values: thread-safe.
//
// Frames of reference: the sensor's own axes ("imu"), the camera whose pose is tracked ("camera", rectified left), and
// the world. The sensor measures angular velocity (rad/s) and specific force (m/s^2: at rest 9.81 upwards), both in its
// own axes.
#ifndef GLINT_SLAM_INERTIAL_IMU_H_
#define GLINT_SLAM_INERTIAL_IMU_H_

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "slam/geometry/pose.h"

namespace glint::slam {

// One measurement of a gyroscope (rad/s) or of an accelerometer (m/s^2).
struct ImuReading {
  int64_t time_ns = 0;  // of the sensor's clock
  Eigen::Vector3d value = Eigen::Vector3d::Zero();
};

// Readings of both, each in any order and at a rate of its own.
struct ImuReadings {
  std::vector<ImuReading> gyroscope;
  std::vector<ImuReading> accelerometer;
};

// Both at one time.
struct ImuSample {
  int64_t time_ns = 0;  // of the images' clock
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();
  Eigen::Vector3d acceleration = Eigen::Vector3d::Zero();
};

struct ImuModel {
  Pose camera_from_imu;
  // Noise in continuous time, as data sheets and Kalibr's files have it.
  double gyroscope_noise_density = 1.7e-4;    // 1e-6..1 rad/s/sqrt(Hz)
  double gyroscope_random_walk = 2e-5;        // 1e-8..0.1 rad/s^2/sqrt(Hz)
  double accelerometer_noise_density = 2e-3;  // 1e-5..10 m/s^2/sqrt(Hz)
  double accelerometer_random_walk = 3e-3;    // 1e-7..1 m/s^3/sqrt(Hz)
  double noise_inflation = 10;                // 1..1000: what the two noise densities are multiplied by
  double gravity = 9.81;                      // 1..30 m/s^2
  int64_t imu_time_minus_camera_time_ns = 0;  // within +-1 s: time of the sensor's clock = time of the images + this
  // Readings as large as this are saturated; 0: not known.
  double gyroscope_range = 0;      // 0..1000 rad/s
  double accelerometer_range = 0;  // 0..10000 m/s^2

  double gyroscope_noise() const { return noise_inflation * gyroscope_noise_density; }
  double accelerometer_noise() const { return noise_inflation * accelerometer_noise_density; }
};
// OK, or INVALID_ARGUMENT that names the first bad field ("imu.gravity"), its value and its range.
absl::Status ValidateImuModel(const ImuModel& model);

// What measurements are off by.
struct ImuBias {
  Eigen::Vector3d gyroscope = Eigen::Vector3d::Zero();      // rad/s
  Eigen::Vector3d accelerometer = Eigen::Vector3d::Zero();  // m/s^2
};

// Biases and the standard deviation of each axis; by itself, of a sensor that nothing is known of.
struct BiasEstimate {
  ImuBias bias;
  double gyroscope_sigma = 0.1;      // rad/s
  double accelerometer_sigma = 0.1;  // m/s^2
};

// Of a world that is level: gravity points along -z.
struct WorldLevel {
  double gravity_sigma = 0;  // radians, 1e-6..0.1: of gravity's direction
  BiasEstimate biases;       // of the sensor that told it, when it was last ready in this world
};

// A sensor's state beside its pose.
struct ImuMotion {
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();  // of the sensor in the world, m/s
  ImuBias bias;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_IMU_H_
