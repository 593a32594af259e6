// The pose graph beside Ceres, with a cost function of its own and automatic derivatives.
#include <ceres/autodiff_cost_function.h>
#include <ceres/loss_function.h>
#include <ceres/manifold.h>
#include <ceres/problem.h>
#include <ceres/solver.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"
#include "slam/adjust/pose_graph.h"
#include "slam/geometry/pose.h"
#include "tests/slam/noisy_graph.h"

namespace glint::slam {
namespace {

constexpr double kHuber = 3;  // as the pose graph has it

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
      error[i] = sign * turn.vec()[i] / T(edge->rotation_sigma);
      error[3 + i] = (translation[i] - T(edge->to_from.translation[i])) / T(edge->translation_sigma);
    }
    return true;
  }
  const PoseGraph::Edge* edge;
};

void SolveByCeres(int iterations, double tolerance, PoseGraph* graph, double* cost_of_start) {
  ceres::HuberLoss loss(kHuber);
  ceres::Problem::Options ownership;
  ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(ownership);
  for (Pose& pose : graph->camera_from_world) {
    problem.AddParameterBlock(pose.rotation.coeffs().data(), 4, new ceres::EigenQuaternionManifold);
    problem.AddParameterBlock(pose.translation.data(), 3);
  }
  Pose& first = graph->camera_from_world.front();
  problem.SetParameterBlockConstant(first.rotation.coeffs().data());
  problem.SetParameterBlockConstant(first.translation.data());
  for (const PoseGraph::Edge& edge : graph->edges) {
    Pose &from = graph->camera_from_world[edge.from], &to = graph->camera_from_world[edge.to];
    problem.AddResidualBlock(new ceres::AutoDiffCostFunction<EdgeCost, 6, 4, 3, 4, 3>(new EdgeCost{&edge}),
                             edge.is_loop ? &loss : nullptr, from.rotation.coeffs().data(), from.translation.data(),
                             to.rotation.coeffs().data(), to.translation.data());
  }
  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::SPARSE_NORMAL_CHOLESKY;
  solver.max_num_iterations = iterations;
  solver.function_tolerance = tolerance;
  solver.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(solver, &problem, &summary);
  ASSERT_TRUE(summary.IsSolutionUsable());
  *cost_of_start = summary.initial_cost;
}

class PoseGraphBesideCeres : public testing::TestWithParam<uint32_t> {};

TEST_P(PoseGraphBesideCeres, CostsNoMoreAndHasThePosesOfTheOptimum) {
  for (const size_t bad : {size_t{0}, size_t{4}}) {
    SCOPED_TRACE(bad);
    const PoseGraph graph = MakeNoisyGraph(300, bad, GetParam()).graph;
    PoseGraph ours = graph, usual = graph, best = graph;
    double start = 0;
    SolvePoseGraph(&ours);
    SolveByCeres(30, 1e-6, &usual, &start);  // its own tolerance
    EXPECT_NEAR(PoseGraphCost(graph), start, 1e-9 * start);
    SolveByCeres(200, 1e-14, &best, &start);
    const double cost = PoseGraphCost(ours);
    EXPECT_LE(cost, (1 + 1e-6) * PoseGraphCost(usual));
    EXPECT_LE(cost, (1 + 1e-6) * PoseGraphCost(best));
    double apart = 0, turned = 0;
    for (size_t k = 0; k < ours.camera_from_world.size(); ++k) {
      const Pose &a = ours.camera_from_world[k], &b = best.camera_from_world[k];
      apart = std::max(apart, (a.Inverse().translation - b.Inverse().translation).norm());
      turned = std::max(turned, AngleOf(a.rotation * b.rotation.conjugate()));
    }
    EXPECT_LT(apart, 1e-3);   // metres, of positions with errors of decimetres
    EXPECT_LT(turned, 5e-5);  // radians
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PoseGraphBesideCeres, testing::Values(1U, 2U, 3U, 4U));

}  // namespace
}  // namespace glint::slam
