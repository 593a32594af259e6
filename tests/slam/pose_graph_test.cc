// The pose graph's residual, Jacobians and solution, on graphs of a known truth.
#include "slam/adjust/pose_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "slam/geometry/pose.h"
#include "tests/slam/noisy_graph.h"

namespace glint::slam {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

Pose Moved(const Pose& pose, int axis, double by) {
  Vector6 x = Vector6::Zero();
  x[axis] = by;
  return Pose{RotationOf(x.head<3>()), x.tail<3>()} * pose;
}

bool SameBits(const PoseGraph& a, const PoseGraph& b) {
  for (size_t k = 0; k < a.camera_from_world.size(); ++k) {
    const Pose &p = a.camera_from_world[k], &q = b.camera_from_world[k];
    if (std::memcmp(p.rotation.coeffs().data(), q.rotation.coeffs().data(), 4 * sizeof(double)) != 0) return false;
    if (std::memcmp(p.translation.data(), q.translation.data(), 3 * sizeof(double)) != 0) return false;
  }
  return true;
}

TEST(EdgeResidual, JacobiansAreTheNumericOnes) {
  constexpr double kStep = 1e-5;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> share(-1, 1);
  const auto vector = [&](double size) -> Eigen::Vector3d {
    const double x = share(random), y = share(random);
    return size * Eigen::Vector3d(x, y, share(random));
  };
  const auto pose = [&](double turn, double shift) {
    const Eigen::Vector3d axis = vector(turn);
    return Pose{RotationOf(axis), vector(shift)};
  };
  // Rotations of any size, so that the quaternion of the error has either sign.
  int signs[2] = {0, 0};
  for (int i = 0; i < 200; ++i) {
    const Pose from = pose(3, 20), to = pose(3, 20);
    const PoseGraph::Edge edge{0, 1, pose(i % 2 == 0 ? 3 : 0.1, 5) * to * from.Inverse(), 0.01, 0.05, false};
    const double w = (edge.to_from.rotation.conjugate() * to.rotation * from.rotation.conjugate()).w();
    if (std::abs(w) < 0.01) continue;  // half a turn apart, where the residual has a step
    ++signs[w < 0 ? 1 : 0];
    const EdgeResidual r(edge, from, to);
    Matrix6 by_from, by_to;
    for (int axis = 0; axis < 6; ++axis) {
      by_from.col(axis) = (EdgeResidual(edge, Moved(from, axis, kStep), to).error -
                           EdgeResidual(edge, Moved(from, axis, -kStep), to).error) /
                          (2 * kStep);
      by_to.col(axis) = (EdgeResidual(edge, from, Moved(to, axis, kStep)).error -
                         EdgeResidual(edge, from, Moved(to, axis, -kStep)).error) /
                        (2 * kStep);
    }
    // Derivatives are up to 1e3, and rounding of the difference adds 1e-6.
    EXPECT_LT((r.by_from - by_from).cwiseAbs().maxCoeff(), 1e-5) << i;
    EXPECT_LT((r.by_to - by_to).cwiseAbs().maxCoeff(), 1e-5) << i;
  }
  EXPECT_GT(signs[0], 20);
  EXPECT_GT(signs[1], 20);
}

TEST(EdgeResidual, IsTheAngleAndTheShiftByTheirDeviations) {
  const Pose from{RotationOf({0.3, 0.1, -0.4}), {1, 2, 3}};
  const Pose to_from{RotationOf({0, 0.2, 0}), {0.5, 0, 1}};
  const PoseGraph::Edge edge{0, 1, to_from, 0.001, 0.02, false};
  EXPECT_LT(EdgeResidual(edge, from, to_from * from).error.norm(), 1e-11);
  const Vector6 turned =
      EdgeResidual(edge, from, Pose{to_from.rotation * RotationOf({0, 0.003, 0}), to_from.translation} * from).error;
  EXPECT_NEAR(turned[1], 3, 1e-5);
  EXPECT_LT(turned.tail<3>().norm(), 1e-11);
  const Vector6 shifted = EdgeResidual(edge, from, Pose{to_from.rotation, {0.5, 0, 1.04}} * from).error;
  EXPECT_NEAR(shifted[5], 2, 1e-11);
}

TEST(PoseGraph, FindsTheTruthWithoutNoise) {
  NoisyGraph noisy = MakeNoisyGraph(300, 0, 1);
  for (PoseGraph::Edge& e : noisy.graph.edges) e.to_from = noisy.truth[e.to] * noisy.truth[e.from].Inverse();
  ASSERT_GT(PositionError(noisy), 0.1);
  SolvePoseGraph(&noisy.graph);
  EXPECT_LT(PositionError(noisy), 1e-6);
  EXPECT_LT(PoseGraphCost(noisy.graph), 1e-6);
}

TEST(PoseGraph, LoopsCorrectDriftAndBadOnesDoNotUndoIt) {
  for (const uint32_t seed : {1U, 2U, 3U}) {
    for (const size_t bad : {size_t{0}, size_t{5}}) {
      NoisyGraph noisy = MakeNoisyGraph(600, bad, seed);
      const double before = PositionError(noisy);
      const double cost = PoseGraphCost(noisy.graph);
      SolvePoseGraph(&noisy.graph);
      EXPECT_LT(PositionError(noisy), 0.6 * before) << "seed " << seed << ", bad " << bad;
      EXPECT_LT(PoseGraphCost(noisy.graph), cost);
      for (const Pose& pose : noisy.graph.camera_from_world) EXPECT_NEAR(pose.rotation.norm(), 1, 1e-14);
    }
  }
}

TEST(PoseGraph, HoldsTheFirstPoseAndWhatNoEdgeLeadsTo) {
  NoisyGraph noisy = MakeNoisyGraph(200, 0, 4);
  PoseGraph& graph = noisy.graph;
  graph.camera_from_world.push_back({RotationOf({0, 0, 1}), {7, 8, 9}});
  const PoseGraph before = graph;
  SolvePoseGraph(&graph);
  for (const size_t held : {size_t{0}, graph.camera_from_world.size() - 1}) {
    EXPECT_LT((graph.camera_from_world[held].translation - before.camera_from_world[held].translation).norm(), 1e-12);
    EXPECT_LT(graph.camera_from_world[held].rotation.angularDistance(before.camera_from_world[held].rotation), 1e-12);
  }
  EXPECT_FALSE(SameBits(graph, before));
}

TEST(PoseGraph, GivesTheSameBitsAgain) {
  PoseGraph one = MakeNoisyGraph(400, 4, 5).graph, other = one;
  SolvePoseGraph(&one);
  SolvePoseGraph(&other);
  EXPECT_TRUE(SameBits(one, other));
}

TEST(PoseGraph, AnOptimumStays) {
  PoseGraph graph = MakeNoisyGraph(400, 0, 6).graph;
  SolvePoseGraph(&graph);
  const double cost = PoseGraphCost(graph);
  SolvePoseGraph(&graph);
  EXPECT_LE(PoseGraphCost(graph), cost);
  EXPECT_NEAR(PoseGraphCost(graph), cost, 1e-8 * cost);
}

Eigen::Vector3d UpOf(const Pose& pose) { return pose.rotation * Eigen::Vector3d::UnitZ(); }

// Such a graph whose poses have the true roll and pitch.
NoisyGraph MakeLevelGraph(size_t keyframes, size_t bad, uint32_t seed) {
  NoisyGraph noisy = MakeNoisyGraph(keyframes, bad, seed);
  noisy.graph.is_level = true;
  for (size_t k = 0; k < keyframes; ++k) {
    Pose& pose = noisy.graph.camera_from_world[k];
    const Eigen::Vector3d centre = pose.Inverse().translation;
    pose.rotation = (Eigen::Quaterniond::FromTwoVectors(UpOf(pose), UpOf(noisy.truth[k])) * pose.rotation).normalized();
    pose.translation = -(pose.rotation * centre);
  }
  return noisy;
}

TEST(LevelPoseGraph, FindsTheTruthWithoutNoise) {
  NoisyGraph noisy = MakeLevelGraph(300, 0, 1);
  for (PoseGraph::Edge& e : noisy.graph.edges) e.to_from = noisy.truth[e.to] * noisy.truth[e.from].Inverse();
  ASSERT_GT(PositionError(noisy), 0.1);
  SolvePoseGraph(&noisy.graph);
  EXPECT_LT(PositionError(noisy), 1e-6);
  EXPECT_LT(PoseGraphCost(noisy.graph), 1e-6);
}

TEST(LevelPoseGraph, KeepsRollAndPitchAndCorrectsTheRest) {
  double level_error = 0, free_error = 0;
  for (const uint32_t seed : {1U, 2U, 3U}) {
    for (const size_t bad : {size_t{0}, size_t{5}}) {
      NoisyGraph level = MakeLevelGraph(600, bad, seed), free = level;
      free.graph.is_level = false;
      const double before = PositionError(level);
      const PoseGraph begin = level.graph;
      SolvePoseGraph(&level.graph);
      SolvePoseGraph(&free.graph);
      EXPECT_LT(PositionError(level), 0.6 * before) << "seed " << seed << ", bad " << bad;
      double tilt = 0;
      for (size_t k = 0; k < begin.camera_from_world.size(); ++k) {
        const Pose &now = level.graph.camera_from_world[k], &then = begin.camera_from_world[k];
        tilt = std::max(tilt, (UpOf(now) - UpOf(then)).norm());
      }
      EXPECT_LT(tilt, 1e-12);
      level_error += PositionError(level);
      free_error += PositionError(free);
    }
  }
  EXPECT_LT(level_error, free_error);
}

// No pose can turn about the vertical or move, and cost less.
TEST(LevelPoseGraph, TheCostHasNoSlopeAtTheSolution) {
  PoseGraph graph = MakeLevelGraph(300, 5, 2).graph;
  for (int i = 0; i < 5; ++i) SolvePoseGraph(&graph);
  const auto cost = [&graph](size_t k, int unknown, double by) {
    const Pose pose = graph.camera_from_world[k];
    Pose change;
    if (unknown < 3) change.translation[unknown] = by;
    if (unknown == 3) change.rotation = RotationOf({0, 0, by});
    graph.camera_from_world[k] = pose * change;
    const double moved = PoseGraphCost(graph);
    graph.camera_from_world[k] = pose;
    return moved;
  };
  for (size_t k = 1; k < graph.camera_from_world.size(); k += 7) {
    for (int unknown = 0; unknown < 4; ++unknown) {
      const double h = 1e-5, now = cost(k, unknown, 0);
      const double above = cost(k, unknown, h) - now, below = cost(k, unknown, -h) - now;
      // Where the parabola through the three has its least value, in deviations.
      EXPECT_LT(std::abs(above - below) / 2 / std::sqrt(above + below), 0.02) << k << ", " << unknown;
    }
  }
}

// Gravity tells roll and pitch better than a place does: what a loop says of them does not lessen its weight.
TEST(LevelPoseGraph, LoopsThatAreTiltedCorrectHeadingsAllTheSame) {
  NoisyGraph upright = MakeLevelGraph(400, 0, 3), tilted = upright;
  for (PoseGraph::Edge& e : tilted.graph.edges) {
    if (!e.is_loop) continue;
    const Eigen::Vector3d axis = UpOf(upright.truth[e.from]).unitOrthogonal();
    e.to_from.rotation = e.to_from.rotation * RotationOf(0.005 * axis);  // 10 deviations
  }
  SolvePoseGraph(&upright.graph);
  SolvePoseGraph(&tilted.graph);
  for (size_t k = 0; k < upright.truth.size(); ++k) {
    const Pose &a = upright.graph.camera_from_world[k], &b = tilted.graph.camera_from_world[k];
    EXPECT_LT((a.Inverse().translation - b.Inverse().translation).norm(), 0.01) << k;
  }
}

TEST(PoseGraph, BearsGraphsWithNothingToSolve) {
  PoseGraph empty;
  SolvePoseGraph(&empty);
  EXPECT_EQ(PoseGraphCost(empty), 0);
  PoseGraph graph = MakeNoisyGraph(3, 0, 1).graph;
  graph.edges[1].to_from.translation.x() = std::numeric_limits<double>::quiet_NaN();
  const PoseGraph before = graph;
  SolvePoseGraph(&graph);
  EXPECT_TRUE(SameBits(graph, before));
  graph.edges.clear();
  SolvePoseGraph(&graph);
  EXPECT_TRUE(SameBits(graph, before));
}

}  // namespace
}  // namespace glint::slam
