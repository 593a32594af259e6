#include "slam/rig_uncertainty.h"

#include <Eigen/Cholesky>
#include <Eigen/Dense>
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "slam/pose_solver.h"

namespace glint::slam {
namespace {

// One sight of a point, whitened.
struct Rows {
  Eigen::Index keyframe;  // its first column, or -1: fixed
  SightJacobian by;
};

}  // namespace

Eigen::Vector3d RigUncertainty(const AdjustmentOptions& options, const LocalProblem& adjusted) {
  // Columns: the rig, then six of each keyframe that is not fixed.
  const auto fixed = static_cast<size_t>(options.fixed_keyframes);
  const auto columns = static_cast<Eigen::Index>(3 + 6 * (adjusted.keyframes.size() - fixed));
  Eigen::MatrixXd h = Eigen::MatrixXd::Zero(columns, columns);
  h.topLeftCorner<3, 3>().diagonal().setConstant(1 / (options.rig_prior * options.rig_prior));
  const Eigen::Matrix3d rig = RotationOf(adjusted.camera.rig_rotation).toRotationMatrix();
  std::vector<Rows> rows;
  // Of each column block of a point's sights by the point: the rig's, then those of its keyframes.
  std::vector<std::pair<Eigen::Index, Eigen::Matrix<double, 6, 3>>> by_point;
  for (const LocalProblem::Point& point : adjusted.points) {
    rows.clear();
    for (size_t i = point.first; i < point.first + point.count; ++i) {
      const LocalProblem::SightOf& s = adjusted.sights[i];
      if (s.is_false) continue;
      const Pose& pose = adjusted.keyframes[s.keyframe].camera_from_world;
      rows.push_back({s.keyframe < fixed ? -1 : static_cast<Eigen::Index>(3 + 6 * (s.keyframe - fixed)),
                      JacobianOf(adjusted.camera, rig, pose * point.position)});
      SightJacobian& by = rows.back().by;
      Eigen::Vector4d weight(1 / s.sight.position_error, 1 / s.sight.position_error, 0, 0);
      if (s.sight.is_stereo) weight.tail<2>() << 1 / s.sight.disparity_error, 1 / s.sight.rise_error;
      by.by_point = weight.asDiagonal() * by.by_point * pose.rotation.toRotationMatrix();
      by.by_motion = weight.asDiagonal() * by.by_motion;
      by.by_rig = weight.asDiagonal() * by.by_rig;
    }
    if (rows.size() < 2) continue;
    Eigen::Matrix3d v = Eigen::Matrix3d::Zero();
    Eigen::Matrix3d rig_by_point = Eigen::Matrix3d::Zero();
    by_point.clear();
    for (const Rows& r : rows) {
      v += r.by.by_point.transpose() * r.by.by_point;
      rig_by_point += r.by.by_rig.transpose() * r.by.by_point;
      h.topLeftCorner<3, 3>() += r.by.by_rig.transpose() * r.by.by_rig;
      if (r.keyframe < 0) continue;
      h.block<3, 6>(0, r.keyframe) += r.by.by_rig.transpose() * r.by.by_motion;
      h.block<6, 6>(r.keyframe, r.keyframe) += r.by.by_motion.transpose() * r.by.by_motion;
      by_point.emplace_back(r.keyframe, r.by.by_motion.transpose() * r.by.by_point);
    }
    const Eigen::Matrix3d inverse = v.inverse();
    if (!inverse.allFinite()) continue;
    h.topLeftCorner<3, 3>() -= rig_by_point * inverse * rig_by_point.transpose();
    for (size_t a = 0; a < by_point.size(); ++a) {
      const Eigen::Matrix<double, 6, 3> left = by_point[a].second * inverse;
      h.block<3, 6>(0, by_point[a].first) -= rig_by_point * left.transpose();
      for (size_t b = a; b < by_point.size(); ++b) {
        h.block<6, 6>(by_point[a].first, by_point[b].first) -= left * by_point[b].second.transpose();
      }
    }
  }
  const Eigen::MatrixXd whole = h.selfadjointView<Eigen::Upper>();
  const Eigen::LDLT<Eigen::MatrixXd> solver(whole);
  const Eigen::MatrixXd inverse = solver.solve(Eigen::MatrixXd::Identity(columns, 3));
  const Eigen::Vector3d variance = inverse.topRows<3>().diagonal();
  const double prior = options.rig_prior * options.rig_prior;
  if (solver.info() != Eigen::Success || !variance.allFinite() || variance.minCoeff() <= 0) {
    return Eigen::Vector3d::Constant(options.rig_prior);
  }
  return variance.cwiseMin(prior).cwiseSqrt();
}

}  // namespace glint::slam
