#include "ros2/operations/localize/publications.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"
#include "features/steady_time.h"
#include "ros2/operations/complain.h"

namespace glint::ros2 {
namespace {

constexpr Qos kTransforms = {true, false, 100};
// So long fixed transforms are waited for, which come when their publisher is found.
constexpr absl::Duration kWaitForTransforms = absl::Seconds(3), kLookAgain = absl::Seconds(1);

Eigen::Isometry3d ToIsometry(const std::array<double, 7>& pose) {
  Eigen::Isometry3d to = Eigen::Isometry3d::Identity();
  to.linear() = Eigen::Quaterniond(pose[6], pose[3], pose[4], pose[5]).normalized().toRotationMatrix();
  to.translation() = Eigen::Vector3d(pose[0], pose[1], pose[2]);
  return to;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Publications>> Publications::Open(const Context& context) {
  std::unique_ptr<Publications> made(new Publications(context));
  GLINT_ASSIGN_OR_RETURN(made->odometry_, Topic<ros::Odometry>::Advertise(context, "odometry"));
  GLINT_ASSIGN_OR_RETURN(made->pose_, Topic<ros::PoseWithCovarianceStamped>::Advertise(context, "pose"));
  GLINT_ASSIGN_OR_RETURN(made->path_, Topic<ros::Path>::Advertise(context, "path", kLatched));
  GLINT_ASSIGN_OR_RETURN(made->points_, Topic<ros::PointCloud2>::Advertise(context, "map_points", kLatched));
  const FramesConfig& frames = context.config->frames;
  if (!frames.publish_tf) return made;
  GLINT_ASSIGN_OR_RETURN(made->transforms_, Topic<ros::TFMessage>::Advertise(context, "/tf", kTransforms));
  if (!frames.base_from_camera.has_value()) return made;
  GLINT_ASSIGN_OR_RETURN(made->static_transforms_, Topic<ros::TFMessage>::Advertise(context, "/tf_static", kLatched));
  return made;
}

void Publications::BeginStream(const std::optional<RigidTransform>& camera_from_imu) {
  camera_from_imu_ = camera_from_imu;
  if (chain_.has_value()) chain_->BeginStream();
}

void Publications::Take(const client::LocalizeAnswer& answer, const Frame& frame) {
  Settle(answer, frame);
  stamp_ns_ = frame.left.stamp_ns;
  if (!chain_.has_value()) return;
  const std::optional<ChainPose> pose = chain_->Take(answer.location, stamp_ns_);
  if (!pose.has_value()) return;
  if (odometry_.wanted()) {
    FillOdometry(*pose, frames_, &odometry_.message);
    odometry_.Publish();
  }
  if (transforms_.has_value() && transforms_->wanted()) {
    FillTransforms(*pose, frames_, &transforms_->message);
    transforms_->Publish();
  }
  if (pose_.wanted()) {
    FillPose(*pose, frames_, &pose_.message);
    pose_.Publish();
  }
  path_log_.Add(*pose, frames_);
  if (!path_.wanted()) return;
  if (const ros::Path* path = path_log_.Take(); path != nullptr) path_.Publish(*path);
}

void Publications::PublishPoints(const std::vector<std::array<float, 3>>& points) {
  if (!chain_.has_value() || !points_.wanted()) return;
  FillMapCloud(points, chain_->map_from_world(), stamp_ns_, frames_, &point_bytes_, &points_.message);
  points_.Publish();
}

void Publications::Settle(const client::LocalizeAnswer& answer, const Frame& frame) {
  if (mount_ == Mount::kConfigured || mount_ == Mount::kTransforms) return;
  const absl::Time now = SteadyNow();
  first_ = std::min(first_, now);
  frames_ = FrameNamesOf(*context_.config, frame);
  if (const auto& pose = context_.config->frames.base_from_camera; pose.has_value()) {
    if (static_transforms_.has_value() && !frames_.camera.empty()) {
      FillStaticTransform(ToIsometry(*pose), frames_.base, frames_.camera, frame.left.stamp_ns,
                          &static_transforms_->message);
      static_transforms_->Publish();
    }
    return Begin(Mount::kConfigured, ToIsometry(*pose), answer);
  }
  if (mount_ == Mount::kCameraIsBase && now - looked_ < kLookAgain) return;
  looked_ = now;
  const auto found = context_.input->Transform(frames_.base, frames_.camera);
  if (found.has_value()) return Begin(Mount::kTransforms, ToIsometry(*found), answer);
  if (mount_ == Mount::kUnknown && now - first_ > kWaitForTransforms) {
    Complain(absl::StrCat("localize: no transform from \"", frames_.camera, "\" to \"", frames_.base,
                          "\" is known (/tf_static, frames.base_from_camera): the camera stands in the base's place"));
    Begin(Mount::kCameraIsBase, BaseAtCamera(), answer);
  }
}

void Publications::Begin(Mount mount, const Eigen::Isometry3d& base_from_left, const client::LocalizeAnswer& answer) {
  std::optional<Eigen::Isometry3d> base_from_imu;
  if (camera_from_imu_.has_value()) base_from_imu = base_from_left * ToIsometry(*camera_from_imu_);
  chain_.emplace(BaseFromPosed(base_from_left, answer.rectified), base_from_imu);
  path_log_.Clear();
  mount_ = mount;
}

void Publications::AddFigures(ros::DiagnosticStatus* status) const {
  static constexpr const char* kTexts[] = {"not known yet",
                                           "in the base's place: no transform from it to the base is known",
                                           "by /tf_static", "by frames.base_from_camera"};
  status->values.push_back({"camera on the base", kTexts[static_cast<int>(mount_.load())]});
  if (mount_ != Mount::kCameraIsBase || status->level != ros::DiagnosticStatus::kOk) return;
  status->level = ros::DiagnosticStatus::kWarn;
  status->message = absl::StrCat(status->message, "; the camera stands ", kTexts[1]);
}

}  // namespace glint::ros2
