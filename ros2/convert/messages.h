// Answers of the service as messages of ROS. Messages are filled in place, and their memory is used again. Pure.
//
// What is not known of a covariance is kUnknownVariance on its diagonal: 0 would be taken for certain by what fuses it
// (robot_localization), and -1 is for sensor_msgs/Imu alone.
#ifndef GLINT_ROS2_CONVERT_MESSAGES_H_
#define GLINT_ROS2_CONVERT_MESSAGES_H_

#include <Eigen/Geometry>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/localization.h"
#include "client/matching.h"
#include "client/result.h"
#include "client/tracking.h"
#include "ros/messages.h"
#include "ros2/convert/pose_chain.h"

namespace glint::ros2 {

inline constexpr double kUnknownVariance = 1e6;  // m^2, rad^2 and these a second^2

struct FrameNames {
  std::string map, odom, base, camera;
};

// `stamp_ns`, here and below, is in -2^31 * 10^9 .. 2^31 * 10^9 - 1: what a header of ROS can have had.
ros::Header HeaderOf(int64_t stamp_ns, const std::string& frame_id);

// odom -> base, with the covariance of the pose beside the map in odom's axes, and the velocity in the base's axes.
void FillOdometry(const ChainPose& pose, const FrameNames& frames, ros::Odometry* message);
// map -> base.
void FillPose(const ChainPose& pose, const FrameNames& frames, ros::PoseWithCovarianceStamped* message);
// map -> odom and odom -> base.
void FillTransforms(const ChainPose& pose, const FrameNames& frames, ros::TFMessage* message);
void FillStaticTransform(const Eigen::Isometry3d& parent_from_child, const std::string& parent,
                         const std::string& child, int64_t stamp_ns, ros::TFMessage* message);

// map -> base over time, as it was answered: what a loop corrects later is not corrected in it. Begins anew with
// another map, and where the map becomes level. Thread-compatible.
class PathLog {
 public:
  // Poses are kept that lie this far from the last one kept, or are turned this far. Of `most_poses` (2 at least) every
  // second is dropped, and both spacings doubled, so that the path stays whole.
  explicit PathLog(size_t most_poses = 2000, double spacing = 0.05, double turn = 0.1);

  void Add(const ChainPose& pose, const FrameNames& frames);
  // The path, if it has changed and `every_ns` has passed, by the stamps of poses, since it was taken last; else null.
  // Valid until the next call.
  const ros::Path* Take(int64_t every_ns = 1'000'000'000);
  void Clear();

 private:
  const size_t most_poses_;
  const double first_spacing_, first_turn_;
  double spacing_, turn_;
  ros::Path path_;
  int64_t stamp_ns_ = 0;  // of the last pose, kept or not
  std::optional<int64_t> taken_ns_;
  bool is_new_ = false;
};

// Clouds: `data` has the bytes, which the message points to. Values are little-endian.
//
// The map's points in frames.map: x, y, z (float32).
void FillMapCloud(const std::vector<std::array<float, 3>>& points, const Eigen::Isometry3d& map_from_world,
                  int64_t stamp_ns, const FrameNames& frames, std::vector<uint8_t>* data, ros::PointCloud2* message);
// In frames.camera, x and y in pixels, not metres, and z 0: x, y, z, response, size, angle (float32), octave (int32).
void FillKeypoints(const Features& features, int64_t stamp_ns, const FrameNames& frames, std::vector<uint8_t>* data,
                   ros::PointCloud2* message);
// Likewise, of all cameras: x, y, z (float32), camera, state (uint8; TrackState), id (float64, whole), age (int32),
// last_x, last_y, residual (float32); with calibrations also ray_x, ray_y, ray_z (float32). Tracks that ended are
// there once more.
void FillTracks(const client::TrackAnswer& answer, int64_t stamp_ns, const FrameNames& frames,
                std::vector<uint8_t>* data, ros::PointCloud2* message);
// Matches that have a depth, in frames.camera, metres, x right, y down, z ahead: x, y, z, then u, v (pixels of the
// rectified left image), disparity, response (float32). Of raw images the axes are those of the raw left camera.
// `camera`: of rectified images; of raw ones the answer has it.
void FillStereoPoints(const client::StereoAnswer& answer, const client::StereoCamera& camera, int64_t stamp_ns,
                      const FrameNames& frames, std::vector<uint8_t>* data, ros::PointCloud2* message);
// 32FC1 of the rectified left image, at the pixel next to each match; of several there the first. Elsewhere
// kNoDisparity, which lies below min_disparity (0), as stereo_image_proc has it. `camera` as above, with its size;
// where it has neither focal length nor projections, f and t are 0.
inline constexpr float kNoDisparity = -1;
void FillDisparity(const client::StereoAnswer& answer, const client::StereoCamera& camera, int64_t stamp_ns,
                   const FrameNames& frames, std::vector<uint8_t>* data, ros::DisparityImage* message);

// Of the answer to a pair: status, warnings, figures and stage times. OK: located, and nothing is wrong. WARN:
// initializing, coasting, another map, dropped, or with warnings. ERROR: lost, or failed. hardware_id is empty.
ros::DiagnosticStatus DiagnosticOf(const std::string& name, const client::LocalizeAnswer& answer);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_CONVERT_MESSAGES_H_
