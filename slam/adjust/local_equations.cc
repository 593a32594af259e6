#include "slam/adjust/local_equations.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "slam/estimate/reprojection_model.h"

namespace glint::slam {
namespace {

constexpr double kBehindCamera = 1e4;  // the cost of a point that is not before a camera

// Huber's loss: half the squared norm, linear beyond kHuberBound.
double HuberLoss(double squared) {
  return squared <= kHuberBound * kHuberBound ? squared / 2
                                              : kHuberBound * std::sqrt(squared) - kHuberBound * kHuberBound / 2;
}

// Residuals and Jacobians are multiplied by its square root.
double HuberWeight(double squared) {
  return squared <= kHuberBound * kHuberBound ? 1 : kHuberBound / std::sqrt(squared);
}

bool IsBefore(const ReprojectionModel& model, const Eigen::Vector3d& p) {
  return p.z() >= kNearestPoint && model.InRightCamera(p).z() >= kNearestPoint;
}

// Without the inertial terms.
double CostOfImages(const AdjustmentOptions& options, const LocalProblem& problem) {
  const ReprojectionModel model(problem.camera);
  double cost = 0;
  if (options.refine_rig) {
    cost += problem.camera.rig_rotation.squaredNorm() / (2 * options.rig_prior * options.rig_prior);
  }
  std::vector<Eigen::Matrix3d> rotation;
  for (const Keyframe& k : problem.keyframes) rotation.push_back(k.camera_from_world.rotation.toRotationMatrix());
  for (const LocalProblem::Point& point : problem.points) {
    for (size_t i = point.first; i < point.first + point.count; ++i) {
      const LocalProblem::KeyframeObservation& s = problem.observations[i];
      const Eigen::Vector3d p =
          rotation[s.keyframe] * point.position + problem.keyframes[s.keyframe].camera_from_world.translation;
      if (!IsBefore(model, p)) {
        cost += kBehindCamera;
        continue;
      }
      const Eigen::Vector4d residual = model.Residual(p, s.observation);
      cost += HuberLoss(residual.head<2>().squaredNorm()) + HuberLoss(residual.tail<2>().squaredNorm());
    }
  }
  return cost;
}

}  // namespace

double CostOf(const AdjustmentOptions& options, const LocalProblem& problem) {
  const double cost = CostOfImages(options, problem);
  return problem.inertial.has_value() ? cost + InertialTerms(options, problem).CostOf(problem) : cost;
}

LocalEquations::LocalEquations(const AdjustmentOptions& options, const LocalProblem& problem)
    : options_(options),
      fixed_(static_cast<size_t>(options.fixed_keyframes)),
      points_(problem.points),
      by_observation_(problem.observations.size()),
      by_point_(problem.points.size()),
      point_step_(problem.points.size()) {
  for (const LocalProblem::KeyframeObservation& s : problem.observations)
    column_.push_back(PoseColumn(options, s.keyframe));
  const size_t moving = problem.keyframes.size() - std::min(fixed_, problem.keyframes.size());
  const Eigen::Index columns = (options.refine_rig ? 3 : 0) + static_cast<Eigen::Index>(6 * moving);
  hessian_.resize(columns, columns);
  gradient_.resize(columns);
  if (problem.inertial.has_value()) inertial_.emplace(options, problem);
}

double LocalEquations::CostOf(const LocalProblem& problem) const {
  const double cost = CostOfImages(options_, problem);
  return inertial_.has_value() ? cost + inertial_->CostOf(problem) : cost;
}

void LocalEquations::Linearize(const LocalProblem& problem) {
  const ReprojectionModel model(problem.camera);
  hessian_.setZero();
  gradient_.setZero();
  if (options_.refine_rig) {
    const double information = 1 / (options_.rig_prior * options_.rig_prior);
    hessian_.topLeftCorner<3, 3>().diagonal().setConstant(information);
    // A rotation vector is its own image under the inverse left Jacobian of SO(3).
    gradient_.head<3>() = information * problem.camera.rig_rotation;
  }
  rotation_.clear();
  for (const Keyframe& k : problem.keyframes) rotation_.push_back(k.camera_from_world.rotation.toRotationMatrix());
  for (size_t k = 0; k < points_.size(); ++k) {
    PointBlock& of_point = by_point_[k];
    of_point.hessian.setZero();
    of_point.by_rig.setZero();
    of_point.gradient.setZero();
    for (size_t i = points_[k].first; i < points_[k].first + points_[k].count; ++i) {
      const LocalProblem::KeyframeObservation& s = problem.observations[i];
      const Eigen::Matrix3d& rotation = rotation_[s.keyframe];
      const Eigen::Vector3d p =
          rotation * problem.points[k].position + problem.keyframes[s.keyframe].camera_from_world.translation;
      by_observation_[i].setZero();
      if (!IsBefore(model, p)) continue;
      Eigen::Vector4d residual = model.Residual(p, s.observation);
      Rows43 by_p = model.JacobianByPoint(p, s.observation);
      const double of_position = std::sqrt(HuberWeight(residual.head<2>().squaredNorm()));
      const double of_disparity = std::sqrt(HuberWeight(residual.tail<2>().squaredNorm()));
      const Eigen::Vector4d weight(of_position, of_position, of_disparity, of_disparity);
      residual = weight.cwiseProduct(residual);
      by_p = weight.asDiagonal() * by_p;
      const Eigen::Matrix3d normal = by_p.transpose() * by_p;
      const Eigen::Vector3d pull = by_p.transpose() * residual;
      const Eigen::Matrix3d by_point = normal * rotation;
      of_point.hessian += rotation.transpose() * by_point;
      of_point.gradient += rotation.transpose() * pull;
      const Eigen::Index column = column_[i];
      const bool constrains_rig = options_.refine_rig && s.observation.is_stereo;
      const MotionNormal motion(p, normal);
      if (column != kNoColumn) {
        hessian_.block<6, 6>(column, column) += motion.hessian;
        gradient_.segment<3>(column) += p.cross(pull);
        gradient_.segment<3>(column + 3) += pull;
        by_observation_[i] << motion.cross * by_point, by_point;
      }
      if (!constrains_rig) continue;
      const Rows23 by_rig = of_disparity * model.JacobianByExtrinsics(p, s.observation);
      const Eigen::Matrix3d rig_by_p = by_rig.transpose() * by_p.bottomRows<2>();
      hessian_.topLeftCorner<3, 3>() += by_rig.transpose() * by_rig;
      gradient_.head<3>() += by_rig.transpose() * residual.tail<2>();
      of_point.by_rig += rig_by_p * rotation;
      if (column == kNoColumn) continue;
      hessian_.block<3, 3>(0, column) -= rig_by_p * motion.cross;
      hessian_.block<3, 3>(0, column + 3) += rig_by_p;
    }
  }
  if (inertial_.has_value()) inertial_->Linearize(problem, &hessian_, &gradient_);
}

void LocalEquations::EliminatePoints(double damping) {
  reduced_ = hessian_;
  reduced_.diagonal() *= 1 + damping;
  reduced_gradient_ = gradient_;
  for (size_t k = 0; k < points_.size(); ++k) {
    PointBlock& point = by_point_[k];
    Eigen::Matrix3d hessian = point.hessian;
    hessian.diagonal() *= 1 + damping;
    point.inverse = hessian.inverse();
    if (!point.inverse.allFinite()) {
      point.inverse.setZero();
      continue;
    }
    const Eigen::Vector3d pull = point.inverse * point.gradient;
    const size_t end = points_[k].first + points_[k].count;
    if (options_.refine_rig) {
      const Eigen::Matrix3d by_rig = point.by_rig * point.inverse;
      reduced_.topLeftCorner<3, 3>() -= by_rig * point.by_rig.transpose();
      reduced_gradient_.head<3>() -= point.by_rig * pull;
      for (size_t i = points_[k].first; i < end; ++i) {
        if (column_[i] == kNoColumn) continue;
        reduced_.block<3, 6>(0, column_[i]).noalias() -= by_rig * by_observation_[i].transpose();
      }
    }
    for (size_t i = points_[k].first; i < end; ++i) {
      if (column_[i] == kNoColumn) continue;
      const Block block = by_observation_[i] * point.inverse;
      reduced_gradient_.segment<6>(column_[i]) -= by_observation_[i] * pull;
      for (size_t j = i; j < end; ++j) {
        reduced_.block<6, 6>(column_[i], column_[j]).noalias() -= block * by_observation_[j].transpose();
      }
    }
  }
}

bool LocalEquations::Factor(double damping) {
  EliminatePoints(damping);
  if (inertial_.has_value() && !inertial_->Eliminate(damping, &reduced_, &reduced_gradient_)) return false;
  solver_.compute(reduced_);
  return solver_.info() == Eigen::Success;
}

bool LocalEquations::Solve(double damping) {
  if (!Factor(damping)) return false;
  step_ = -solver_.solve(reduced_gradient_);
  if (!step_.allFinite()) return false;
  for (size_t k = 0; k < points_.size(); ++k) {
    const PointBlock& point = by_point_[k];
    Eigen::Vector3d pull = point.gradient;
    if (options_.refine_rig) pull += point.by_rig.transpose() * step_.head<3>();
    for (size_t i = points_[k].first; i < points_[k].first + points_[k].count; ++i) {
      if (column_[i] != kNoColumn) pull += by_observation_[i].transpose() * step_.segment<6>(column_[i]);
    }
    point_step_[k] = -(point.inverse * pull);
  }
  return true;
}

void LocalEquations::Apply(LocalProblem* problem) {
  if (options_.refine_rig) {
    Eigen::Vector3d& rig = problem->camera.rig_rotation;
    const Eigen::AngleAxisd rotation(RotationOf(step_.head<3>()) * RotationOf(rig));
    rig = rotation.angle() * rotation.axis();
  }
  for (size_t k = fixed_; k < problem->keyframes.size(); ++k) {
    const Eigen::Index column = PoseColumn(options_, k);
    Pose& pose = problem->keyframes[k].camera_from_world;
    pose = Pose{RotationOf(step_.segment<3>(column)), step_.segment<3>(column + 3)} * pose;
  }
  for (size_t k = 0; k < points_.size(); ++k) problem->points[k].position += point_step_[k];
  if (inertial_.has_value()) inertial_->Apply(step_, problem);
}

Eigen::Vector3d LocalEquations::RigVariance() const {
  const Eigen::MatrixXd inverse = solver_.solve(Eigen::MatrixXd::Identity(reduced_.rows(), 3));
  return inverse.topRows<3>().diagonal();
}

}  // namespace glint::slam
