// Gravity, velocities and biases from poses that are known.
#include "slam/inertial/initializer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/preintegration.h"
#include "tests/slam/sine_motion.h"

namespace glint::slam {
namespace {

constexpr double kDegree = M_PI / 180;

struct Drive {
  std::vector<PosedMeasurement> poses;
  std::vector<Eigen::Vector3d> velocity;  // of each pose
  Eigen::Vector3d gravity;
};

ImuModel EurocModel() {
  ImuModel model;
  model.noise_inflation = 3;
  model.camera_from_imu = {RotationOf({0.1, -0.2, 1.5}), {0.02, -0.06, 0.01}};
  model.gyroscope_noise_density = 1.6968e-4;
  model.gyroscope_random_walk = 1.9393e-5;
  model.accelerometer_noise_density = 2e-3;
  model.accelerometer_random_walk = 3e-3;
  return model;
}

// `count` poses over `seconds` of `motion`, measured at 200 Hz with the model's white noise (not inflated), off by
// `bias`, integrated about `about`. The world is turned, so that gravity is along no axis.
Drive DriveOf(const ImuModel& model, const SineMotion& motion, int count, double seconds, const ImuBias& bias,
              const ImuBias& about, unsigned seed) {
  const Pose world_from_level{RotationOf({0.9, -1.3, 0.4}), {3, -2, 1}};
  ImuModel quiet = model;
  quiet.noise_inflation = 1;
  std::mt19937 random(seed);
  Drive drive;
  drive.gravity = world_from_level.rotation * motion.gravity;
  const double step = seconds / (count - 1);
  for (int i = 0; i < count; ++i) {
    const NavState state = motion.At(i * step);
    const Pose world_from_imu = world_from_level * state.world_from_imu;
    PosedMeasurement pose{model.camera_from_imu * world_from_imu.Inverse(), Preintegration(model, about)};
    if (i > 0) {
      const int steps = std::max(2, static_cast<int>(std::lround(step * 200)));
      std::vector<ImuSample> samples = motion.Measure((i - 1) * step, i * step, steps, bias);
      AddNoise(quiet, step / steps, &random, &samples);
      pose.since_last.Add(samples);
    }
    drive.poses.push_back(pose);
    drive.velocity.push_back(world_from_level.rotation * state.motion.velocity);
  }
  return drive;
}

double AngleBetween(const Eigen::Vector3d& a, const Eigen::Vector3d& b) {
  return std::atan2(a.cross(b).norm(), a.dot(b));
}

double LargestVelocityError(const Drive& drive, const InertialEstimate& estimate) {
  double largest = 0;
  for (size_t i = 0; i < drive.velocity.size(); ++i)
    largest = std::max(largest, (estimate.velocity[i] - drive.velocity[i]).norm());
  return largest;
}

Eigen::Vector3d RandomVector(double sigma, std::mt19937* random) {
  std::normal_distribution<double> normal(0, sigma);
  const double x = normal(*random), y = normal(*random), z = normal(*random);
  return {x, y, z};
}

struct Window {
  int poses;
  double seconds;
};

TEST(EstimateInertial, FindsAllInMotion) {
  const ImuModel model = EurocModel();
  for (const Window& w : {Window{4, 10}, {10, 5}, {40, 10}, {4, 1}, {10, 2}, {40, 1}}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(testing::Message() << w.poses << " poses, " << w.seconds << " s, seed " << seed);
      std::mt19937 random(100 + seed);
      const ImuBias bias{RandomVector(0.05, &random), RandomVector(0.05, &random)};
      ImuBias about;  // wrong by 0.2 rad/s
      about.gyroscope = bias.gyroscope + 0.2 * RandomVector(1, &random).normalized();
      const Drive drive = DriveOf(model, SineMotion(), w.poses, w.seconds, bias, about, seed);
      InertialEstimate e;
      ASSERT_TRUE(EstimateInertial(model, {}, drive.poses, &e));
      ASSERT_EQ(e.velocity.size(), drive.velocity.size());
      EXPECT_LT((e.bias.gyroscope - bias.gyroscope).norm(), 0.002);
      EXPECT_LT(LargestVelocityError(drive, e), 0.03);
      EXPECT_NEAR(e.gravity.norm(), model.gravity, 1e-12);
      EXPECT_GT(e.normalized_error, 0);
      EXPECT_LT(e.normalized_error, 1);
      const double gravity_error = AngleBetween(e.gravity, drive.gravity);
      const double accelerometer_error = (e.bias.accelerometer - bias.accelerometer).norm();
      if (w.seconds > 2) {
        EXPECT_LT(gravity_error, 0.5 * kDegree);
        EXPECT_LT(accelerometer_error, 0.05);
      } else {
        // A short motion does not tell gravity from the accelerometer's bias.
        EXPECT_LT(gravity_error, 3 * e.gravity_sigma);
        EXPECT_LT(accelerometer_error, 3 * e.accelerometer_sigma);
      }
    }
  }
}

SineMotion Rest() {
  SineMotion motion;
  motion.position.amplitude.setZero();
  motion.angles.amplitude.setZero();
  return motion;
}

TEST(EstimateInertial, FindsGravityAtRest) {
  const ImuModel model = EurocModel();
  for (const Window& w : {Window{4, 1}, {4, 10}, {10, 1}, {10, 10}, {40, 1}, {40, 10}}) {
    for (const Eigen::Vector3d& accelerometer : {Eigen::Vector3d(0.05, 0, 0), {0, 0.05, 0}, {0, 0, -0.05}}) {
      const ImuBias bias{{0.01, 0.02, -0.2}, accelerometer};
      const Drive drive = DriveOf(model, Rest(), w.poses, w.seconds, bias, {}, 1);
      InertialEstimate e;
      ASSERT_TRUE(EstimateInertial(model, {}, drive.poses, &e)) << w.poses;
      EXPECT_LT(AngleBetween(e.gravity, drive.gravity), kDegree);
      EXPECT_LT((e.bias.gyroscope - bias.gyroscope).norm(), 0.002);
      EXPECT_LT(LargestVelocityError(drive, e), 0.03);
      // What is along gravity shows in its length.
      const Pose imu_from_world = model.camera_from_imu.Inverse() * drive.poses[0].camera_from_world;
      const Eigen::Vector3d down = imu_from_world.rotation * drive.gravity.normalized();
      EXPECT_NEAR((e.bias.accelerometer - bias.accelerometer).dot(down), 0, w.seconds > 2 ? 0.003 : 0.04);
      // Bias and direction are one: each explains as much of the other.
      EXPECT_GT(e.gravity_sigma, 0.9 * 0.1 / 9.81);
      EXPECT_LT(e.normalized_error, 1);
    }
  }
}

// With exact poses and the noise that the model says, errors are as large as the standard deviations.
TEST(EstimateInertial, KnowsHowWellItKnows) {
  ImuModel model = EurocModel();
  model.noise_inflation = 1;
  std::mt19937 random(7);
  constexpr int kRuns = 200;
  for (const SineMotion& motion : {SineMotion(), Rest()}) {
    double gravity = 0, gyroscope = 0, accelerometer = 0, velocity = 0, normalized = 0;
    for (unsigned run = 0; run < kRuns; ++run) {
      const ImuBias bias{RandomVector(0.1, &random), RandomVector(0.1, &random)};
      const Drive drive = DriveOf(model, motion, 4, 1.2, bias, {}, run);
      InertialEstimate e;
      ASSERT_TRUE(EstimateInertial(model, {0, 0}, drive.poses, &e));
      const auto squared = [](double ratio) { return ratio * ratio / kRuns; };
      gravity += squared(AngleBetween(e.gravity, drive.gravity) / e.gravity_sigma);
      gyroscope += squared((e.bias.gyroscope - bias.gyroscope).norm() / e.gyroscope_sigma);
      accelerometer += squared((e.bias.accelerometer - bias.accelerometer).norm() / e.accelerometer_sigma);
      velocity += squared((e.velocity.back() - drive.velocity.back()).norm() / e.velocity_sigma);
      normalized += e.normalized_error / kRuns;
    }
    // Of as many axes as have the largest deviation, at most 2 and 3; of these, two of the accelerometer's bias.
    EXPECT_NEAR(gravity, 2, 0.5);
    EXPECT_NEAR(gyroscope, 3, 0.8);
    EXPECT_NEAR(accelerometer, 2, 0.5);
    EXPECT_GT(velocity, 1);
    EXPECT_LT(velocity, 3.8);
    EXPECT_NEAR(normalized, 1, 0.1);
  }
}

// Four tenths of a second, in which gravity and the accelerometer's bias are one.
TEST(EstimateInertial, TakesWhatIsKnownOfGravity) {
  ImuModel model = EurocModel();
  model.noise_inflation = 1;
  std::mt19937 random(11);
  constexpr int kRuns = 200;
  double gravity = 0, velocity = 0, prior = 0;
  for (unsigned run = 0; run < kRuns; ++run) {
    const ImuBias bias{RandomVector(0.02, &random), RandomVector(0.1, &random)};
    const Drive drive = DriveOf(model, SineMotion(), 5, 0.4, bias, {}, run);
    InertialEstimate without, with;
    InitializerOptions options{0, 0};
    options.biases.gyroscope_sigma = 0.02;
    ASSERT_TRUE(EstimateInertial(model, options, drive.poses, &without));
    options.gravity = GravityPrior{(drive.gravity.normalized() + RandomVector(0.005, &random)).normalized(), 0.005};
    ASSERT_TRUE(EstimateInertial(model, options, drive.poses, &with));
    EXPECT_LE(with.gravity_sigma, 0.005);
    EXPECT_GT(without.gravity_sigma, 0.007);
    EXPECT_LT(with.accelerometer_sigma, without.accelerometer_sigma);
    const auto squared = [](double ratio) { return ratio * ratio / kRuns; };
    gravity += squared(AngleBetween(with.gravity, drive.gravity) / with.gravity_sigma);
    velocity += squared((with.velocity.back() - drive.velocity.back()).norm() / with.velocity_sigma);
    prior += with.prior_error / kRuns;
  }
  EXPECT_GT(prior, 0.1);
  EXPECT_LT(prior, 5);
  EXPECT_NEAR(gravity, 2, 0.5);
  EXPECT_GT(velocity, 0.8);
  EXPECT_LT(velocity, 3.8);
}

TEST(EstimateInertial, MovesFarFromGravityThatContradicts) {
  const ImuModel model = EurocModel();
  const Drive drive = DriveOf(model, SineMotion(), 20, 5, {}, {}, 1);
  InitializerOptions options;
  const Eigen::Vector3d wrong = RotationOf({0.2, 0.1, -0.1}) * drive.gravity.normalized();
  options.gravity = GravityPrior{wrong, 0.01};
  InertialEstimate e;
  ASSERT_TRUE(EstimateInertial(model, options, drive.poses, &e));
  EXPECT_GT(AngleBetween(e.gravity, wrong), 3 * 0.01);
  EXPECT_GT(e.prior_error, 16);
  options.gravity->direction = drive.gravity.normalized();
  ASSERT_TRUE(EstimateInertial(model, options, drive.poses, &e));
  EXPECT_LT(e.prior_error, 5);
  // In a short time it shows in the bias.
  options.gravity->direction = wrong;
  const absl::Span<const PosedMeasurement> begin = absl::MakeSpan(drive.poses).subspan(0, 4);
  ASSERT_TRUE(EstimateInertial(model, options, begin, &e));
  EXPECT_GT(e.prior_error, 16);
}

// At rest, of gravity's direction and the accelerometer's bias one tells the other.
TEST(EstimateInertial, TakesWhatIsKnownOfBiases) {
  const ImuModel model = EurocModel();
  const ImuBias bias{{0.01, 0.02, -0.2}, {0.2, -0.1, 0.3}};
  const Drive drive = DriveOf(model, Rest(), 10, 5, bias, {}, 1);
  InitializerOptions options;
  options.biases = {bias, 0.01, 0.01};
  InertialEstimate e;
  ASSERT_TRUE(EstimateInertial(model, options, drive.poses, &e));
  EXPECT_LT(AngleBetween(e.gravity, drive.gravity), 0.0005);
  EXPECT_LT((e.bias.accelerometer - bias.accelerometer).norm(), 0.005);
  EXPECT_NEAR(e.gravity_sigma, 0.01 / 9.81, 0.0002);
  EXPECT_LT(e.normalized_error, 1);
}

TEST(EstimateInertial, ShowsWhatContradicts) {
  const ImuModel model = EurocModel();
  const Drive drive = DriveOf(model, SineMotion(), 10, 5, {}, {}, 1);
  InertialEstimate e;
  ASSERT_TRUE(EstimateInertial(model, {}, drive.poses, &e));
  EXPECT_LT(e.normalized_error, 0.1);
  ImuModel turned = model;
  turned.camera_from_imu.rotation = model.camera_from_imu.rotation * RotationOf({M_PI / 2, 0, 0});
  ASSERT_TRUE(EstimateInertial(turned, {}, drive.poses, &e));
  EXPECT_GT(e.normalized_error, 100);
  std::vector<PosedMeasurement> poses = drive.poses;
  for (PosedMeasurement& pose : poses) pose.camera_from_world.translation *= 2;  // of a baseline that is wrong
  ASSERT_TRUE(EstimateInertial(model, {}, poses, &e));
  EXPECT_GT(e.normalized_error, 100);
}

TEST(EstimateInertial, DoesNotGuess) {
  const ImuModel model = EurocModel();
  const Drive drive = DriveOf(model, SineMotion(), 10, 5, {}, {}, 1);
  InertialEstimate e;
  EXPECT_FALSE(EstimateInertial(model, {}, {}, &e));
  EXPECT_FALSE(EstimateInertial(model, {}, absl::MakeSpan(drive.poses).subspan(0, 3), &e));
  EXPECT_TRUE(EstimateInertial(model, {}, absl::MakeSpan(drive.poses).subspan(0, 4), &e));
  // The first measurement is not used; each of the others must be there.
  std::vector<PosedMeasurement> poses = drive.poses;
  poses[0].since_last = poses[3].since_last;
  EXPECT_TRUE(EstimateInertial(model, {}, poses, &e));
  poses[3].since_last = Preintegration(model, {});
  EXPECT_FALSE(EstimateInertial(model, {}, poses, &e));
  poses = drive.poses;
  poses[5].camera_from_world.translation.x() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(EstimateInertial(model, {}, poses, &e));
}

// World from camera of a camera at (1, 2, 3).
Pose CameraFromWorld(const Eigen::Quaterniond& world_from_camera) {
  return Pose{world_from_camera, {1, 2, 3}}.Inverse();
}

TEST(LevelWorld, TurnsZUpAndKeepsThePlace) {
  std::mt19937 random(9);
  for (int i = 0; i < 20; ++i) {
    const Eigen::Vector3d gravity = RandomVector(9.81, &random);
    const Pose camera =
        CameraFromWorld(Eigen::Quaterniond(Eigen::AngleAxisd(i, RandomVector(1, &random).normalized())));
    const Pose level = LevelWorld(gravity, camera);
    EXPECT_LT((level.rotation * gravity.normalized() + Eigen::Vector3d::UnitZ()).norm(), 1e-14);
    EXPECT_NEAR(level.rotation.norm(), 1, 1e-15);
    EXPECT_LT((level * Eigen::Vector3d(1, 2, 3) - Eigen::Vector3d(1, 2, 3)).norm(), 1e-14);
    const Eigen::Vector3d ahead = level.rotation * (camera.rotation.conjugate() * Eigen::Vector3d::UnitZ());
    if (ahead.head<2>().norm() > 0.1) {
      EXPECT_NEAR(ahead.y(), 0, 1e-14);
      EXPECT_GT(ahead.x(), 0);
    }
    // Idempotent.
    const Pose again = LevelWorld(level.rotation * gravity, camera * level.Inverse());
    EXPECT_LT(AngleOf(again.rotation), 1e-14);
    EXPECT_EQ(again.translation, Eigen::Vector3d::Zero());
  }
}

TEST(LevelWorld, TakesAWorldOfACamera) {
  // The usual start: the world is the first camera, gravity along its y.
  const Pose level = LevelWorld({0, 9.81, 0}, {});
  EXPECT_LT((level.rotation * Eigen::Vector3d::UnitZ() - Eigen::Vector3d::UnitX()).norm(), 1e-15);
  EXPECT_LT((level.rotation * Eigen::Vector3d::UnitX() + Eigen::Vector3d::UnitY()).norm(), 1e-15);
  EXPECT_EQ(level.translation, Eigen::Vector3d::Zero());
  // It looks straight down: its upward axis is ahead.
  const Pose down = LevelWorld({0, 0, 9.81}, {});
  EXPECT_LT((down.rotation * -Eigen::Vector3d::UnitY() - Eigen::Vector3d::UnitX()).norm(), 1e-15);
  EXPECT_LT((down.rotation * Eigen::Vector3d::UnitZ() + Eigen::Vector3d::UnitZ()).norm(), 1e-15);
}

TEST(LevelWorld, TurnsLittleWhatIsNearlyLevel) {
  const Pose camera = CameraFromWorld(Eigen::Quaterniond(0.5, 0.5, -0.5, 0.5));
  const auto tilted = [](double degrees) -> Eigen::Vector3d {
    return 9.81 * Eigen::Vector3d(std::sin(degrees * kDegree), 0, -std::cos(degrees * kDegree));
  };
  const Pose level = LevelWorld(tilted(4.9), camera);
  EXPECT_NEAR(AngleOf(level.rotation), 4.9 * kDegree, 1e-12);
  EXPECT_NEAR(level.rotation.x(), 0, 1e-15);
  EXPECT_NEAR(level.rotation.z(), 0, 1e-15);
  EXPECT_LT((level.rotation * tilted(4.9) - Eigen::Vector3d(0, 0, -9.81)).norm(), 1e-13);
  EXPECT_EQ(level.translation, Eigen::Vector3d::Zero());
  EXPECT_GT(AngleOf(LevelWorld(tilted(5.1), camera).rotation), 1);
}

}  // namespace
}  // namespace glint::slam
