#include "slam/adjust/local_adjustment.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "slam/adjust/local_equations.h"
#include "slam/estimate/reprojection_model.h"

namespace glint::slam {
namespace {

constexpr double kFirstDamping = 1e-4;
constexpr double kDampingStep = 10;
constexpr double kTolerance = 1e-5;  // of the cost: a step that saves less is the last

void MarkOutliers(LocalProblem* problem) {
  const ReprojectionModel model(problem->camera);
  for (const LocalProblem::Point& point : problem->points) {
    for (size_t i = point.first; i < point.first + point.count; ++i) {
      LocalProblem::KeyframeObservation& s = problem->observations[i];
      const Eigen::Vector3d p = problem->keyframes[s.keyframe].camera_from_world * point.position;
      s.is_outlier =
          p.z() < kNearestPoint || model.Residual(p, s.observation).squaredNorm() > MaxSquaredResidual(s.observation);
    }
  }
}

// What the last state says of the rig (the prior's deviations where the observations do not constrain it) and of
// motions.
void TellSigmas(const AdjustmentOptions& options, LocalEquations* equations, LocalProblem* problem) {
  const bool is_regular = equations->Factor();
  if (options.refine_rig) {
    const double prior = options.rig_prior * options.rig_prior;
    problem->rig_uncertainty.setConstant(options.rig_prior);
    const Eigen::Vector3d variance = is_regular ? equations->RigVariance() : Eigen::Vector3d::Zero();
    if (variance.allFinite() && variance.minCoeff() > 0) {
      problem->rig_uncertainty = variance.cwiseMin(prior).cwiseSqrt();
    }
  }
  if (!problem->inertial.has_value()) return;
  const size_t newest = problem->keyframes.size() - 1;
  problem->inertial->newest_sigma.setConstant(std::numeric_limits<double>::infinity());
  if (is_regular) problem->inertial->newest_sigma = equations->MotionSigma(newest);
}

// Integrates again what was measured, about the biases that are known now.
void Relinearize(LocalProblem* problem) {
  for (size_t k = 1; k < problem->keyframes.size(); ++k) {
    problem->keyframes[k].inertial->since_last.Relinearize(problem->keyframes[k - 1].inertial->motion.bias);
  }
}

// What a step changes.
void CopyState(const LocalProblem& from, LocalProblem* to) {
  to->camera = from.camera;
  to->points = from.points;
  for (size_t k = 0; k < from.keyframes.size(); ++k) {
    to->keyframes[k].camera_from_world = from.keyframes[k].camera_from_world;
    if (from.inertial.has_value()) to->keyframes[k].inertial->motion = from.keyframes[k].inertial->motion;
  }
}

}  // namespace

LocalProblem ProblemOf(const StereoCamera& camera, const LocalMap& map) {
  LocalProblem problem;
  problem.camera = camera;
  problem.keyframes.assign(map.keyframes.begin(), map.keyframes.end());
  for (const Landmark& point : map.points) {
    if (point.observations.size() < 2) continue;
    problem.points.push_back({point.id, point.position, problem.observations.size(), point.observations.size()});
    for (const Landmark::KeyframeObservation& s : point.observations) {
      problem.observations.push_back({map.IndexOf(s.keyframe), s.observation, false});
    }
  }
  return problem;
}

void Adjust(const AdjustmentOptions& options, LocalProblem* problem) {
  const bool is_inertial = problem->inertial.has_value();
  if (problem->keyframes.empty() || (problem->points.empty() && !is_inertial)) return;
  if (is_inertial) Relinearize(problem);
  LocalEquations equations(options, *problem);
  equations.Linearize(*problem);
  double cost = equations.CostOf(*problem);
  double damping = kFirstDamping;
  const bool tells_sigmas = options.refine_rig || is_inertial;
  LocalProblem moved = *problem;
  for (int i = 0; i < options.iterations; ++i) {
    if (!equations.Solve(damping)) {
      damping *= kDampingStep;
      continue;
    }
    CopyState(*problem, &moved);
    equations.Apply(&moved);
    const double moved_cost = equations.CostOf(moved);
    if (!(moved_cost < cost)) {
      damping *= kDampingStep;
      continue;
    }
    const bool is_last = cost - moved_cost < kTolerance * cost;
    std::swap(*problem, moved);
    cost = moved_cost;
    damping /= kDampingStep;
    const bool goes_on = !is_last && i + 1 < options.iterations;
    if (goes_on || tells_sigmas) equations.Linearize(*problem);  // deviations are those of the last state
    if (!goes_on) break;
  }
  MarkOutliers(problem);
  if (tells_sigmas) TellSigmas(options, &equations, problem);
}

void ApplySolution(const LocalProblem& solved, LocalMap* map) {
  for (size_t k = 0; k < solved.keyframes.size(); ++k) {
    map->keyframes[k].camera_from_world = solved.keyframes[k].camera_from_world;
    if (solved.inertial.has_value()) map->keyframes[k].inertial = solved.keyframes[k].inertial;
  }
  size_t next = 0;
  for (Landmark& point : map->points) {
    if (next < solved.points.size() && solved.points[next].id == point.id) {
      const LocalProblem::Point& from = solved.points[next++];
      point.position = from.position;
      size_t kept = 0;
      for (size_t i = 0; i < from.count; ++i) {
        if (!solved.observations[from.first + i].is_outlier) point.observations[kept++] = point.observations[i];
      }
      point.observations.resize(kept);
    } else if (point.observations.size() == 1) {
      const Observation& observation = point.observations[0].observation;
      Eigen::Vector3d p;
      if (observation.is_stereo && !Triangulate(solved.camera, observation.pixel.left.x(), observation.pixel.left.y(),
                                                observation.pixel.disparity, &p)) {
        point.observations.clear();
      } else if (observation.is_stereo) {
        point.position = map->keyframes[map->IndexOf(point.observations[0].keyframe)].camera_from_world.Inverse() * p;
      }
    }
  }
  map->DropUnobserved();
}

}  // namespace glint::slam
