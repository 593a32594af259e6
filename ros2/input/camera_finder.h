// The cameras of the images: from files, or CameraInfo, and where the inertial sensor is to them.
#ifndef GLINT_ROS2_INPUT_CAMERA_FINDER_H_
#define GLINT_ROS2_INPUT_CAMERA_FINDER_H_

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "calibration/calibration.h"
#include "features/types.h"
#include "ros/messages.h"
#include "ros/transforms.h"
#include "ros2/config/config.h"
#include "ros2/input/input.h"
#include "ros2/input/topics.h"

namespace glint::ros2 {

// Thread-safe.
class CameraFinder {
 public:
  CameraFinder(CameraConfig camera, const ImuConfig& imu, Topics topics);

  // CameraInfo of a side, 0 or 1. FAILED_PRECONDITION: it is not the one that the cameras were made of, which stays.
  absl::Status Take(size_t side, const ros::CameraInfo& info);
  // Adds fixed transforms; errors of ros::Transforms::Add().
  absl::Status Take(const ros::TFMessage& message);
  // The first left image, and the first reading of the inertial sensor; later ones change nothing.
  void SawImage(const Picture& left);
  void SawImu(const std::string& frame_id);

  std::optional<RigidTransform> Transform(const std::string& to, const std::string& from) const;
  // Nothing: `why` says what is missing, or wrong. Once there are any they stay, unless they turn out to be wrong.
  std::optional<Cameras> Find(std::string* why) const;
  // What is waited for is wrong, and not only missing.
  bool failed() const;

 private:
  absl::StatusOr<Cameras> Make() const;
  absl::StatusOr<calibration::Calibration> ReadCalibration() const;
  absl::Status CheckInfo(size_t side) const;
  absl::Status AddImu(calibration::Calibration* calibration) const;

  const CameraConfig camera_;
  const bool has_imu_, has_camera_from_imu_;  // as the configuration says
  const Topics topics_;

  mutable std::mutex mutex_;
  std::array<std::optional<ros::CameraInfo>, 2> infos_;
  Shape image_;  // 0 x 0: none was seen
  std::string image_frame_;
  std::optional<std::string> imu_frame_;
  ros::Transforms transforms_;
  mutable bool is_new_ = true;  // something came since `made_`
  mutable absl::StatusOr<Cameras> made_;
  mutable int versions_ = 0;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_INPUT_CAMERA_FINDER_H_
