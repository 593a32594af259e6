// Where answers of localization go: odometry, pose, path, transforms and points of the map.
#ifndef GLINT_ROS2_OPERATIONS_LOCALIZE_PUBLICATIONS_H_
#define GLINT_ROS2_OPERATIONS_LOCALIZE_PUBLICATIONS_H_

#include <Eigen/Geometry>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/localization.h"
#include "features/camera/rig.h"
#include "ros/messages.h"
#include "ros2/convert/pose_chain.h"
#include "ros2/operations/context.h"
#include "ros2/operations/topic.h"

namespace glint::ros2 {

// One thread at a time, but for AddFigures() and wants_points().
class Publications {
 public:
  static absl::StatusOr<std::unique_ptr<Publications>> Open(const Context& context);

  // The next answer is of another stream: of a world of its own. The odometry goes on. `camera_from_imu`: of the left
  // camera, if the stream has an inertial sensor.
  void BeginStream(const std::optional<RigidTransform>& camera_from_imu);
  // Of each answer that is OK, in the order of stamps. A pair that is not located publishes nothing, so that nobody
  // takes an old pose for a new one; nor does one before it is known where the camera sits on the base.
  void Take(const client::LocalizeAnswer& answer, const Frame& frame);

  bool wants_points() const { return points_.wanted(); }
  // Of the map that the last answer is in.
  void PublishPoints(const std::vector<std::array<float, 3>>& points);

  // Where the camera sits on the base, and warnings about that.
  void AddFigures(ros::DiagnosticStatus* status) const;

 private:
  enum class Mount { kUnknown, kCameraIsBase, kTransforms, kConfigured };

  explicit Publications(const Context& context) : context_(context) {}

  // Finds out where the camera sits, and begins the chain of poses when that is known, or better known than before.
  void Settle(const client::LocalizeAnswer& answer, const Frame& frame);
  void Begin(Mount mount, const Eigen::Isometry3d& base_from_left, const client::LocalizeAnswer& answer);

  const Context context_;
  FrameNames frames_;
  Topic<ros::Odometry> odometry_;
  Topic<ros::PoseWithCovarianceStamped> pose_;
  Topic<ros::Path> path_;
  PathLog path_log_;
  Topic<ros::PointCloud2> points_;
  std::optional<Topic<ros::TFMessage>> transforms_, static_transforms_;
  std::vector<uint8_t> point_bytes_;

  std::optional<RigidTransform> camera_from_imu_;
  std::optional<PoseChain> chain_;
  int64_t stamp_ns_ = 0;  // of the last answer
  absl::Time first_ = absl::InfiniteFuture(), looked_ = absl::InfinitePast();

  std::atomic<Mount> mount_ = Mount::kUnknown;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_LOCALIZE_PUBLICATIONS_H_
