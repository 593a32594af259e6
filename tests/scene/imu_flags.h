// Flags of tools that are about a simulated inertial sensor.
#ifndef GLINT_TESTS_SCENE_IMU_FLAGS_H_
#define GLINT_TESTS_SCENE_IMU_FLAGS_H_

#include "absl/status/statusor.h"
#include "features/camera/rig.h"
#include "tests/scene/imu_path.h"

namespace glint::scene {

struct ImuFlags {
  ImuOptions options;
  double told_offset = 0;  // seconds, the part of options.offset that a calibration knows of
};
absl::StatusOr<ImuFlags> ReadImuFlags();

// What a calibration says of it, with the left camera as the rig.
RigImu CalibrationOf(const ImuFlags& flags);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_IMU_FLAGS_H_
