#include "slam/odometry/motion_model.h"

#include <Eigen/Geometry>
#include <algorithm>

namespace glint::slam {
namespace {

constexpr double kFarthest = 8;  // intervals ahead: no motion goes on for longer

// A motion of `factor` times the length.
Pose Scaled(const Pose& motion, double factor) {
  const Eigen::AngleAxisd rotation(motion.rotation);
  return {RotationOf(rotation.axis() * rotation.angle() * factor), motion.translation * factor};
}

}  // namespace

void MotionModel::Update(const Pose& from, const Pose& to, double seconds) {
  interval_ = seconds;
  velocity_ = Scaled(to * from.Inverse(), 1 / seconds);
  is_known_ = true;
}

PosePrediction MotionModel::Predict(const Pose& last, double seconds, int skipped) const {
  if (!is_known_) return {last, false, 1};
  return {Scaled(velocity_, std::min(seconds, kFarthest * interval_)) * last, true,
          (1 + skipped) * seconds / interval_};
}

}  // namespace glint::slam
