// A sensor that sways: position and angles are sines of the time, whose derivatives are exact.
#ifndef GLINT_TESTS_SLAM_SINE_MOTION_H_
#define GLINT_TESTS_SLAM_SINE_MOTION_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "slam/inertial/imu.h"
#include "slam/inertial/preintegration.h"

namespace glint::slam {

struct SineMotion {
  // Each is offset + amplitude * sin(rate * t + phase). Angles: roll about x, pitch about y, yaw about z, of
  // Rz(yaw) Ry(pitch) Rx(roll).
  struct Sines {
    Eigen::Array3d amplitude, rate, phase, offset = Eigen::Array3d::Zero();
    Eigen::Vector3d At(double t) const { return offset + amplitude * (rate * t + phase).sin(); }
    Eigen::Vector3d First(double t) const { return amplitude * rate * (rate * t + phase).cos(); }
    Eigen::Vector3d Second(double t) const { return -amplitude * rate * rate * (rate * t + phase).sin(); }
  };
  Sines position{{0.8, 0.5, 0.3}, {1.1, 1.3, 1.7}, {0.2, 0.9, 1.5}};
  Sines angles{{0.25, 0.2, 0.5}, {1.3, 0.9, 0.7}, {0.4, 1.1, 0.3}, {0.1, -0.2, 0.7}};
  Eigen::Vector3d gravity{0, 0, -9.81};

  // Without biases.
  NavState At(double t) const {
    const Eigen::Vector3d a = angles.At(t);
    NavState state;
    state.world_from_imu = {Eigen::AngleAxisd(a.z(), Eigen::Vector3d::UnitZ()) *
                                Eigen::AngleAxisd(a.y(), Eigen::Vector3d::UnitY()) *
                                Eigen::AngleAxisd(a.x(), Eigen::Vector3d::UnitX()),
                            position.At(t)};
    state.motion.velocity = position.First(t);
    return state;
  }

  ImuSample Measure(double t) const {
    const Eigen::Vector3d a = angles.At(t);
    const Eigen::Vector3d d = angles.First(t);
    ImuSample sample;
    sample.time_ns = static_cast<int64_t>(std::llround(t * 1e9));
    sample.angular_velocity = {d.x() - d.z() * std::sin(a.y()),
                               d.y() * std::cos(a.x()) + d.z() * std::cos(a.y()) * std::sin(a.x()),
                               -d.y() * std::sin(a.x()) + d.z() * std::cos(a.y()) * std::cos(a.x())};
    sample.acceleration = At(t).world_from_imu.rotation.conjugate() * (position.Second(t) - gravity);
    return sample;
  }

  // `steps` + 1 samples from `from` to `to`, seconds, off by `bias`.
  std::vector<ImuSample> Measure(double from, double to, int steps, const ImuBias& bias = {}) const {
    std::vector<ImuSample> samples;
    for (int i = 0; i <= steps; ++i) {
      samples.push_back(Measure(from + (to - from) * i / steps));
      samples.back().angular_velocity += bias.gyroscope;
      samples.back().acceleration += bias.accelerometer;
    }
    return samples;
  }
};

inline ImuBias SomeBias() { return {{0.02, -0.03, 0.01}, {0.1, -0.05, 0.2}}; }

inline Preintegration Measured(const ImuModel& model, const std::vector<ImuSample>& samples, const ImuBias& about) {
  Preintegration measured(model, about);
  measured.Add(samples);
  return measured;
}

// Adds the white noise of `model`, inflated, to samples `step` seconds apart.
inline void AddNoise(const ImuModel& model, double step, std::mt19937* random, std::vector<ImuSample>* samples) {
  std::normal_distribution<double> normal;
  const double gyroscope = model.gyroscope_noise() / std::sqrt(step);
  const double accelerometer = model.accelerometer_noise() / std::sqrt(step);
  for (ImuSample& sample : *samples) {
    for (int i = 0; i < 3; ++i) sample.angular_velocity[i] += gyroscope * normal(*random);
    for (int i = 0; i < 3; ++i) sample.acceleration[i] += accelerometer * normal(*random);
  }
}

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_SINE_MOTION_H_
