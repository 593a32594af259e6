#include "slam/adjust/pose_graph.h"

#include <ceres/autodiff_cost_function.h>
#include <ceres/loss_function.h>
#include <ceres/manifold.h>
#include <ceres/problem.h>
#include <ceres/solver.h>

#include <cstdint>

namespace glint::slam {
namespace {

constexpr double kHuber = 3;  // standard deviations
constexpr int kIterations = 30;
constexpr size_t kPose = 7;

// Parameters: rotation (x, y, z, w) and translation of camera from world, of both ends.
struct EdgeCost {
  template <typename T>
  bool operator()(const T* from_rotation, const T* from_translation, const T* to_rotation, const T* to_translation,
                  T* error) const {
    using Vector = Eigen::Matrix<T, 3, 1>;
    using Quaternion = Eigen::Quaternion<T>;
    const Quaternion rotation =
        Eigen::Map<const Quaternion>(to_rotation) * Eigen::Map<const Quaternion>(from_rotation).conjugate();
    const Vector translation =
        Eigen::Map<const Vector>(to_translation) - rotation * Eigen::Map<const Vector>(from_translation);
    const Quaternion turn = edge->to_from.rotation.conjugate().cast<T>() * rotation;
    const T sign = turn.w() < T(0) ? T(-2) : T(2);
    for (int i = 0; i < 3; ++i) {
      error[i] = sign * turn.vec()[i] / T(edge->turn_error);
      error[3 + i] = (translation[i] - T(edge->to_from.translation[i])) / T(edge->shift_error);
    }
    return true;
  }
  const PoseGraph::Edge* edge;
};

}  // namespace

void SolvePoseGraph(PoseGraph* graph) {
  const size_t count = graph->camera_from_world.size();
  // In one array: Ceres orders parameters by their addresses.
  std::vector<double> values(kPose * count);
  const auto rotation_of = [&](size_t k) { return values.data() + kPose * k; };
  const auto translation_of = [&](size_t k) { return rotation_of(k) + 4; };
  ceres::HuberLoss loss(kHuber);
  ceres::Problem::Options ownership;
  ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(ownership);
  for (size_t k = 0; k < count; ++k) {
    const Pose& pose = graph->camera_from_world[k];
    Eigen::Map<Eigen::Vector4d>(rotation_of(k), 4) = pose.rotation.coeffs();
    Eigen::Map<Eigen::Vector3d>(translation_of(k), 3) = pose.translation;
    problem.AddParameterBlock(rotation_of(k), 4, new ceres::EigenQuaternionManifold);
    problem.AddParameterBlock(translation_of(k), 3);
    if (k > 0) continue;
    problem.SetParameterBlockConstant(rotation_of(k));
    problem.SetParameterBlockConstant(translation_of(k));
  }
  for (const PoseGraph::Edge& edge : graph->edges) {
    problem.AddResidualBlock(new ceres::AutoDiffCostFunction<EdgeCost, 6, 4, 3, 4, 3>(new EdgeCost{&edge}),
                             edge.is_loop ? &loss : nullptr, rotation_of(edge.from), translation_of(edge.from),
                             rotation_of(edge.to), translation_of(edge.to));
  }
  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::SPARSE_NORMAL_CHOLESKY;
  solver.max_num_iterations = kIterations;
  solver.num_threads = 1;
  solver.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(solver, &problem, &summary);
  for (size_t k = 0; k < count; ++k) {
    Pose& pose = graph->camera_from_world[k];
    pose.rotation.coeffs() = Eigen::Map<const Eigen::Vector4d>(rotation_of(k), 4).normalized();
    pose.translation = Eigen::Map<const Eigen::Vector3d>(translation_of(k), 3);
  }
}

}  // namespace glint::slam
