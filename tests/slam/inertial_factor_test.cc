// Residuals of preintegrated measurements and their Jacobians, beside motions that are known.
#include "slam/inertial/inertial_factor.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/preintegration.h"
#include "tests/slam/sine_motion.h"

namespace glint::slam {
namespace {

using Vector9 = Eigen::Matrix<double, 9, 1>;
using Matrix9 = Eigen::Matrix<double, 9, 9>;

const ImuBias kNoBias;

ImuModel ModelWithLever() {
  ImuModel model;
  model.noise_inflation = 3;
  model.camera_from_imu = {RotationOf({1.2, -0.8, 2}), {0.1, -0.3, 0.2}};
  return model;
}

InertialState StateOf(const ImuModel& model, const NavState& state) {
  return {model.camera_from_imu * state.world_from_imu.Inverse(), state.motion};
}

TEST(InertialFactor, HasNoErrorAtTheTruth) {
  const ImuModel model = ModelWithLever();
  SineMotion motion;
  const Preintegration measured = Measured(model, motion.Measure(0.5, 1.5, 1000, SomeBias()), kNoBias);
  InertialState from = StateOf(model, motion.At(0.5)), to = StateOf(model, motion.At(1.5));
  from.motion.bias = to.motion.bias = SomeBias();
  Preintegration about = measured;
  about.Relinearize(SomeBias());
  EXPECT_LT(InertialFactor(model, &about).Error(from, to, motion.gravity).norm(), 0.02);
  EXPECT_GT(InertialFactor(model, &about).Error(from, to, {0, 0, -9.8}).norm(), 1);

  to.motion.bias.gyroscope.x() += 4e-5;
  to.motion.bias.accelerometer.z() -= 3e-3;
  const InertialResidual::Vector15 error = InertialFactor(model, &about).Error(from, to, motion.gravity);
  EXPECT_NEAR(error[9], 2, 1e-9);
  EXPECT_NEAR(error[14], -1, 1e-9);
}

TEST(InertialFactor, WhitensNoise) {
  const ImuModel model = ModelWithLever();
  const SineMotion motion;
  const std::vector<ImuSample> samples = motion.Measure(0.5, 0.75, 50);
  InertialState from = StateOf(model, motion.At(0.5));
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  for (const InertialFactor::PoseSigmas& sigmas : {InertialFactor::PoseSigmas(), {0.01, 0.02}}) {
    Eigen::Matrix<double, 9, 9> sum = Matrix9::Zero();
    constexpr int kRuns = 1000;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<ImuSample> noisy = samples;
      AddNoise(model, 0.005, &random, &noisy);
      const Preintegration measured = Measured(model, noisy, kNoBias);
      NavState end = motion.At(0.75);
      Eigen::Matrix<double, 6, 1> off;
      for (int i = 0; i < 6; ++i) off[i] = (i < 3 ? sigmas.rotation : sigmas.position) * normal(random);
      end.world_from_imu.rotation = end.world_from_imu.rotation * RotationOf(off.head<3>());
      end.world_from_imu.translation += off.tail<3>();
      const Vector9 error =
          InertialFactor(model, &measured, sigmas).Error(from, StateOf(model, end), motion.gravity).head<9>();
      sum += error * error.transpose();
    }
    EXPECT_LT((sum / kRuns - Matrix9::Identity()).cwiseAbs().maxCoeff(), 0.15) << sigmas.rotation;
  }
}

TEST(InertialFactor, StaysFiniteWithTheLeastNoise) {
  ImuModel model = ModelWithLever();
  model.gyroscope_noise_density = 1e-6;
  model.accelerometer_noise_density = 1e-5;
  model.noise_inflation = 1;
  for (const double accelerometer_noise : {1e-5, 10.}) {
    model.accelerometer_noise_density = accelerometer_noise;
    for (const double seconds : {1e-9, 1e-3, 20.}) {
      const SineMotion motion;
      const Preintegration measured = Measured(model, motion.Measure(0, seconds, 1), kNoBias);
      InertialResidual residual;
      InertialFactor(model, &measured)
          .Linearize(StateOf(model, motion.At(0)), StateOf(model, motion.At(seconds)), motion.gravity, &residual);
      EXPECT_TRUE(residual.error.allFinite()) << seconds;
      EXPECT_TRUE(residual.by_from.allFinite()) << seconds;
      EXPECT_TRUE(residual.by_to.allFinite()) << seconds;
    }
  }
}

TEST(InertialFactor, HasJacobiansOfItsError) {
  // Noise that makes rows of the residual about as large as what they are made of.
  ImuModel model = ModelWithLever();
  model.gyroscope_noise_density = 0.3;
  model.accelerometer_noise_density = 0.5;
  model.gyroscope_random_walk = 0.1;
  model.accelerometer_random_walk = 0.2;
  const SineMotion motion;
  const Preintegration measured = Measured(model, motion.Measure(0.3, 1.5, 240, SomeBias()), kNoBias);
  const InertialFactor factor(model, &measured, {0.1, 0.1});
  // Off the truth, with a rotation's error of 0.6 rad.
  InertialState from = StateOf(model, motion.At(0.3)), to = StateOf(model, motion.At(1.5));
  from.camera_from_world = Pose{RotationOf({0.3, -0.2, 0.4}), {0.2, 0.3, -0.1}} * from.camera_from_world;
  from.motion = {{0.2, -0.5, 0.9}, {{0.1, -0.2, 0.15}, {0.3, 0.2, -0.5}}};
  to.motion.bias = SomeBias();
  const Eigen::Vector3d gravity(1, 2, -9);
  InertialResidual residual;
  factor.Linearize(from, to, gravity, &residual);
  EXPECT_EQ(residual.error, factor.Error(from, to, gravity));
  EXPECT_GT(residual.error.norm(), 1);

  constexpr double kStep = 1e-5;
  const auto moved = [](InertialState state, int i, double by) {
    if (i < 6) {
      Eigen::Matrix<double, 6, 1> x = by * Eigen::Matrix<double, 6, 1>::Unit(i);
      state.camera_from_world = Pose{RotationOf(x.head<3>()), x.tail<3>()} * state.camera_from_world;
    } else {
      (i < 9    ? state.motion.velocity
       : i < 12 ? state.motion.bias.gyroscope
                : state.motion.bias.accelerometer)[i % 3] += by;
    }
    return state;
  };
  for (int i = 0; i < 15; ++i) {
    const InertialResidual::Vector15 by_from =
        (factor.Error(moved(from, i, kStep), to, gravity) - factor.Error(moved(from, i, -kStep), to, gravity)) /
        (2 * kStep);
    const InertialResidual::Vector15 by_to =
        (factor.Error(from, moved(to, i, kStep), gravity) - factor.Error(from, moved(to, i, -kStep), gravity)) /
        (2 * kStep);
    EXPECT_LT((residual.by_from.col(i) - by_from).norm(), 1e-6) << i;
    EXPECT_LT((residual.by_to.col(i) - by_to).norm(), 1e-6) << i;
    EXPECT_GT(by_from.norm(), 0.1) << i;
    EXPECT_GT(by_to.norm(), 0.1) << i;
  }
  for (int i = 0; i < 3; ++i) {
    const Eigen::Vector3d d = kStep * Eigen::Vector3d::Unit(i);
    const InertialResidual::Vector15 by_gravity =
        (factor.Error(from, to, gravity + d) - factor.Error(from, to, gravity - d)) / (2 * kStep);
    EXPECT_LT((residual.by_gravity.col(i) - by_gravity).norm(), 1e-6) << i;
    EXPECT_GT(by_gravity.norm(), 0.1) << i;
  }
}

}  // namespace
}  // namespace glint::slam
