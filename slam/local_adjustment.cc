#include "slam/local_adjustment.h"

#include <ceres/autodiff_cost_function.h>
#include <ceres/loss_function.h>
#include <ceres/manifold.h>
#include <ceres/problem.h>
#include <ceres/rotation.h>
#include <ceres/solver.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "slam/rig_uncertainty.h"

namespace glint::slam {
namespace {

constexpr double kHuber = 2;  // standard deviations

// Parameters: rotation (x, y, z, w) and translation of camera from world, point, rig rotation.
struct SightCost {
  template <typename T>
  bool operator()(const T* rotation, const T* translation, const T* point, const T* rig, T* error) const {
    using Vector = Eigen::Matrix<T, 3, 1>;
    const Eigen::Map<const Eigen::Quaternion<T>> turn(rotation);
    const Vector p = turn * Eigen::Map<const Vector>(point) + Eigen::Map<const Vector>(translation);
    if (p.z() < T(0.01)) return false;
    const T left[3] = {p.x() - T(camera->baseline), p.y(), p.z()};
    T right[3];
    ceres::AngleAxisRotatePoint(rig, left, right);
    const T x = p.x() / p.z();
    const T y = p.y() / p.z();
    const double focal = camera->focal_length;
    const double position = focal / sight->position_error;
    error[0] = position * (x - T((sight->pixel.left.x() - camera->centre_x) / focal));
    error[1] = position * (y - T((sight->pixel.left.y() - camera->centre_y) / focal));
    if (!sight->is_stereo) return true;
    error[2] = (focal / (sight->disparity_error)) * (x - right[0] / right[2] - T(sight->pixel.disparity / focal));
    error[3] = (focal / (sight->rise_error)) * (y - right[1] / right[2] - T(sight->pixel.rise / focal));
    return true;
  }
  const StereoCamera* camera;
  const Sight* sight;
};

struct RigPrior {
  template <typename T>
  bool operator()(const T* rig, T* error) const {
    for (int i = 0; i < 3; ++i) error[i] = rig[i] / T(deviation);
    return true;
  }
  double deviation;
};

ceres::CostFunction* CostOf(const StereoCamera& camera, const Sight& sight) {
  auto* cost = new SightCost{&camera, &sight};
  if (sight.is_stereo) return new ceres::AutoDiffCostFunction<SightCost, 4, 4, 3, 3, 3>(cost);
  return new ceres::AutoDiffCostFunction<SightCost, 2, 4, 3, 3, 3>(cost);
}

void MarkFalseSights(LocalProblem* problem) {
  for (const LocalProblem::Point& point : problem->points) {
    for (size_t i = point.first; i < point.first + point.count; ++i) {
      LocalProblem::SightOf& s = problem->sights[i];
      const Eigen::Vector3d p = problem->keyframes[s.keyframe].camera_from_world * point.position;
      s.is_false = p.z() < 0.05 || SquaredError(Project(problem->camera, p), s.sight) > LargestSquaredError(s.sight);
    }
  }
}

// The parameters in one array. Ceres orders them by their addresses: here these are the same order on every run.
class Parameters {
 public:
  explicit Parameters(const LocalProblem& from)
      : first_point_(3 + kPose * from.keyframes.size()), values_(first_point_ + 3 * from.points.size()) {
    Eigen::Map<Eigen::Vector3d>(rig(), 3) = from.camera.rig_rotation;
    for (size_t k = 0; k < from.keyframes.size(); ++k) {
      const Pose& pose = from.keyframes[k].camera_from_world;
      Eigen::Map<Eigen::Vector4d>(rotation(k), 4) = pose.rotation.coeffs();
      Eigen::Map<Eigen::Vector3d>(translation(k), 3) = pose.translation;
    }
    for (size_t p = 0; p < from.points.size(); ++p) {
      Eigen::Map<Eigen::Vector3d>(position(p), 3) = from.points[p].position;
    }
  }

  void PutInto(LocalProblem* problem) {
    problem->camera.rig_rotation = Eigen::Map<const Eigen::Vector3d>(rig(), 3);
    for (size_t k = 0; k < problem->keyframes.size(); ++k) {
      Pose& pose = problem->keyframes[k].camera_from_world;
      pose.rotation.coeffs() = Eigen::Map<const Eigen::Vector4d>(rotation(k), 4).normalized();
      pose.translation = Eigen::Map<const Eigen::Vector3d>(translation(k), 3);
    }
    for (size_t p = 0; p < problem->points.size(); ++p) {
      problem->points[p].position = Eigen::Map<const Eigen::Vector3d>(position(p), 3);
    }
  }

  double* rig() { return values_.data(); }
  double* rotation(size_t k) { return values_.data() + 3 + kPose * k; }
  double* translation(size_t k) { return rotation(k) + 4; }
  double* position(size_t p) { return values_.data() + first_point_ + 3 * p; }

 private:
  static constexpr size_t kPose = 7;
  size_t first_point_;
  std::vector<double> values_;
};

}  // namespace

LocalProblem ProblemOf(const StereoCamera& camera, const LocalMap& map) {
  LocalProblem problem;
  problem.camera = camera;
  problem.keyframes.assign(map.keyframes.begin(), map.keyframes.end());
  for (const MapPoint& point : map.points) {
    if (point.sights.size() < 2) continue;
    problem.points.push_back({point.id, point.position, problem.sights.size(), point.sights.size()});
    for (const MapPoint::SightOf& s : point.sights) {
      problem.sights.push_back({map.PlaceOf(s.keyframe), s.sight, false});
    }
  }
  return problem;
}

void Adjust(const AdjustmentOptions& options, LocalProblem* problem) {
  if (problem->points.empty()) return;
  Parameters parameters(*problem);
  ceres::HuberLoss loss(kHuber);
  ceres::Problem::Options ownership;
  ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem equations(ownership);
  auto order = std::make_unique<ceres::ParameterBlockOrdering>();

  double* const rig = parameters.rig();
  equations.AddParameterBlock(rig, 3);
  order->AddElementToGroup(rig, 1);
  if (options.refine_rig) {
    equations.AddResidualBlock(new ceres::AutoDiffCostFunction<RigPrior, 3, 3>(new RigPrior{options.rig_prior}),
                               nullptr, rig);
  } else {
    equations.SetParameterBlockConstant(rig);
  }
  for (size_t k = 0; k < problem->keyframes.size(); ++k) {
    double* const rotation = parameters.rotation(k);
    double* const translation = parameters.translation(k);
    equations.AddParameterBlock(rotation, 4, new ceres::EigenQuaternionManifold);
    equations.AddParameterBlock(translation, 3);
    order->AddElementToGroup(rotation, 1);
    order->AddElementToGroup(translation, 1);
    if (static_cast<int>(k) >= options.fixed_keyframes) continue;
    equations.SetParameterBlockConstant(rotation);
    equations.SetParameterBlockConstant(translation);
  }
  for (size_t p = 0; p < problem->points.size(); ++p) {
    const LocalProblem::Point& point = problem->points[p];
    for (size_t i = point.first; i < point.first + point.count; ++i) {
      const LocalProblem::SightOf& s = problem->sights[i];
      equations.AddResidualBlock(CostOf(problem->camera, s.sight), &loss, parameters.rotation(s.keyframe),
                                 parameters.translation(s.keyframe), parameters.position(p), rig);
    }
    order->AddElementToGroup(parameters.position(p), 0);
  }
  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::DENSE_SCHUR;
  solver.linear_solver_ordering.reset(order.release());
  solver.max_num_iterations = options.iterations;
  solver.function_tolerance = 1e-5;
  solver.num_threads = 1;
  solver.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(solver, &equations, &summary);

  parameters.PutInto(problem);
  MarkFalseSights(problem);
  if (options.refine_rig) problem->rig_uncertainty = RigUncertainty(options, *problem);
}

void TakeOver(const LocalProblem& solved, LocalMap* map) {
  for (size_t k = 0; k < solved.keyframes.size(); ++k) {
    map->keyframes[k].camera_from_world = solved.keyframes[k].camera_from_world;
  }
  size_t next = 0;
  for (MapPoint& point : map->points) {
    if (next < solved.points.size() && solved.points[next].id == point.id) {
      const LocalProblem::Point& from = solved.points[next++];
      point.position = from.position;
      size_t kept = 0;
      for (size_t i = 0; i < from.count; ++i) {
        if (!solved.sights[from.first + i].is_false) point.sights[kept++] = point.sights[i];
      }
      point.sights.resize(kept);
    } else if (point.sights.size() == 1) {
      const Sight& sight = point.sights[0].sight;
      Eigen::Vector3d p;
      if (sight.is_stereo &&
          !Triangulate(solved.camera, sight.pixel.left.x(), sight.pixel.left.y(), sight.pixel.disparity, &p)) {
        point.sights.clear();
      } else if (sight.is_stereo) {
        point.position = map->keyframes[map->PlaceOf(point.sights[0].keyframe)].camera_from_world.Inverse() * p;
      }
    }
  }
  map->DropUnseen();
}

}  // namespace glint::slam
