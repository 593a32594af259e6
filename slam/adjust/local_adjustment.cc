#include "slam/adjust/local_adjustment.h"

#include <cmath>
#include <cstddef>
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

// The rig's standard deviations; the prior's where the observations do not constrain it.
Eigen::Vector3d RigUncertainty(const AdjustmentOptions& options, LocalEquations* equations) {
  const double prior = options.rig_prior * options.rig_prior;
  const Eigen::Vector3d variance = equations->RigVariance();
  if (!variance.allFinite() || variance.minCoeff() <= 0) return Eigen::Vector3d::Constant(options.rig_prior);
  return variance.cwiseMin(prior).cwiseSqrt();
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
  if (problem->points.empty()) return;
  LocalEquations equations(options, *problem);
  equations.Linearize(*problem);
  double cost = CostOf(options, *problem);
  double damping = kFirstDamping;
  LocalProblem moved = *problem;
  for (int i = 0; i < options.iterations; ++i) {
    if (!equations.Solve(damping)) {
      damping *= kDampingStep;
      continue;
    }
    moved.camera = problem->camera;
    moved.keyframes = problem->keyframes;
    moved.points = problem->points;
    equations.Apply(&moved);
    const double moved_cost = CostOf(options, moved);
    if (!(moved_cost < cost)) {
      damping *= kDampingStep;
      continue;
    }
    const bool is_last = cost - moved_cost < kTolerance * cost;
    std::swap(*problem, moved);
    cost = moved_cost;
    damping /= kDampingStep;
    const bool goes_on = !is_last && i + 1 < options.iterations;
    if (goes_on || options.refine_rig) equations.Linearize(*problem);  // the rig's variance is that of the last state
    if (!goes_on) break;
  }
  MarkOutliers(problem);
  if (options.refine_rig) problem->rig_uncertainty = RigUncertainty(options, &equations);
}

void ApplySolution(const LocalProblem& solved, LocalMap* map) {
  for (size_t k = 0; k < solved.keyframes.size(); ++k) {
    map->keyframes[k].camera_from_world = solved.keyframes[k].camera_from_world;
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
