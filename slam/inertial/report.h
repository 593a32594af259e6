// What a stream with an inertial sensor is told of it.
#ifndef GLINT_SLAM_INERTIAL_REPORT_H_
#define GLINT_SLAM_INERTIAL_REPORT_H_

#include <Eigen/Core>
#include <cstdint>

#include "features/location_report.h"
#include "slam/geometry/pose.h"
#include "slam/inertial/imu.h"

namespace glint::slam {

struct InertialReport {
  InertialStatus status = InertialStatus::kNone;
  bool is_level = false;  // the world's z points up, against gravity
  // While kReady, at the frame: the sensor's velocity in the world, its biases, and their standard deviations (of each,
  // the largest axis).
  ImuMotion motion;
  double velocity_sigma = 0;
  double gyroscope_bias_sigma = 0;
  double accelerometer_bias_sigma = 0;
  // Of a frame that images located while kReady: squared difference of the pose that the sensor predicted from the last
  // frame, normalised by what both explain, per degree of freedom (3 each): about 1 or less where all is well.
  double rotation_innovation = 0;
  double position_innovation = 0;
  double blind_seconds = 0;  // since images located a frame, 0 if they did this one
  ImuReceived counts;
};

// Where the sensor says that the camera is, after the last frame.
struct PredictedPose {
  int64_t time_ns = 0;  // of the images' clock
  Pose world_from_camera;
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();  // of the sensor in the world, m/s
  // As OdometryResult::covariance.
  Eigen::Matrix<double, 6, 6> covariance = Eigen::Matrix<double, 6, 6>::Zero();
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_REPORT_H_
