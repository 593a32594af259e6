#include "ros2/convert/pose_chain.h"

#include <cmath>

namespace glint::ros2 {
namespace {

using Matrix6 = Eigen::Matrix<double, 6, 6>;

// As slam/inertial/initializer.h decides where x of a level world is: sines of the angle between the camera's axis and
// the vertical, of a camera that looks up, and of one that looks up or down.
constexpr double kUpwards = 0.08715574274765817;
constexpr double kVertical = 0.1;

Eigen::Matrix3d CrossMatrix(const Eigen::Vector3d& v) {
  Eigen::Matrix3d m;
  m << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return m;
}

// A product keeps the rotation's columns orthonormal only to rounding, which adds up.
Eigen::Isometry3d Normalized(const Eigen::Isometry3d& transform) {
  Eigen::Isometry3d normalized = transform;
  normalized.linear() = Eigen::Quaterniond(transform.linear()).normalized().toRotationMatrix();
  return normalized;
}

std::optional<Eigen::Isometry3d> PoseOf(const CameraPose& pose) {
  const auto& [x, y, z, w] = pose.rotation;
  const Eigen::Quaterniond rotation(w, x, y, z);
  const Eigen::Vector3d position(pose.position[0], pose.position[1], pose.position[2]);
  const double norm = rotation.norm();
  if (!position.allFinite() || !std::isfinite(norm) || norm < 0.5) return std::nullopt;
  Eigen::Isometry3d made = Eigen::Isometry3d::Identity();
  made.linear() = rotation.normalized().toRotationMatrix();
  made.translation() = position;
  return made;
}

// What takes `angular` (by 1) to the rotation that it makes, and `linear` to the way on its arc: the left Jacobian of
// SO(3), Barfoot, State Estimation for Robotics, 7.77.
Eigen::Matrix3d ArcOf(const Eigen::Vector3d& turn) {
  const double angle = turn.norm();
  const Eigen::Matrix3d cross = CrossMatrix(turn);
  if (angle < 1e-4) return Eigen::Matrix3d::Identity() + cross / 2 + cross * cross / 6;
  const double square = angle * angle;
  return Eigen::Matrix3d::Identity() + (1 - std::cos(angle)) / square * cross +
         (angle - std::sin(angle)) / (square * angle) * cross * cross;
}

Eigen::Isometry3d StepOf(const Eigen::Vector3d& turn, const Eigen::Vector3d& way) {
  Eigen::Isometry3d step = Eigen::Isometry3d::Identity();
  const double angle = turn.norm();
  if (angle > 0) step.linear() = Eigen::AngleAxisd(angle, turn / angle).toRotationMatrix();
  step.translation() = ArcOf(turn) * way;
  return step;
}

Eigen::Vector3d TurnOf(const Eigen::Matrix3d& rotation) {
  const Eigen::AngleAxisd turn(rotation);
  return turn.angle() * turn.axis();
}

std::array<double, 3> ToArray(const Eigen::Vector3d& v) { return {v.x(), v.y(), v.z()}; }

// `by_rotation` is of a rotation and a position, or their rates, in some axes; that of ROS in axes that `turn` takes
// them to.
Covariance ToRos(const Matrix6& by_rotation, const Eigen::Matrix3d& turn) {
  Matrix6 order = Matrix6::Zero();
  order.topRightCorner<3, 3>() = order.bottomLeftCorner<3, 3>() = turn;
  const Matrix6 turned = order * by_rotation * order.transpose();
  Covariance covariance;
  Eigen::Map<Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(covariance.data()) = turned;
  return covariance;
}

}  // namespace

Eigen::Isometry3d BaseAtCamera() {
  Eigen::Isometry3d base_from_camera = Eigen::Isometry3d::Identity();
  base_from_camera.linear() << 0, 0, 1, -1, 0, 0, 0, -1, 0;
  return base_from_camera;
}

Eigen::Isometry3d ToIsometry(const RigidTransform& transform) {
  Eigen::Isometry3d made = Eigen::Isometry3d::Identity();
  made.linear() = transform.rotation;
  made.translation() = transform.translation;
  return made;
}

Eigen::Isometry3d BaseFromPosed(const Eigen::Isometry3d& base_from_left,
                                const std::optional<client::RectifiedPair>& rectified) {
  if (!rectified.has_value()) return base_from_left;
  Eigen::Isometry3d base_from_rectified = base_from_left;
  base_from_rectified.linear() = base_from_left.linear() * rectified->rectified_from_left.transpose();
  return base_from_rectified;
}

PoseChain::PoseChain(const Eigen::Isometry3d& base_from_camera, const std::optional<Eigen::Isometry3d>& base_from_imu)
    : base_from_camera_(Normalized(base_from_camera)), base_from_imu_(base_from_imu) {}

void PoseChain::BeginStream() { is_other_stream_ = true; }

// A level world's x is what was ahead of its first camera, made horizontal; the map's, what was ahead of the base
// there.
Eigen::Isometry3d PoseChain::MapFromWorld(bool is_level) const {
  if (!is_level) return base_from_camera_;
  const Eigen::Matrix3d& camera = base_from_camera_.linear();
  Eigen::Vector3d ahead = camera.col(2);
  const double horizontal = ahead.head<2>().norm();
  if (ahead.z() > 0 && horizontal < kUpwards) {
    ahead = camera.col(0);
  } else if (horizontal < kVertical) {
    ahead = -camera.col(1);
  }
  Eigen::Isometry3d map_from_world = Eigen::Isometry3d::Identity();
  map_from_world.linear() =
      Eigen::AngleAxisd(std::atan2(ahead.y(), ahead.x()), Eigen::Vector3d::UnitZ()).toRotationMatrix();
  map_from_world.translation() = base_from_camera_.translation();
  return map_from_world;
}

std::optional<Matrix6> PoseChain::CovarianceOf(const Location& location) const {
  if (!location.has_covariance) return std::nullopt;
  Matrix6 of_camera;
  size_t at = 0;
  for (Eigen::Index row = 0; row < 6; ++row) {
    for (Eigen::Index column = row; column < 6; ++column) {
      of_camera(row, column) = of_camera(column, row) = location.covariance[at++];
    }
  }
  if (!of_camera.allFinite() || !(of_camera.diagonal().minCoeff() > 0)) return std::nullopt;
  // A small motion of the camera, as one of the base, which is the same rigid body: the adjoint of base_from_camera.
  Matrix6 adjoint = Matrix6::Zero();
  const Eigen::Matrix3d& rotation = base_from_camera_.linear();
  adjoint.topLeftCorner<3, 3>() = adjoint.bottomRightCorner<3, 3>() = rotation;
  adjoint.bottomLeftCorner<3, 3>() = CrossMatrix(base_from_camera_.translation()) * rotation;
  return Matrix6(adjoint * of_camera * adjoint.transpose());
}

bool PoseChain::UseInertial(const Location& location, const Eigen::Matrix3d& world_from_base,
                            Velocity* velocity) const {
  if (!base_from_imu_.has_value() || !location.inertial.has_value() ||
      location.inertial->status != InertialStatus::kReady) {
    return false;
  }
  const auto& [x, y, z] = location.inertial->velocity;
  const Eigen::Vector3d of_imu = world_from_base.transpose() * Eigen::Vector3d(x, y, z);
  if (!of_imu.allFinite()) return false;
  velocity->linear = of_imu - velocity->angular.cross(base_from_imu_->translation());
  return true;
}

void PoseChain::FillVelocity(const Location& location, const Eigen::Isometry3d& step, bool is_measured, double seconds,
                             Last* now) const {
  if (!(seconds > 0 && seconds <= kLongestStep)) return;
  Velocity velocity;
  if (is_measured) {
    const Eigen::Vector3d turn = TurnOf(step.linear());
    velocity = {turn / seconds, ArcOf(turn).inverse() * step.translation() / seconds};
  } else if (last_->velocity.has_value()) {
    velocity = *last_->velocity;
  } else {
    return;
  }
  const bool is_inertial = UseInertial(location, now->world_from_base.linear(), &velocity);
  now->velocity = velocity;
  now->pose.angular = ToArray(velocity.angular);
  now->pose.linear = ToArray(velocity.linear);
  if (!is_measured || !last_->covariance.has_value() || !now->covariance.has_value()) return;
  Matrix6 covariance = (*last_->covariance + *now->covariance) / (seconds * seconds);
  if (is_inertial) {
    const Eigen::Matrix3d lever = CrossMatrix(base_from_imu_->translation());
    const Eigen::Matrix3d angular = covariance.topLeftCorner<3, 3>();
    const double sigma = location.inertial->velocity_sigma;
    covariance.bottomLeftCorner<3, 3>() = lever * angular;
    covariance.topRightCorner<3, 3>() = angular * lever.transpose();
    covariance.bottomRightCorner<3, 3>() =
        lever * angular * lever.transpose() + sigma * sigma * Eigen::Matrix3d::Identity();
  }
  now->pose.twist_covariance = ToRos(covariance, Eigen::Matrix3d::Identity());
}

std::optional<ChainPose> PoseChain::Take(const Location& location, int64_t stamp_ns) {
  if (last_.has_value() && location.world_correction.has_value()) {
    const std::optional<Eigen::Isometry3d> correction = PoseOf(*location.world_correction);
    if (correction.has_value()) last_->world_from_base = *correction * last_->world_from_base;
    is_corrected_ = true;
  }
  if (location.status == LocationStatus::kInitializing) return std::nullopt;
  Last now;
  now.is_level = location.level;
  map_from_world_ = MapFromWorld(now.is_level);
  const std::optional<Eigen::Isometry3d> world_from_camera = PoseOf(location.pose);
  if (!IsLocated(location.status) || !world_from_camera.has_value()) return std::nullopt;

  ChainPose& pose = now.pose;
  pose.stamp_ns = stamp_ns;
  pose.map_id = location.map_id;
  now.world_from_base = *world_from_camera * base_from_camera_.inverse();
  pose.map_from_base = Normalized(map_from_world_ * now.world_from_base);
  now.covariance = CovarianceOf(location);
  pose.new_world = !last_.has_value() || is_other_stream_ || last_->pose.map_id != location.map_id ||
                   last_->is_level != now.is_level;
  if (!last_.has_value()) {
    pose.odom_from_base = pose.map_from_base;
  } else {
    const double seconds = 1e-9 * static_cast<double>(stamp_ns - last_->pose.stamp_ns);
    const bool is_measured =
        !is_other_stream_ && (is_corrected_ || !pose.new_world) && location.status == LocationStatus::kTracking;
    const Eigen::Isometry3d step = last_->world_from_base.inverse() * now.world_from_base;
    FillVelocity(location, step, is_measured, seconds, &now);
    if (is_measured && !is_corrected_) {
      pose.map_from_odom = last_->pose.map_from_odom;
      pose.odom_from_base = pose.map_from_odom.inverse() * pose.map_from_base;
    } else {
      pose.odom_from_base = last_->pose.odom_from_base;
      if (is_measured) {
        pose.odom_from_base = Normalized(pose.odom_from_base * step);
      } else if (now.velocity.has_value()) {
        pose.odom_from_base =
            Normalized(pose.odom_from_base * StepOf(now.velocity->angular * seconds, now.velocity->linear * seconds));
      }
      pose.map_from_odom = Normalized(pose.map_from_base * pose.odom_from_base.inverse());
      pose.jumped = true;
    }
  }
  if (now.covariance.has_value()) {
    pose.covariance = ToRos(*now.covariance, pose.map_from_base.linear());
    pose.odom_covariance = ToRos(*now.covariance, pose.odom_from_base.linear());
  }
  is_corrected_ = is_other_stream_ = false;
  last_ = now;
  return last_->pose;
}

}  // namespace glint::ros2
