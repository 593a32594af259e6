// The local adjustment with an inertial sensor, along a path whose truth is known.
#include <Eigen/Core>
#include <Eigen/LU>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"
#include "slam/adjust/inertial_terms.h"
#include "slam/adjust/local_adjustment.h"
#include "slam/adjust/local_equations.h"
#include "slam/geometry/pose.h"
#include "tests/slam/inertial_window.h"

namespace glint::slam {
namespace {

using Vector9 = LocalProblem::Inertial::Vector9;

InertialWindow Adjusted(const InertialScene& scene, bool is_inertial) {
  InertialWindow window(scene);
  if (!is_inertial) window.problem.inertial.reset();
  Adjust({}, &window.problem);
  return window;
}

// The unknowns of a problem as one vector: poses but the first, motions, points.
class Unknowns {
 public:
  explicit Unknowns(const LocalProblem& problem)
      : motions_(static_cast<Eigen::Index>(6 * (problem.keyframes.size() - 1))),
        points_(motions_ + static_cast<Eigen::Index>(9 * problem.keyframes.size())),
        size_(points_ + static_cast<Eigen::Index>(3 * problem.points.size())) {}
  Eigen::Index size() const { return size_; }
  Eigen::Index MotionOf(size_t keyframe) const { return motions_ + static_cast<Eigen::Index>(9 * keyframe); }

  static void Move(Eigen::Index unknown, double by, LocalProblem* problem) {
    const Unknowns u(*problem);
    if (unknown >= u.points_) {
      problem->points[static_cast<size_t>((unknown - u.points_) / 3)].position[(unknown - u.points_) % 3] += by;
    } else if (unknown >= u.motions_) {
      ImuMotion& motion = problem->keyframes[static_cast<size_t>((unknown - u.motions_) / 9)].inertial->motion;
      const Eigen::Index i = (unknown - u.motions_) % 9;
      (i < 3 ? motion.velocity : i < 6 ? motion.bias.gyroscope : motion.bias.accelerometer)[i % 3] += by;
    } else {
      Eigen::Matrix<double, 6, 1> x = Eigen::Matrix<double, 6, 1>::Zero();
      x[unknown % 6] = by;
      Pose& pose = problem->keyframes[static_cast<size_t>(unknown / 6) + 1].camera_from_world;
      pose = Pose{RotationOf(x.head<3>()), x.tail<3>()} * pose;
    }
  }

 private:
  Eigen::Index motions_, points_, size_;
};

// Of CostOf(), by differences.
struct Derivatives {
  Derivatives(const LocalProblem& at, double step) {
    const Unknowns unknowns(at);
    gradient.resize(unknowns.size());
    hessian.resize(unknowns.size(), unknowns.size());
    LocalProblem moved = at;
    const auto cost = [&](Eigen::Index i, double by_i, Eigen::Index j, double by_j) {
      Unknowns::Move(i, by_i, &moved);
      Unknowns::Move(j, by_j, &moved);
      const double sum = CostOf({}, moved);
      Unknowns::Move(j, -by_j, &moved);
      Unknowns::Move(i, -by_i, &moved);
      return sum;
    };
    for (Eigen::Index i = 0; i < unknowns.size(); ++i) {
      gradient[i] = (cost(i, step, i, 0) - cost(i, -step, i, 0)) / (2 * step);
      for (Eigen::Index j = 0; j <= i; ++j) {
        const double same = cost(i, step, j, step) + cost(i, -step, j, -step);
        const double opposite = cost(i, step, j, -step) + cost(i, -step, j, step);
        hessian(i, j) = hessian(j, i) = (same - opposite) / (4 * step * step);
      }
    }
  }
  Eigen::VectorXd gradient;
  Eigen::MatrixXd hessian;
};

TEST(InertialAdjustment, FindsVelocitiesAndBiases) {
  for (const uint32_t seed : {1U, 2U, 3U, 4U, 5U}) {
    for (const double bias_error : {1, 10}) {
      const InertialWindow window = Adjusted({seed, 300, 15, 0, 1, bias_error}, true);
      for (size_t k = 0; k < window.poses.size(); ++k) {
        const Vector9 error = window.MotionError(k);
        EXPECT_LT(error.head<3>().norm(), 0.02) << "seed " << seed << ", keyframe " << k;
        EXPECT_LT(error.segment<3>(3).norm(), 0.001) << "seed " << seed << ", keyframe " << k;
        EXPECT_LT(error.tail<3>().norm(), 0.03) << "seed " << seed << ", keyframe " << k;
      }
    }
  }
}

TEST(InertialAdjustment, PosesAreNoWorseAndBetterWhereLittleIsSeen) {
  struct Case {
    size_t points, blind;
    double share;  // of the error without the sensor
  };
  for (const Case& c : {Case{300, 0, 1}, Case{15, 0, 0.3}, Case{300, 7, 0.3}}) {
    double with[2] = {0, 0}, without[2] = {0, 0};
    for (const uint32_t seed : {1U, 2U, 3U, 4U, 5U}) {
      const InertialScene scene{seed, c.points, 15, c.blind};
      const InertialWindow inertial = Adjusted(scene, true), visual = Adjusted(scene, false);
      with[0] += inertial.PositionError();
      with[1] += inertial.RotationError();
      without[0] += visual.PositionError();
      without[1] += visual.RotationError();
    }
    EXPECT_LT(with[0], c.share * without[0]) << c.points << " points, blind " << c.blind;
    EXPECT_LT(with[1], c.share * without[1]) << c.points << " points, blind " << c.blind;
  }
}

TEST(InertialAdjustment, AKnockedSensorDoesLittle) {
  for (const uint32_t seed : {1U, 2U, 3U}) {
    const InertialWindow knocked = Adjusted({seed, 300, 15, 0, 1, 1, 5}, true);  // 0.25 m/s: 200 deviations
    EXPECT_LT(knocked.PositionError(), 0.012) << seed;
    EXPECT_LT(knocked.RotationError(), 0.0012) << seed;
  }
}

// The normalised squared error is 1 on average; that of 40 runs is within 3 deviations of it.
TEST(InertialAdjustment, DeviationsCoverTheTruth) {
  constexpr int kRuns = 40;
  Vector9 newest = Vector9::Zero();
  for (uint32_t seed = 1; seed <= kRuns; ++seed) {
    const InertialWindow window = Adjusted({seed, 100}, true);
    const LocalProblem::Inertial& inertial = *window.problem.inertial;
    newest += window.MotionError(14).cwiseQuotient(inertial.newest_sigma).cwiseAbs2() / kRuns;
  }
  EXPECT_LT(newest.maxCoeff(), 1 + 3 * std::sqrt(2.0 / kRuns)) << newest.transpose();
  EXPECT_GT(newest.minCoeff(), 1 - 3 * std::sqrt(2.0 / kRuns)) << newest.transpose();
}

// Where all residuals are 0, the cost's second derivatives are the normal equations.
TEST(InertialAdjustment, DeviationsAreThoseOfTheCost) {
  InertialWindow window({1, 8, 4, 0, 0});
  window.TakeTruth();
  Adjust({}, &window.problem);
  const Unknowns unknowns(window.problem);
  const Derivatives derivatives(window.problem, 1e-5);
  const Eigen::MatrixXd covariance = derivatives.hessian.inverse();
  const Vector9 newest = covariance.diagonal().segment<9>(unknowns.MotionOf(3)).cwiseSqrt();
  EXPECT_LT((newest.cwiseQuotient(window.problem.inertial->newest_sigma).array() - 1).abs().maxCoeff(), 1e-3);
}

TEST(InertialAdjustment, TheCostHasNoSlopeAtTheSolution) {
  InertialWindow window({2, 20, 4, 0, 1, 1, 5});
  AdjustmentOptions options;
  options.iterations = 100;
  for (int i = 0; i < 3; ++i) Adjust(options, &window.problem);
  const Derivatives derivatives(window.problem, 1e-6);
  const Eigen::VectorXd deviations = derivatives.gradient.cwiseQuotient(derivatives.hessian.diagonal().cwiseSqrt());
  EXPECT_LT(deviations.cwiseAbs().maxCoeff(), 0.02) << deviations.transpose();
}

// Far from the solution, where the loss is linear, too.
TEST(InertialTerms, GradientOfPosesIsTheNumericOne) {
  const InertialWindow window({3, 8, 4});
  LocalProblem problem = window.problem;
  InertialTerms terms({}, problem);
  Eigen::MatrixXd hessian = Eigen::MatrixXd::Zero(18, 18);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(18);
  terms.Linearize(problem, &hessian, &gradient);
  for (Eigen::Index i = 0; i < 18; ++i) {
    Unknowns::Move(i, 1e-6, &problem);
    const double above = terms.CostOf(problem);
    Unknowns::Move(i, -2e-6, &problem);
    const double below = terms.CostOf(problem);
    Unknowns::Move(i, 1e-6, &problem);
    EXPECT_NEAR(gradient[i], (above - below) / 2e-6, 1e-4 * gradient.norm()) << i;
  }
}

// Motions of keyframes before which nothing was measured are as certain as they were, and as what comes after tells.
TEST(InertialAdjustment, BearsTimesWithoutMeasurements) {
  InertialWindow window({1});
  for (const size_t k : {size_t{7}, size_t{14}}) {
    Keyframe::Inertial& inertial = *window.problem.keyframes[k].inertial;
    inertial.since_last = Preintegration();
    inertial.prior = inertial.motion;
    inertial.prior_sigma << Eigen::Vector3d::Constant(0.3), Eigen::Vector3d::Constant(0.003),
        Eigen::Vector3d::Constant(0.1);
  }
  const Keyframe::Inertial newest = *window.problem.keyframes[14].inertial;
  Adjust({}, &window.problem);
  for (size_t k = 0; k < 14; ++k) EXPECT_LT(window.MotionError(k).head<3>().norm(), 0.03) << k;
  EXPECT_LT(window.PositionError(), 0.01);
  EXPECT_LT((window.problem.keyframes[14].inertial->motion.velocity - newest.motion.velocity).norm(), 1e-9);
  const LocalProblem::Inertial& inertial = *window.problem.inertial;
  EXPECT_LT((inertial.newest_sigma - newest.prior_sigma).cwiseAbs().maxCoeff(), 1e-9);
}

// What a prior says of the motion after such a time counts as much as what was measured.
TEST(InertialAdjustment, APriorWithinTheWindowIsPartOfTheCost) {
  InertialWindow window({1, 300, 3});
  Keyframe::Inertial& newest = *window.problem.keyframes[2].inertial;
  newest.since_last = Preintegration();
  newest.prior = newest.motion;
  newest.prior_sigma.setConstant(0.1);
  const LocalEquations equations({}, window.problem);
  const double before = equations.CostOf(window.problem);
  newest.motion.velocity.x() += 0.2;
  EXPECT_NEAR(equations.CostOf(window.problem) - before, 2, 1e-9);
}

// With all poses held, the motions alone are estimated, as well as poses are known.
TEST(InertialAdjustment, EstimatesMotionsOfPosesThatAreHeld) {
  for (const size_t keyframes : {size_t{1}, size_t{2}, size_t{15}}) {
    for (const size_t points : {size_t{0}, size_t{300}}) {
      InertialWindow window({1, points, keyframes});
      for (size_t k = 0; k < keyframes; ++k) window.problem.keyframes[k].camera_from_world = window.poses[k];
      AdjustmentOptions options;
      options.fixed_keyframes = 15;
      Adjust(options, &window.problem);
      EXPECT_EQ(window.PositionError(), 0);
      const Vector9 error = window.MotionError(keyframes - 1);
      EXPECT_LT(error.cwiseQuotient(window.problem.inertial->newest_sigma).cwiseAbs().maxCoeff(), 3.5) << keyframes;
      EXPECT_LT(error.head<3>().norm(), keyframes == 15 ? 0.02 : 0.2) << keyframes;
      // Held poses may be off by 3 mm, between keyframes 0.3 s apart.
      EXPECT_GT(window.problem.inertial->newest_sigma.head<3>().minCoeff(), 0.002) << keyframes;
    }
  }
}

TEST(InertialAdjustment, IntegratesAgainAboutTheBiasesOfTheKeyframeBefore) {
  InertialWindow window({1});
  for (Keyframe& k : window.problem.keyframes) {
    k.inertial->motion.bias.accelerometer.x() += 0.3 + 0.01 * static_cast<double>(k.id);
  }
  const LocalProblem before = window.problem;
  Adjust({}, &window.problem);
  for (size_t k = 1; k < before.keyframes.size(); ++k) {
    EXPECT_EQ(window.problem.keyframes[k].inertial->since_last.bias().accelerometer,
              before.keyframes[k - 1].inertial->motion.bias.accelerometer);
    EXPECT_LT(window.MotionError(k).head<3>().norm(), 0.02) << k;
  }
}

TEST(InertialAdjustment, SolvesWithoutPoints) {
  InertialWindow window({1, 0});
  EXPECT_GT(CostOf({}, window.problem), 1e4);
  Adjust({}, &window.problem);
  EXPECT_LT(CostOf({}, window.problem), 1);  // as many unknowns as measurements
}

TEST(InertialAdjustment, TheMapTakesMotionsOver) {
  const InertialWindow window = Adjusted({1, 50}, true);
  LocalMap map;
  map.keyframes.assign(window.problem.keyframes.begin(), window.problem.keyframes.end());
  for (Keyframe& k : map.keyframes) k.inertial->motion = {};
  ApplySolution(window.problem, &map);
  for (size_t k = 0; k < map.keyframes.size(); ++k) {
    const ImuMotion &taken = map.keyframes[k].inertial->motion, &solved = window.problem.keyframes[k].inertial->motion;
    EXPECT_EQ(taken.velocity, solved.velocity);
    EXPECT_EQ(taken.bias.gyroscope, solved.bias.gyroscope);
    EXPECT_EQ(taken.bias.accelerometer, solved.bias.accelerometer);
  }
  // A map that took up an inertial sensor since keeps it.
  LocalProblem visual = window.problem;
  visual.inertial.reset();
  for (Keyframe& k : visual.keyframes) k.inertial.reset();
  ApplySolution(visual, &map);
  EXPECT_TRUE(map.keyframes[3].inertial.has_value());
}

}  // namespace
}  // namespace glint::slam
