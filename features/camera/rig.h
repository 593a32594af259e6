// Rigs: cameras, and an inertial sensor, that are fixed to each other.
#ifndef GLINT_FEATURES_CAMERA_RIG_H_
#define GLINT_FEATURES_CAMERA_RIG_H_

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "features/camera/camera.h"

namespace glint {

// "b from a": takes coordinates of frame a to those of frame b, p_b = rotation * p_a + translation. Metres.
struct RigidTransform {
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();

  Eigen::Vector3d operator*(const Eigen::Vector3d& p) const { return rotation * p + translation; }
  // c from a = (c from b) * (b from a).
  RigidTransform operator*(const RigidTransform& b_from_a) const {
    return {rotation * b_from_a.rotation, rotation * b_from_a.translation + translation};
  }
  RigidTransform Inverse() const { return {rotation.transpose(), -(rotation.transpose() * translation)}; }
};

// The rotation nearest to `matrix`. INVALID_ARGUMENT says what else it is: a product with its transpose that is off the
// identity by more than 0.01, a mirror.
absl::StatusOr<Eigen::Matrix3d> NearestRotation(const Eigen::Matrix3d& matrix);

struct RigCamera {
  std::string name;  // as the file calls it: "cam0", "left"
  Camera camera;
  RigidTransform rig_from_camera;
  // Unless the file says nothing of it: the rotation and projection of a rectified image of this camera.
  std::optional<Eigen::Matrix3d> rectified_from_camera;
  std::optional<Eigen::Matrix<double, 3, 4>> projection;
};

// Noise of an inertial sensor in continuous time; 0: unknown.
struct RigImu {
  RigidTransform rig_from_imu;
  double rate_hz = 0;
  double gyroscope_noise_density = 0;      // rad/s/sqrt(Hz)
  double gyroscope_random_walk = 0;        // rad/s^2/sqrt(Hz)
  double accelerometer_noise_density = 0;  // m/s^2/sqrt(Hz)
  double accelerometer_random_walk = 0;    // m/s^3/sqrt(Hz)
  double imu_time_minus_camera_time = 0;   // seconds: time of the sensor's clock = time of the images + this
};

// The rig's frame is the first camera's where a file has no other.
struct Rig {
  std::vector<RigCamera> cameras;
  std::optional<RigImu> imu;
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_RIG_H_
