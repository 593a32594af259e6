// Streams of pairs along a wall (localize_pairs.h) with an inertial sensor, and the library, which is told the same.
#ifndef GLINT_TESTS_SERVER_INERTIAL_MESSAGES_H_
#define GLINT_TESTS_SERVER_INERTIAL_MESSAGES_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "slam/front_end/lane_front_end.h"
#include "slam/localizer.h"
#include "tests/server/localize_pairs.h"
#include "tests/server/wall_messages.h"

namespace glint::testing {

inline constexpr Shape kShape = {320, 200};
inline constexpr int kFeatures = 300;
inline constexpr int64_t kStepNs = kFrameNs / 20;

inline int64_t TimeOf(size_t pair) { return static_cast<int64_t>(pair + 1) * kFrameNs; }

// The sensor's axes are ahead, left and up. It moves at a constant speed, and trembles a little.
inline Eigen::Matrix3d CameraFromImu() { return (Eigen::Matrix3d() << 0, -1, 0, 0, 0, -1, 1, 0, 0).finished(); }

inline slam::ImuReadings ReadingsBetween(int64_t after_ns, int64_t to_ns) {
  slam::ImuReadings readings;
  for (int64_t time = after_ns + kStepNs; time <= to_ns; time += kStepNs) {
    const double wave = 1e-3 * std::sin(static_cast<double>(time / kStepNs));
    readings.gyroscope.push_back({time, {wave, -wave, 0}});
    readings.accelerometer.push_back({time, {0, wave, 9.81 - wave}});
  }
  return readings;
}

// Those up to the pair since the one before.
inline slam::ImuReadings ReadingsOf(size_t pair) { return ReadingsBetween(TimeOf(pair) - kFrameNs, TimeOf(pair)); }

inline void SetImu(const slam::ImuReadings& readings, v1::ImuReadings* proto) {
  for (const slam::ImuReading& r : readings.gyroscope) {
    proto->add_gyroscope_time_ns(r.time_ns);
    for (const double v : r.value) proto->add_angular_velocity(v);
  }
  for (const slam::ImuReading& r : readings.accelerometer) {
    proto->add_accelerometer_time_ns(r.time_ns);
    for (const double v : r.value) proto->add_acceleration(v);
  }
}

inline v1::LocalizeStreamRequest Batch(const slam::ImuReadings& readings, uint64_t frame_id = 0) {
  v1::LocalizeStreamRequest request;
  request.mutable_add_imu()->set_frame_id(frame_id);
  SetImu(readings, request.mutable_add_imu()->mutable_readings());
  return request;
}

inline v1::LocalizeStreamOptions Options() {
  v1::LocalizeStreamOptions options = WallStreamOptions(kShape, kFeatures);
  v1::RigidTransform* const mounting = options.mutable_imu()->mutable_camera_from_imu();
  const Eigen::Matrix<double, 3, 3, Eigen::RowMajor> rotation = CameraFromImu();
  mounting->mutable_rotation()->Add(rotation.data(), rotation.data() + rotation.size());
  mounting->set_x(0.05);
  return options;
}

// The library, which is told of the same pairs and readings.
class Library {
 public:
  Library() : front_end_(Detector(), 1) {
    slam::LocalizerOptions options;
    options.odometry.imu.emplace();
    options.odometry.imu->camera_from_imu = {Eigen::Quaterniond(CameraFromImu()), {0.05, 0, 0}};
    auto localizer = slam::Localizer::Create(WallOptions(kShape, kFeatures).camera, options, &front_end_);
    EXPECT_TRUE(localizer.ok()) << localizer.status();
    localizer_ = *std::move(localizer);
  }
  void Add(const slam::ImuReadings& readings) { EXPECT_TRUE(localizer_->AddImu(readings).ok()); }
  slam::Localizer* operator->() { return localizer_.get(); }
  slam::LocalizerResult Track(const Pair& pair, size_t number) {
    slam::LocalizerResult result;
    const absl::Status status = localizer_->Track(pair.left, pair.right, {number, TimeOf(number)}, &result);
    EXPECT_TRUE(status.ok()) << status;
    return result;
  }

 private:
  static DetectorOptions Detector() {
    DetectorOptions detector = *PresetOptions("orb");
    detector.max_features = kFeatures;
    return detector;
  }
  slam::LaneFrontEnd front_end_;
  std::unique_ptr<slam::Localizer> localizer_;
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_INERTIAL_MESSAGES_H_
