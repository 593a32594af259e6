#include "tests/scene/imu_flags.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/error.h"
#include "features/status_macros.h"

ABSL_FLAG(double, imu_rate, 200, "Hz, 10..4000");
ABSL_FLAG(double, imu_noise, 1, "times the noise of the sensor of EuRoC's data sets, 0..1000");
ABSL_FLAG(int, imu_seed, 1, "another seed, other noise; 0 or more");
ABSL_FLAG(std::vector<std::string>, imu_pose, {},
          "x,y,z,yaw,pitch,roll of the sensor in the left camera: metres, degrees");
ABSL_FLAG(std::vector<std::string>, imu_bias, {},
          "of the gyroscope's three axes, rad/s, and of the accelerometer's, m/s^2, at the beginning");
ABSL_FLAG(std::vector<std::string>, imu_range, {}, "where angular velocity, rad/s, and acceleration, m/s^2, are cut");
ABSL_FLAG(double, imu_offset_ms, 0, "the sensor's clock is ahead of the images' by this, -1000..1000");
ABSL_FLAG(double, imu_untold_offset_ms, 0, "likewise, and the calibration does not say so");
ABSL_FLAG(std::string, imu_fault, "none", "none, degrees, gravity-units, axes, frozen or silent");
ABSL_FLAG(double, imu_fault_from, 0, "seconds: when the fault begins, in the path's time");
ABSL_FLAG(double, imu_fault_to, 1e9, "seconds: when it ends");

namespace glint::scene {
namespace {

// A flag's numbers, none or all of them, into `values`.
absl::Status Numbers(const char* flag, const std::vector<std::string>& words, std::initializer_list<double*> values) {
  if (words.empty()) return absl::OkStatus();
  bool is_valid = words.size() == values.size();
  for (size_t i = 0; is_valid && i < words.size(); ++i) {
    double* const value = values.begin()[i];
    is_valid = absl::SimpleAtod(words[i], value) && std::isfinite(*value);
  }
  if (is_valid) return absl::OkStatus();
  return ContradictionError(
      flag, absl::StrCat("\"", Echo(absl::StrJoin(words, ",")), "\" is not ", values.size(), " numbers"));
}

absl::Status Between(const char* flag, double value, double low, double high) {
  return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(flag, value, low, high);
}

absl::Status ReadFault(ImuFault* fault) {
  const std::vector<std::pair<std::string, ImuFault>> known = {
      {"none", ImuFault::kNone}, {"degrees", ImuFault::kDegrees}, {"gravity-units", ImuFault::kGravityUnits},
      {"axes", ImuFault::kAxes}, {"frozen", ImuFault::kFrozen},   {"silent", ImuFault::kSilent}};
  const std::string name = absl::GetFlag(FLAGS_imu_fault);
  for (const auto& [word, value] : known) {
    if (word != name) continue;
    *fault = value;
    return absl::OkStatus();
  }
  return NotOneOfError("--imu_fault", name, "none, degrees, gravity-units, axes, frozen, silent");
}

}  // namespace

absl::StatusOr<ImuFlags> ReadImuFlags() {
  ImuFlags flags;
  ImuOptions& options = flags.options;
  options.rate = absl::GetFlag(FLAGS_imu_rate);
  options.noise = absl::GetFlag(FLAGS_imu_noise);
  options.seed = static_cast<uint32_t>(absl::GetFlag(FLAGS_imu_seed));
  options.fault_from = absl::GetFlag(FLAGS_imu_fault_from);
  options.fault_to = absl::GetFlag(FLAGS_imu_fault_to);
  const double told_ms = absl::GetFlag(FLAGS_imu_offset_ms), untold_ms = absl::GetFlag(FLAGS_imu_untold_offset_ms);
  options.offset = 1e-3 * (told_ms + untold_ms);
  Vec3& at = options.camera_from_imu.position;
  Vec3 &gyroscope = options.gyroscope_bias, &accelerometer = options.accelerometer_bias;
  double yaw = 0, pitch = 0, roll = 0;
  absl::Status status = Between("--imu_rate", options.rate, 10, 4000);
  status.Update(Between("--imu_noise", options.noise, 0, 1000));
  status.Update(Between("--imu_offset_ms", told_ms, -1000, 1000));
  status.Update(Between("--imu_untold_offset_ms", untold_ms, -1000, 1000));
  status.Update(ReadFault(&options.fault));
  status.Update(Numbers("--imu_pose", absl::GetFlag(FLAGS_imu_pose), {&at.x, &at.y, &at.z, &yaw, &pitch, &roll}));
  status.Update(
      Numbers("--imu_bias", absl::GetFlag(FLAGS_imu_bias),
              {&gyroscope.x, &gyroscope.y, &gyroscope.z, &accelerometer.x, &accelerometer.y, &accelerometer.z}));
  status.Update(
      Numbers("--imu_range", absl::GetFlag(FLAGS_imu_range), {&options.gyroscope_range, &options.accelerometer_range}));
  GLINT_RETURN_IF_ERROR(status);
  if (std::max({std::fabs(yaw), std::fabs(pitch), std::fabs(roll)}) > 360) {
    return ContradictionError("--imu_pose", "has an angle of over 360 degrees");
  }
  options.camera_from_imu.rotation = Rotation(yaw, pitch, roll);
  flags.told_offset = 1e-3 * told_ms;
  return flags;
}

RigImu CalibrationOf(const ImuFlags& flags) {
  const ImuOptions& options = flags.options;
  RigImu imu;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      imu.rig_from_imu.rotation(row, column) =
          options.camera_from_imu.rotation.m[static_cast<size_t>(3 * row + column)];
    }
  }
  const Vec3 at = options.camera_from_imu.position;
  imu.rig_from_imu.translation = {at.x, at.y, at.z};
  imu.rate_hz = options.rate;
  const double factor = options.noise > 0 ? options.noise : 1;
  imu.gyroscope_noise_density = factor * options.gyroscope_noise_density;
  imu.gyroscope_random_walk = factor * options.gyroscope_random_walk;
  imu.accelerometer_noise_density = factor * options.accelerometer_noise_density;
  imu.accelerometer_random_walk = factor * options.accelerometer_random_walk;
  imu.imu_time_minus_camera_time = flags.told_offset;
  return imu;
}

}  // namespace glint::scene
