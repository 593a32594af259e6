#include "ros2/operations/localize/stream_options.h"

#include <cmath>

#include "absl/status/status.h"
#include "features/status_macros.h"

namespace glint::ros2 {
namespace {

// The newest frame is to wait for one at most; where every frame counts, the server may have more of them.
constexpr int kRealtimeWindow = 2, kWindow = 8;

RigidTransform TransformOf(const std::array<double, 16>& rows) {
  const Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> matrix(rows.data());
  return {matrix.topLeftCorner<3, 3>(), matrix.topRightCorner<3, 1>()};
}

}  // namespace

int LocalizeWindow(const LocalizeConfig& config) { return config.realtime ? kRealtimeWindow : kWindow; }

absl::StatusOr<client::LocalizeStreamOptions> LocalizeOptionsOf(const Config& config, const Cameras& cameras) {
  client::LocalizeStreamOptions options;
  const LocalizeConfig& localize = config.localize;
  GLINT_ASSIGN_OR_RETURN(options.detector, PresetOptions(localize.detector, kLocalizeDefaults));
  if (localize.max_keypoints > 0) options.detector.max_features = localize.max_keypoints;
  options.mode = localize.realtime ? client::LocalizeMode::kRealtime : client::LocalizeMode::kReproducible;
  options.in_flight = LocalizeWindow(localize);
  if (cameras.camera.has_value()) options.camera = *cameras.camera;
  options.rig = cameras.rig;
  options.raw_camera = cameras.raw_camera;
  options.depth = cameras.depth;
  if (!cameras.camera.has_value() && !cameras.rig.has_value() && !cameras.raw_camera.has_value()) {
    return absl::InvalidArgumentError("camera: neither a pair (camera.right) nor one with depths (camera.depth)");
  }
  const ImuConfig& imu = config.imu;
  if (imu.topic.empty()) return options;
  client::InertialSensor& sensor = options.imu.emplace(cameras.imu.value_or(client::InertialSensor()));
  if (imu.camera_from_imu.has_value()) {
    sensor.camera_from_imu = TransformOf(*imu.camera_from_imu);
  } else if (cameras.camera_from_imu.has_value()) {
    sensor.camera_from_imu = *cameras.camera_from_imu;
  } else if (!cameras.imu.has_value()) {
    return absl::FailedPreconditionError("imu: where it sits is not known (imu.camera_from_imu, /tf_static)");
  }
  const auto set = [](double configured, double* value) {
    if (configured != 0) *value = configured;
  };
  set(imu.gyroscope_noise_density, &sensor.gyroscope_noise_density);
  set(imu.gyroscope_random_walk, &sensor.gyroscope_random_walk);
  set(imu.accelerometer_noise_density, &sensor.accelerometer_noise_density);
  set(imu.accelerometer_random_walk, &sensor.accelerometer_random_walk);
  if (imu.imu_time_minus_camera_time != 0) {
    sensor.imu_time_minus_camera_time_ns = std::llround(imu.imu_time_minus_camera_time * 1e9);
  }
  sensor.max_wait_for_readings_ns = 0;  // ImuQueue waits for them
  return options;
}

}  // namespace glint::ros2
