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
#include <map>
#include <memory>
#include <vector>

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

void DropOutliers(const StereoCamera& camera, LocalMap* map) {
  std::map<int64_t, const Keyframe*> by_id;
  for (const Keyframe& k : map->keyframes) by_id[k.id] = &k;
  for (MapPoint& point : map->points) {
    const auto is_false = [&](const MapPoint::SightOf& s) {
      const Eigen::Vector3d p = by_id.at(s.keyframe)->camera_from_world * point.position;
      return p.z() < 0.05 || SquaredError(Project(camera, p), s.sight) > LargestSquaredError(s.sight);
    };
    point.sights.erase(std::remove_if(point.sights.begin(), point.sights.end(), is_false), point.sights.end());
  }
  map->DropUnseen();
}

}  // namespace

void AdjustLocally(const AdjustmentOptions& options, StereoCamera* camera, LocalMap* map) {
  std::vector<MapPoint*> points;
  for (MapPoint& point : map->points) {
    // One sight tells nothing of the keyframe, only of the point.
    if (point.sights.size() >= 2) points.push_back(&point);
  }
  // Ceres orders parameters by their addresses: in one array, these are the same order on every run.
  constexpr size_t kPose = 7;
  const size_t first_point = 3 + kPose * map->keyframes.size();
  std::vector<double> values(first_point + 3 * points.size());
  double* const rig = values.data();
  const auto rotation_of = [&](size_t k) { return values.data() + 3 + kPose * k; };
  const auto translation_of = [&](size_t k) { return rotation_of(k) + 4; };
  const auto position_of = [&](size_t p) { return values.data() + first_point + 3 * p; };

  ceres::HuberLoss loss(kHuber);
  ceres::Problem::Options ownership;
  ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(ownership);
  auto order = std::make_unique<ceres::ParameterBlockOrdering>();

  Eigen::Map<Eigen::Vector3d>(rig, 3) = camera->rig_rotation;
  problem.AddParameterBlock(rig, 3);
  order->AddElementToGroup(rig, 1);
  if (options.refine_rig) {
    problem.AddResidualBlock(new ceres::AutoDiffCostFunction<RigPrior, 3, 3>(new RigPrior{options.rig_prior}), nullptr,
                             rig);
  } else {
    problem.SetParameterBlockConstant(rig);
  }
  std::map<int64_t, size_t> place;  // of a keyframe, by its id
  for (size_t k = 0; k < map->keyframes.size(); ++k) {
    const Pose& pose = map->keyframes[k].camera_from_world;
    place[map->keyframes[k].id] = k;
    Eigen::Map<Eigen::Vector4d>(rotation_of(k), 4) = pose.rotation.coeffs();
    Eigen::Map<Eigen::Vector3d>(translation_of(k), 3) = pose.translation;
    problem.AddParameterBlock(rotation_of(k), 4, new ceres::EigenQuaternionManifold);
    problem.AddParameterBlock(translation_of(k), 3);
    order->AddElementToGroup(rotation_of(k), 1);
    order->AddElementToGroup(translation_of(k), 1);
    if (static_cast<int>(k) >= options.fixed_keyframes) continue;
    problem.SetParameterBlockConstant(rotation_of(k));
    problem.SetParameterBlockConstant(translation_of(k));
  }
  for (size_t p = 0; p < points.size(); ++p) {
    Eigen::Map<Eigen::Vector3d>(position_of(p), 3) = points[p]->position;
    for (const MapPoint::SightOf& s : points[p]->sights) {
      const size_t k = place.at(s.keyframe);
      problem.AddResidualBlock(CostOf(*camera, s.sight), &loss, rotation_of(k), translation_of(k), position_of(p), rig);
    }
    order->AddElementToGroup(position_of(p), 0);
  }
  if (!points.empty()) {
    ceres::Solver::Options solver;
    solver.linear_solver_type = ceres::DENSE_SCHUR;
    solver.linear_solver_ordering.reset(order.release());
    solver.max_num_iterations = options.iterations;
    solver.function_tolerance = 1e-5;
    solver.num_threads = 1;
    solver.logging_type = ceres::SILENT;
    ceres::Solver::Summary summary;
    ceres::Solve(solver, &problem, &summary);
  }

  camera->rig_rotation = Eigen::Map<const Eigen::Vector3d>(rig, 3);
  // Points of one sight keep their place before that camera.
  for (MapPoint& point : map->points) {
    if (point.sights.size() != 1) continue;
    const size_t k = place.at(point.sights[0].keyframe);
    const Pose moved{Eigen::Quaterniond(rotation_of(k)).normalized(), Eigen::Vector3d(translation_of(k))};
    point.position = moved.Inverse() * (map->keyframes[k].camera_from_world * point.position);
  }
  for (size_t k = 0; k < map->keyframes.size(); ++k) {
    Pose& pose = map->keyframes[k].camera_from_world;
    pose.rotation.coeffs() = Eigen::Map<const Eigen::Vector4d>(rotation_of(k), 4).normalized();
    pose.translation = Eigen::Map<const Eigen::Vector3d>(translation_of(k), 3);
  }
  for (size_t p = 0; p < points.size(); ++p) points[p]->position = Eigen::Map<const Eigen::Vector3d>(position_of(p), 3);
  DropOutliers(*camera, map);
}

}  // namespace glint::slam
