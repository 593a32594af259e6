#include "ros2/convert/messages.h"

#include <algorithm>
#include <utility>

namespace glint::ros2 {
namespace {

ros::Quaternion ToRos(const Eigen::Matrix3d& rotation) {
  Eigen::Quaterniond q(rotation);
  q.normalize();
  if (q.w() < 0) q.coeffs() = -q.coeffs();
  return {q.x(), q.y(), q.z(), q.w()};
}

ros::Pose ToPose(const Eigen::Isometry3d& pose) {
  const Eigen::Vector3d p = pose.translation();
  return {{p.x(), p.y(), p.z()}, ToRos(pose.linear())};
}

ros::Transform ToTransform(const Eigen::Isometry3d& transform) {
  const Eigen::Vector3d t = transform.translation();
  return {{t.x(), t.y(), t.z()}, ToRos(transform.linear())};
}

void FillHeader(int64_t stamp_ns, const std::string& frame_id, ros::Header* header) {
  header->stamp = ros::TimeOf(stamp_ns);
  header->frame_id = frame_id;
}

void FillTransform(const Eigen::Isometry3d& parent_from_child, const std::string& parent, const std::string& child,
                   int64_t stamp_ns, ros::TransformStamped* message) {
  FillHeader(stamp_ns, parent, &message->header);
  message->child_frame_id = child;
  message->transform = ToTransform(parent_from_child);
}

Covariance Unknown() {
  Covariance covariance = {};
  for (size_t i = 0; i < 6; ++i) covariance[7 * i] = kUnknownVariance;
  return covariance;
}

ros::Vector3 ToVector(const std::optional<std::array<double, 3>>& v) {
  return v.has_value() ? ros::Vector3{(*v)[0], (*v)[1], (*v)[2]} : ros::Vector3();
}

}  // namespace

ros::Header HeaderOf(int64_t stamp_ns, const std::string& frame_id) { return {ros::TimeOf(stamp_ns), frame_id}; }

void FillOdometry(const ChainPose& pose, const FrameNames& frames, ros::Odometry* message) {
  FillHeader(pose.stamp_ns, frames.odom, &message->header);
  message->child_frame_id = frames.base;
  message->pose = {ToPose(pose.odom_from_base), pose.odom_covariance.value_or(Unknown())};
  message->twist = {{ToVector(pose.linear), ToVector(pose.angular)}, pose.twist_covariance.value_or(Unknown())};
}

void FillPose(const ChainPose& pose, const FrameNames& frames, ros::PoseWithCovarianceStamped* message) {
  FillHeader(pose.stamp_ns, frames.map, &message->header);
  message->pose = {ToPose(pose.map_from_base), pose.covariance.value_or(Unknown())};
}

void FillTransforms(const ChainPose& pose, const FrameNames& frames, ros::TFMessage* message) {
  message->transforms.resize(2);
  FillTransform(pose.map_from_odom, frames.map, frames.odom, pose.stamp_ns, &message->transforms[0]);
  FillTransform(pose.odom_from_base, frames.odom, frames.base, pose.stamp_ns, &message->transforms[1]);
}

void FillStaticTransform(const Eigen::Isometry3d& parent_from_child, const std::string& parent,
                         const std::string& child, int64_t stamp_ns, ros::TFMessage* message) {
  message->transforms.resize(1);
  FillTransform(parent_from_child, parent, child, stamp_ns, &message->transforms[0]);
}

PathLog::PathLog(size_t most_poses, double spacing, double turn)
    : most_poses_(std::max<size_t>(most_poses, 2)),
      first_spacing_(spacing),
      first_turn_(turn),
      spacing_(spacing),
      turn_(turn) {}

void PathLog::Clear() {
  is_new_ = is_new_ || !path_.poses.empty();
  path_.poses.clear();
  spacing_ = first_spacing_;
  turn_ = first_turn_;
}

void PathLog::Add(const ChainPose& pose, const FrameNames& frames) {
  if (pose.new_world) Clear();
  stamp_ns_ = pose.stamp_ns;
  const Eigen::Vector3d position = pose.map_from_base.translation();
  const Eigen::Quaterniond rotation(pose.map_from_base.linear());
  std::vector<ros::PoseStamped>& poses = path_.poses;
  if (!poses.empty()) {
    const ros::Pose& last = poses.back().pose;
    const auto& [x, y, z, w] = last.orientation;
    const Eigen::Vector3d from(last.position.x, last.position.y, last.position.z);
    if ((position - from).norm() < spacing_ && Eigen::Quaterniond(w, x, y, z).angularDistance(rotation) < turn_) return;
  }
  if (poses.size() >= most_poses_) {
    size_t kept = 0;
    for (size_t i = 0; i < poses.size(); i += 2) std::swap(poses[kept++], poses[i]);
    poses.resize(kept);
    spacing_ *= 2;
    turn_ *= 2;
  }
  poses.emplace_back();
  FillHeader(pose.stamp_ns, frames.map, &poses.back().header);
  poses.back().pose = ToPose(pose.map_from_base);
  FillHeader(pose.stamp_ns, frames.map, &path_.header);
  is_new_ = true;
}

const ros::Path* PathLog::Take(int64_t every_ns) {
  // Stamps may begin anew, as those of a bag do.
  const bool is_due = !taken_ns_.has_value() || stamp_ns_ < *taken_ns_ || stamp_ns_ - *taken_ns_ >= every_ns;
  if (!is_new_ || !is_due) return nullptr;
  taken_ns_ = stamp_ns_;
  is_new_ = false;
  return &path_;
}

}  // namespace glint::ros2
