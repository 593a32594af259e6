// A camera with an inertial sensor along analytic paths, the sensor right or with a fault.
#ifndef GLINT_TESTS_SLAM_IMU_RIDE_H_
#define GLINT_TESTS_SLAM_IMU_RIDE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "slam/inertial/imu_buffer.h"
#include "slam/inertial/imu_watch.h"
#include "slam/inertial/rotation_vector.h"

namespace glint::slam {

inline constexpr double kPi = EIGEN_PI, kDegree = kPi / 180;

// Roll, pitch and yaw of the sensor, and where it is, at a time.
struct Path {
  std::string name;
  std::function<Eigen::Vector3d(double)> angles, position;

  Eigen::Quaterniond RotationAt(double t) const {
    const Eigen::Vector3d a = angles(t);
    return Eigen::AngleAxisd(a.z(), Eigen::Vector3d::UnitZ()) * Eigen::AngleAxisd(a.y(), Eigen::Vector3d::UnitY()) *
           Eigen::AngleAxisd(a.x(), Eigen::Vector3d::UnitX());
  }
  Eigen::Vector3d TurnAt(double t) const {
    constexpr double kStep = 1e-4;
    return RotationVectorOf(RotationAt(t - kStep).conjugate() * RotationAt(t + kStep)) / (2 * kStep);
  }
  Eigen::Vector3d PushAt(double t) const {
    constexpr double kStep = 1e-3;
    const Eigen::Vector3d acceleration =
        (position(t + kStep) - 2 * position(t) + position(t - kStep)) / (kStep * kStep);
    return RotationAt(t).conjugate() * (acceleration + Eigen::Vector3d(0, 0, 9.81));
  }
};

// Angles whose speeds have that amplitude (rad/s), about all axes at about that frequency (Hz).
inline std::function<Eigen::Vector3d(double)> Sway(double speed, double frequency) {
  return [=](double t) -> Eigen::Vector3d {
    const double w = 2 * kPi * frequency;
    return speed / w * Eigen::Vector3d(std::sin(w * t), std::sin(1.31 * w * t + 1) / 1.31, std::sin(0.77 * w * t + 2));
  };
}
inline std::function<Eigen::Vector3d(double)> Drift(double size, double frequency) {
  return [=](double t) -> Eigen::Vector3d {
    const double w = 2 * kPi * frequency;
    return size * Eigen::Vector3d(std::sin(w * t), std::sin(1.2 * w * t + 0.5), 0.5 * std::sin(0.8 * w * t));
  };
}
inline Eigen::Vector3d Nowhere(double) { return Eigen::Vector3d::Zero(); }
// From 0 to 1 in two seconds.
inline double Step(double t) {
  const double x = std::clamp(t / 2, 0.0, 1.0);
  return x * x * x * (10 + x * (-15 + 6 * x));
}
// One metre and a quarter of a turn, one after the other, in each of 6 seconds.
inline Eigen::Vector3d RobotAngles(double t) {
  return {0, 0, kPi / 2 * (std::floor(t / 6) + Step(std::fmod(t, 6) - 2))};
}
inline Eigen::Vector3d RobotPosition(double t) { return {std::floor(t / 6) + Step(std::fmod(t, 6) - 4), 0, 0}; }

inline const std::vector<Path>& Paths() {
  using V = Eigen::Vector3d;
  static const auto* const kPaths = new std::vector<Path>{
      {"hand", Sway(0.5, 0.5), Drift(0.3, 0.4)},
      {"flight", Sway(3, 0.9), Drift(1, 0.6)},
      {"rest", Nowhere, Nowhere},
      {"straight road",
       [](double t) { return V(0.004 * std::sin(9 * t), 0.005 * std::sin(7 * t), 0.01 * std::sin(0.2 * t)); },
       [](double t) { return V(3 * t, 0, 0.01 * std::sin(8 * t)); }},
      {"town", [](double t) { return V(0.01 * std::sin(5 * t), 0.01 * std::sin(4 * t), 0.8 * std::sin(0.4 * t)); },
       [](double t) { return V(8 * t, 0, 0); }},
      {"circle", [](double t) { return V(0, 0, 0.5 * t); },
       [](double t) { return V(std::cos(0.5 * t), std::sin(0.5 * t), 0); }},
      {"shaken", Sway(1, 2.5), Drift(0.05, 1.5)},
      {"wobble", [](double t) { return V(0.1 * std::sin(6.28 * t), 0.1 * std::cos(6.28 * t), 0); }, Drift(0.2, 0.3)},
      {"robot", RobotAngles, RobotPosition},
      {"slow", Sway(0.15, 0.25), Nowhere},
      {"vibration",
       [](double t) {
         return V(0.3 * std::sin(1.1 * t) + 0.0006 * std::sin(410 * t), 0.2 * std::sin(0.8 * t),
                  0.5 * std::sin(0.6 * t) + 0.0006 * std::sin(437 * t));
       },
       [](double t) { return V(2 * t + 0.0001 * std::sin(400 * t), 0, 0.00012 * std::sin(421 * t)); }},
  };
  return *kPaths;
}
inline const Path& PathOf(const std::string& name) {
  return *std::find_if(Paths().begin(), Paths().end(), [&](const Path& path) { return path.name == name; });
}

inline Eigen::Matrix3d CameraFromImu() {
  return (Eigen::AngleAxisd(1.5, Eigen::Vector3d::UnitZ()) * Eigen::AngleAxisd(0.1, Eigen::Vector3d::UnitX()) *
          Eigen::AngleAxisd(-0.05, Eigen::Vector3d::UnitY()))
      .toRotationMatrix();
}

// What a sensor is and does: from `from` to `to` (seconds), it has the fault.
struct Case {
  ImuModel model;
  double frames = 20, gyroscope = 200, accelerometer = 125;  // Hz
  double noise = 1;                                          // times that of the default model, 1
  double image_error = 0.1;                                  // degrees
  double jump = 0;                                           // radians, of the map, every 67 frames
  double from = 0, to = 1e9;
  double turn_scale = 1, push_scale = 1, ahead = 0, clip = 0;
  Eigen::Matrix3d axes = Eigen::Matrix3d::Identity();
  bool is_frozen = false, is_silent = false;

  Case() { model.camera_from_imu.rotation = CameraFromImu(); }
};

class Ride {
 public:
  Ride(const Path& path, const Case& c, uint32_t seed)
      : path_(path), case_(c), random_(seed), buffer_(c.model), watch_(c.model) {}

  // One frame on.
  void Go() {
    ImuReadings readings;
    for (; next_turn_ <= time() + kLead; next_turn_ += 1 / case_.gyroscope) {
      const Eigen::Vector3d bias(0.06, -0.05, 0.06);
      Measure(next_turn_, path_.TurnAt(next_turn_) + bias + Noise(case_.noise * 1.7e-4 * std::sqrt(case_.gyroscope)),
              case_.turn_scale, &frozen_[0], &readings.gyroscope);
    }
    for (; next_push_ <= time() + kLead; next_push_ += 1 / case_.accelerometer) {
      const Eigen::Vector3d bias(0.2, -0.1, 0.1);
      Measure(next_push_, path_.PushAt(next_push_) + bias + Noise(case_.noise * 2e-3 * std::sqrt(case_.accelerometer)),
              case_.push_scale, &frozen_[1], &readings.accelerometer);
    }
    buffer_.Add(readings);
    const auto now = static_cast<int64_t>(std::llround(time() * 1e9));
    std::vector<ImuSample> samples;
    buffer_.Between(last_ns_, now, &samples);
    buffer_.DropBefore(now);
    last_ns_ = now;
    if (case_.jump > 0 && frame_ % 67 == 66) world_ = RotationOf(Noise(case_.jump)) * world_;
    const Pose imu_from_world = Pose{path_.RotationAt(time()), path_.position(time())}.Inverse();
    const Eigen::Quaterniond camera_from_imu(CameraFromImu());
    Pose pose{RotationOf(Noise(case_.image_error * kDegree)) * camera_from_imu * imu_from_world.rotation * world_,
              camera_from_imu * imu_from_world.translation + Noise(0.01)};
    watch_.Add(now, pose, samples);
    ++frame_;
  }
  double time() const { return frame_ / case_.frames; }
  const ImuWatch& watch() const { return watch_; }
  void Break() { watch_.Break(); }

 private:
  static constexpr double kLead = 0.15;  // seconds, that readings come early

  Eigen::Vector3d Noise(double sigma) {
    const double x = normal_(random_), y = normal_(random_), z = normal_(random_);
    return sigma * Eigen::Vector3d(x, y, z);
  }
  void Measure(double t, const Eigen::Vector3d& right, double scale, std::vector<Eigen::Vector3d>* frozen,
               std::vector<ImuReading>* readings) {
    const bool is_faulty = t >= case_.from && t < case_.to;
    Eigen::Vector3d value = right;
    if (is_faulty) {
      value = scale * (case_.axes * value);
      if (case_.clip > 0) value = value.cwiseMin(case_.clip).cwiseMax(-case_.clip);
      if (case_.is_frozen && frozen->empty()) frozen->push_back(value);
      if (case_.is_frozen) value = frozen->front();
      if (case_.is_silent) return;
    }
    readings->push_back({static_cast<int64_t>(std::llround((t + (is_faulty ? case_.ahead : 0)) * 1e9)), value});
  }

  const Path& path_;
  const Case case_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  ImuBuffer buffer_;
  ImuWatch watch_;
  double next_turn_ = 0, next_push_ = 0.001;
  std::vector<Eigen::Vector3d> frozen_[2];
  Eigen::Quaterniond world_ = Eigen::Quaterniond::Identity();
  int frame_ = 0;
  int64_t last_ns_ = -1;
};

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_IMU_RIDE_H_
