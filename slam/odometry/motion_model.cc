#include "slam/odometry/motion_model.h"

#include <Eigen/Geometry>

namespace glint::slam {
namespace {

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
  return {Scaled(velocity_, seconds) * last, true, (1 + skipped) * seconds / interval_};
}

}  // namespace glint::slam
