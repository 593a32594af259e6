// --imu and its options: readings of an inertial sensor, and what is known of it.
#ifndef GLINT_CLIENT_CLI_LOCALIZE_IMU_FLAGS_H_
#define GLINT_CLIENT_CLI_LOCALIZE_IMU_FLAGS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cli/base/flags.h"
#include "client/cli/source/imu_file.h"
#include "client/localization.h"

namespace glint::cli {

class ImuFlags {
 public:
  void AddTo(Flags* flags);
  bool given() const { return !paths_.empty(); }
  const std::string& poses() const { return poses_; }  // a file for those at the sensor's rate; empty: none are wanted
  const std::string& paths() const { return paths_; }  // with --bag: topics
  // INVALID_ARGUMENT: options that need --imu.
  absl::Status Validate() const;

  // With --imu. Errors of ReadImu().
  absl::StatusOr<ImuRecording> Read() const { return ReadImu(paths_); }
  // With --imu: what the calibration says, if it has a sensor, and the options in place of it. INVALID_ARGUMENT also
  // names what neither says.
  absl::StatusOr<client::InertialSensor> Sensor(const std::optional<client::InertialSensor>& of_calibration) const;
  // INVALID_ARGUMENT: the first pair has no time (nothing), or one that cannot be of the recording's clock.
  static absl::Status CheckTime(std::optional<absl::Duration> first, const ImuRecording& recording);

 private:
  std::string paths_, camera_from_imu_, noise_, range_, poses_;
  std::optional<double> offset_;  // seconds
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_LOCALIZE_IMU_FLAGS_H_
