// The local adjustment beside Ceres, on the same problem.
#include <ceres/autodiff_cost_function.h>
#include <ceres/covariance.h>
#include <ceres/loss_function.h>
#include <ceres/manifold.h>
#include <ceres/problem.h>
#include <ceres/solver.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "slam/adjust/local_adjustment.h"
#include "slam/adjust/local_equations.h"
#include "slam/geometry/pose.h"
#include "tests/slam/reprojection_cost.h"

namespace glint::slam {
namespace {

constexpr double kHuber = 2;  // as the adjustment has it

struct RigPrior {
  template <typename T>
  bool operator()(const T* rig, T* error) const {
    for (int i = 0; i < 3; ++i) error[i] = rig[i] / T(deviation);
    return true;
  }
  double deviation;
};

// Ten keyframes on a road, points on both sides, a rig that is turned; poses and points are off by centimetres.
// Correspondences have noise of `noise` deviations, and every `bad`th is false (0: none).
LocalProblem SomeProblem(double noise, int bad) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, 1);
  std::uniform_real_distribution<double> share(-1, 1);
  const auto vector = [&](double size) -> Eigen::Vector3d {
    const double x = normal(random), y = normal(random);
    return size * Eigen::Vector3d(x, y, normal(random));
  };
  LocalProblem problem;
  problem.camera = {{1200, 400}, 700, 600, 200, 0.5, {0.001, -0.0015, 0.0008}};
  const StereoCamera truth = problem.camera;
  problem.camera.rig_rotation.setZero();
  std::vector<Pose> poses;
  for (int k = 0; k < 10; ++k) {
    poses.push_back(Pose{RotationOf({0, 0.01 * k, 0}), {0.02 * k, 0, 1.2 * k}}.Inverse());
    const Pose off{RotationOf(vector(k > 0 ? 0.002 : 0)), vector(k > 0 ? 0.03 : 0)};
    problem.keyframes.push_back({k, off * poses.back(), {}});
  }
  for (int n = 0; n < 200; ++n) {
    const double x = 6 * share(random), y = 2 * share(random);
    const Eigen::Vector3d at(x + (x > 0 ? 2 : -2), y, 30 + 25 * share(random));
    LocalProblem::Point point{n, at + vector(0.05), problem.observations.size(), 0};
    for (size_t k = 0; k < poses.size(); ++k) {
      const Eigen::Vector3d p = poses[k] * at;
      if (p.z() < 2 || (static_cast<int>(k) + n) % 3 == 0) continue;
      Observation observation;
      observation.position_sigma = 0.3 + 0.1 * (n % 4);
      observation.disparity_sigma = observation.vertical_disparity_sigma = 0.25;
      observation.is_stereo = n % 5 != 0;
      observation.pixel = Project(truth, p);
      if (!observation.is_stereo) observation.pixel.disparity = observation.pixel.vertical_disparity = 0;
      observation.pixel.left.x() += noise * observation.position_sigma * normal(random);
      observation.pixel.left.y() += noise * observation.position_sigma * normal(random);
      if (observation.is_stereo) observation.pixel.disparity += noise * observation.disparity_sigma * normal(random);
      if (observation.is_stereo)
        observation.pixel.vertical_disparity += noise * observation.vertical_disparity_sigma * normal(random);
      if (bad > 0 && problem.observations.size() % static_cast<size_t>(bad) == 0) observation.pixel.left.x() += 9;
      problem.observations.push_back({k, observation, false});
      ++point.count;
    }
    problem.points.push_back(point);
  }
  return problem;
}

// Ceres' solution of the same problem, and the deviations that its covariance tells of.
void AdjustByCeres(const AdjustmentOptions& options, LocalProblem* problem) {
  ceres::HuberLoss loss(kHuber);
  ceres::Problem::Options ownership;
  ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem equations(ownership);
  double* const rig = problem->camera.rig_rotation.data();
  equations.AddParameterBlock(rig, 3);
  if (options.refine_rig) {
    equations.AddResidualBlock(new ceres::AutoDiffCostFunction<RigPrior, 3, 3>(new RigPrior{options.rig_prior}),
                               nullptr, rig);
  } else {
    equations.SetParameterBlockConstant(rig);
  }
  for (size_t k = 0; k < problem->keyframes.size(); ++k) {
    Pose& pose = problem->keyframes[k].camera_from_world;
    equations.AddParameterBlock(pose.rotation.coeffs().data(), 4, new ceres::EigenQuaternionManifold);
    equations.AddParameterBlock(pose.translation.data(), 3);
    if (static_cast<int>(k) >= options.fixed_keyframes) continue;
    equations.SetParameterBlockConstant(pose.rotation.coeffs().data());
    equations.SetParameterBlockConstant(pose.translation.data());
  }
  for (LocalProblem::Point& point : problem->points) {
    for (size_t i = point.first; i < point.first + point.count; ++i) {
      const LocalProblem::KeyframeObservation& s = problem->observations[i];
      Pose& pose = problem->keyframes[s.keyframe].camera_from_world;
      equations.AddResidualBlock(new PositionCost(&problem->camera, &s.observation), &loss,
                                 pose.rotation.coeffs().data(), pose.translation.data(), point.position.data());
      if (!s.observation.is_stereo) continue;
      equations.AddResidualBlock(new DisparityCost(&problem->camera, &s.observation), &loss,
                                 pose.rotation.coeffs().data(), pose.translation.data(), point.position.data(), rig);
    }
  }
  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::DENSE_SCHUR;
  solver.max_num_iterations = 100;
  solver.function_tolerance = 1e-12;
  solver.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(solver, &equations, &summary);
  ASSERT_TRUE(summary.IsSolutionUsable());
  if (!options.refine_rig) return;
  ceres::Covariance::Options by_svd;
  by_svd.algorithm_type = ceres::SPARSE_QR;
  ceres::Covariance covariance(by_svd);
  const std::vector<std::pair<const double*, const double*>> blocks{{rig, rig}};
  ASSERT_TRUE(covariance.Compute(blocks, &equations));
  Eigen::Matrix3d of_rig;
  ASSERT_TRUE(covariance.GetCovarianceBlock(rig, rig, of_rig.data()));
  problem->rig_uncertainty = of_rig.diagonal().cwiseSqrt();
}

void ExpectSame(const LocalProblem& ours, const LocalProblem& theirs) {
  for (size_t k = 0; k < ours.keyframes.size(); ++k) {
    const Pose off = ours.keyframes[k].camera_from_world * theirs.keyframes[k].camera_from_world.Inverse();
    EXPECT_LT(off.translation.norm(), 5e-4) << "keyframe " << k;
    EXPECT_LT(AngleOf(off.rotation), 5e-5) << "keyframe " << k;
  }
  EXPECT_LT((ours.camera.rig_rotation - theirs.camera.rig_rotation).norm(), 5e-6);
}

TEST(LocalAdjustment, FindsWhatCeresFinds) {
  for (const bool refine_rig : {true, false}) {
    for (const int fixed : {1, 2}) {
      for (const int bad : {0, 20}) {
        SCOPED_TRACE(testing::PrintToString(std::vector<int>{refine_rig ? 1 : 0, fixed, bad}));
        AdjustmentOptions options;
        options.refine_rig = refine_rig;
        options.fixed_keyframes = fixed;
        options.iterations = 40;
        LocalProblem ours = SomeProblem(1, bad);
        LocalProblem theirs = ours;
        const double before = CostOf(options, ours);
        Adjust(options, &ours);
        AdjustByCeres(options, &theirs);
        EXPECT_LT(CostOf(options, ours), 0.6 * before);
        EXPECT_LT(CostOf(options, ours), (1 + 1e-4) * CostOf(options, theirs));
        ExpectSame(ours, theirs);
      }
    }
  }
}

TEST(LocalAdjustment, TenSolutionsAreEnough) {
  AdjustmentOptions options;
  options.refine_rig = true;
  LocalProblem ours = SomeProblem(1, 20);
  LocalProblem theirs = ours;
  Adjust(options, &ours);
  AdjustByCeres(options, &theirs);
  EXPECT_LT(CostOf(options, ours), 1.0001 * CostOf(options, theirs));
}

TEST(LocalAdjustment, TellsHowWellItKnowsTheRig) {
  AdjustmentOptions options;
  options.refine_rig = true;
  options.iterations = 40;
  LocalProblem ours = SomeProblem(0, 0);
  LocalProblem theirs = ours;
  Adjust(options, &ours);
  AdjustByCeres(options, &theirs);
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(ours.rig_uncertainty[axis], theirs.rig_uncertainty[axis], 0.01 * theirs.rig_uncertainty[axis]) << axis;
    EXPECT_LT(ours.rig_uncertainty[axis], 0.5 * options.rig_prior) << axis;
  }
}

TEST(LocalAdjustment, MarksOutliers) {
  AdjustmentOptions options;
  LocalProblem problem = SomeProblem(0.5, 20);
  problem.camera.rig_rotation = {0.001, -0.0015, 0.0008};
  Adjust(options, &problem);
  size_t missed = 0, wronged = 0;
  for (size_t i = 0; i < problem.observations.size(); ++i) {
    const bool is_outlier = i % 20 == 0;
    missed += is_outlier && !problem.observations[i].is_outlier ? 1 : 0;
    wronged += !is_outlier && problem.observations[i].is_outlier ? 1 : 0;
  }
  EXPECT_LE(missed, problem.observations.size() / 500);  // of points that only two keyframes see
  EXPECT_LT(wronged, problem.observations.size() / 50);
}

// A step that no point allows is not taken, and points behind a camera end nothing.
TEST(LocalAdjustment, BearsPointsBehindACamera) {
  AdjustmentOptions options;
  LocalProblem problem = SomeProblem(0, 0);
  problem.points[3].position.z() = -40;
  const double before = CostOf(options, problem);
  Adjust(options, &problem);
  EXPECT_LT(CostOf(options, problem), before);
  const LocalProblem::Point& point = problem.points[3];
  for (size_t i = point.first; i < point.first + point.count; ++i) EXPECT_TRUE(problem.observations[i].is_outlier) << i;
  for (const Keyframe& k : problem.keyframes) EXPECT_TRUE(k.camera_from_world.translation.allFinite());
}

}  // namespace
}  // namespace glint::slam
