#include "slam/pose_solver.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace glint::slam {
namespace {

using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;
using Jacobian = Eigen::Matrix<double, 4, 6>;  // rows: left x, left y, disparity, rise

constexpr int kRounds = 4;
constexpr int kRobustRounds = 2;
constexpr int kIterations = 10;
constexpr double kHuber = 2;       // standard deviations
constexpr double kNearest = 0.05;  // metres: points nearer than this are behind or in the camera
constexpr int kHypotheses = 300;
constexpr double kLoose = 9;  // for a hypothesis, whose three points have errors, too

// Of pixel coordinates (focal length * x / z, likewise y) by camera coordinates.
Eigen::Matrix<double, 2, 3> ByPoint(double focal_length, const Eigen::Vector3d& p) {
  const double by_z = focal_length / p.z();
  Eigen::Matrix<double, 2, 3> j;
  j << by_z, 0, -by_z * p.x() / p.z(),  //
      0, by_z, -by_z * p.y() / p.z();
  return j;
}

// Of the coordinates of a turned and shifted point.
Eigen::Matrix<double, 3, 6> ByTurnAndShift(const Eigen::Vector3d& p) {
  Eigen::Matrix<double, 3, 6> by_motion;
  by_motion << 0, p.z(), -p.y(), 1, 0, 0,  //
      -p.z(), 0, p.x(), 0, 1, 0,           //
      p.y(), -p.x(), 0, 0, 0, 1;
  return by_motion;
}

// Those whose squared error is at most `loose` times the largest.
int CountInliers(const StereoCamera& camera, const std::vector<PointSight>& sights, const Pose& pose, double loose,
                 std::vector<uint8_t>* is_inlier) {
  int inliers = 0;
  for (size_t i = 0; i < sights.size(); ++i) {
    const Sight& sight = sights[i].sight;
    const Eigen::Vector3d p = pose * sights[i].point;
    const bool in = p.z() >= kNearest && SquaredError(Project(camera, p), sight) <= loose * LargestSquaredError(sight);
    if (is_inlier != nullptr) (*is_inlier)[i] = in ? 1 : 0;
    inliers += in ? 1 : 0;
  }
  return inliers;
}

// The normal equations at `pose`.
void Accumulate(const StereoCamera& camera, const std::vector<PointSight>& sights,
                const std::vector<uint8_t>& is_inlier, const Pose& pose, bool robust, Matrix6* h, Vector6* g) {
  h->setZero();
  g->setZero();
  const Eigen::Matrix3d rig = RotationOf(camera.rig_rotation).toRotationMatrix();
  for (size_t i = 0; i < sights.size(); ++i) {
    if (is_inlier[i] == 0) continue;
    const Sight& sight = sights[i].sight;
    const Eigen::Vector3d p = pose * sights[i].point;
    if (p.z() < kNearest) continue;
    const StereoPixel projected = Project(camera, p);
    const Jacobian j = JacobianOf(camera, rig, p).by_motion;
    Eigen::Vector4d error;
    error << projected.left - sight.pixel.left, projected.disparity - sight.pixel.disparity,
        projected.rise - sight.pixel.rise;
    const Eigen::Vector4d deviation{sight.position_error, sight.position_error, sight.disparity_error,
                                    sight.rise_error};
    Eigen::Vector4d weight = deviation.cwiseAbs2().cwiseInverse();
    if (!sight.is_stereo) weight.tail<2>().setZero();
    if (robust) {
      const double norm = std::sqrt(error.cwiseAbs2().dot(weight));
      if (norm > kHuber) weight *= kHuber / norm;
    }
    *h += j.transpose() * weight.asDiagonal() * j;
    *g += j.transpose() * weight.cwiseProduct(error);
  }
}

}  // namespace

SightJacobian JacobianOf(const StereoCamera& camera, const Eigen::Matrix3d& rig, const Eigen::Vector3d& point) {
  const Eigen::Vector3d q = rig * (point - Eigen::Vector3d(camera.baseline, 0, 0));
  const Eigen::Matrix<double, 2, 3> by_right = ByPoint(camera.focal_length, q);
  SightJacobian j;
  j.by_point.topRows<2>() = ByPoint(camera.focal_length, point);
  j.by_point.bottomRows<2>() = j.by_point.topRows<2>() - by_right * rig;
  j.by_motion = j.by_point * ByTurnAndShift(point);
  j.by_rig.topRows<2>().setZero();
  j.by_rig.bottomRows<2>() = -by_right * ByTurnAndShift(q).leftCols<3>();
  return j;
}

PoseFit RefinePose(const StereoCamera& camera, const std::vector<PointSight>& sights, Pose* camera_from_world) {
  PoseFit fit;
  fit.is_inlier.assign(sights.size(), 1);
  Matrix6 h;
  Vector6 g;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kIterations; ++i) {
      Accumulate(camera, sights, fit.is_inlier, *camera_from_world, round < kRobustRounds, &h, &g);
      const Eigen::LDLT<Matrix6> solver(h);
      if (solver.info() != Eigen::Success || !solver.isPositive()) break;
      const Vector6 step = -solver.solve(g);
      if (!step.allFinite()) break;
      *camera_from_world = Pose{RotationOf(step.head<3>()), step.tail<3>()} * *camera_from_world;
      if (step.head<3>().norm() < 1e-7 && step.tail<3>().norm() < 1e-6) break;
    }
    fit.inliers = CountInliers(camera, sights, *camera_from_world, 1, &fit.is_inlier);
  }
  Accumulate(camera, sights, fit.is_inlier, *camera_from_world, false, &h, &g);
  const Eigen::LDLT<Matrix6> solver(h);
  if (fit.inliers >= 3 && solver.info() == Eigen::Success) fit.covariance = solver.solve(Matrix6::Identity());
  return fit;
}

bool FindPose(const StereoCamera& camera, const std::vector<PointSight>& sights, int min_inliers,
              Pose* camera_from_world) {
  std::vector<size_t> usable;
  std::vector<Eigen::Vector3d> seen(sights.size());  // camera coordinates
  for (size_t i = 0; i < sights.size(); ++i) {
    const StereoPixel& pixel = sights[i].sight.pixel;
    if (sights[i].sight.is_stereo && Triangulate(camera, pixel.left.x(), pixel.left.y(), pixel.disparity, &seen[i])) {
      usable.push_back(i);
    }
  }
  if (usable.size() < 3) return false;
  uint64_t state = 1;  // Knuth's MMIX generator; the same choices for every call with as many points
  const auto draw = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return usable[static_cast<size_t>((state >> 33) % usable.size())];
  };
  int most = min_inliers - 1;
  for (int hypothesis = 0; hypothesis < kHypotheses; ++hypothesis) {
    Eigen::Matrix3d from;
    Eigen::Matrix3d to;
    size_t drawn[3];
    for (int k = 0; k < 3; ++k) {
      drawn[k] = draw();
      from.col(k) = sights[drawn[k]].point;
      to.col(k) = seen[drawn[k]];
    }
    if (drawn[0] == drawn[1] || drawn[0] == drawn[2] || drawn[1] == drawn[2]) continue;
    const Eigen::Matrix4d motion = Eigen::umeyama(from, to, false);
    if (!motion.allFinite()) continue;
    const Pose pose{Eigen::Quaterniond(Eigen::Matrix3d(motion.topLeftCorner<3, 3>())).normalized(),
                    motion.topRightCorner<3, 1>()};
    const int inliers = CountInliers(camera, sights, pose, kLoose, nullptr);
    if (inliers <= most) continue;
    most = inliers;
    *camera_from_world = pose;
  }
  return most >= min_inliers;
}

}  // namespace glint::slam
