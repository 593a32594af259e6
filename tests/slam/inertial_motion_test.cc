// The state of an inertial sensor from frame to frame, by poses and readings of a known motion.
#include "slam/odometry/inertial_motion.h"

#include <cmath>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"
#include "tests/slam/sine_motion.h"

namespace glint::slam {
namespace {

using Matrix6 = InertialMotion::Matrix6;

constexpr int64_t kFrameNs = 50'000'000;
constexpr int kSteps = 10;  // readings in a frame

Pose CameraAt(const ImuModel& model, const SineMotion& motion, double seconds) {
  return model.camera_from_imu * motion.At(seconds).world_from_imu.Inverse();
}

class InertialMotionTest : public ::testing::Test {
 protected:
  InertialMotionTest() : inertial_(model_) {}

  // Frames up to `end` seconds, located or not, with readings or without.
  void GoOn(double end, bool has_readings = true, bool is_located = true) {
    for (; static_cast<double>(frame_) * 0.05 < end; ++frame_) {
      const double now = static_cast<double>(frame_) * 0.05;
      if (has_readings && frame_ > 0) {
        ImuReadings readings;
        for (const ImuSample& s : motion_.Measure(now - 0.05, now, kSteps, bias_)) {
          readings.gyroscope.push_back({s.time_ns, s.angular_velocity});
          readings.accelerometer.push_back({s.time_ns, s.acceleration});
        }
        inertial_.AddReadings(readings);
      }
      inertial_.Advance(frame_ * kFrameNs);
      if (!is_located) continue;
      inertial_.Located(CameraAt(model_, motion_, now) * world_from_level_, 1e-6 * Matrix6::Identity());
      if (!inertial_.wants_level()) continue;
      const Pose level = inertial_.TakeLevel();
      inertial_.Correct(level);
      world_from_level_ = world_from_level_ * level.Inverse();
    }
  }
  double SecondsUntilReady(double most) {
    const double begin = 0.05 * static_cast<double>(frame_), end = begin + most;
    while (!inertial_.is_ready() && 0.05 * static_cast<double>(frame_) < end) {
      GoOn(0.05 * static_cast<double>(frame_) + 0.04);
    }
    return 0.05 * static_cast<double>(frame_) - begin;
  }
  void ExpectDown() const {
    const Eigen::Vector3d down = world_from_level_.Inverse().rotation * motion_.gravity.normalized();
    EXPECT_LT((down + Eigen::Vector3d::UnitZ()).norm(), 0.01);
    EXPECT_LT((inertial_.filter().gravity() / 9.81 + Eigen::Vector3d::UnitZ()).norm(), 0.02);
  }

  ImuModel model_;
  SineMotion motion_;
  ImuBias bias_{{0.01, -0.02, 0.015}, {0.05, -0.03, 0.04}};
  InertialMotion inertial_;
  int64_t frame_ = 0;
  Pose world_from_level_;  // the motion's world
};

TEST_F(InertialMotionTest, FindsGravityAndStaysLevelWithoutReadings) {
  GoOn(6);
  ASSERT_TRUE(inertial_.is_ready());
  EXPECT_TRUE(inertial_.is_level());
  EXPECT_LT((inertial_.filter().gravity() - Eigen::Vector3d(0, 0, -9.81)).norm(), 0.1);
  // A gap: the state is lost, but the world does not turn back.
  GoOn(6.5, /*has_readings=*/false);
  EXPECT_FALSE(inertial_.is_ready());
  EXPECT_TRUE(inertial_.Report().is_level);
  GoOn(12);
  EXPECT_TRUE(inertial_.is_ready());
  EXPECT_TRUE(inertial_.is_level());
  inertial_.LeaveWorld();
  EXPECT_FALSE(inertial_.is_level());
}

// With gravity and biases of before, and without turning the world again.
TEST_F(InertialMotionTest, IsReadySoonAfterAGap) {
  GoOn(6);
  ASSERT_TRUE(inertial_.is_ready());
  const Eigen::Quaterniond world = world_from_level_.rotation;
  GoOn(6.5, /*has_readings=*/false);
  ASSERT_FALSE(inertial_.is_ready());
  const BiasEstimate known = inertial_.biases();
  EXPECT_LT((known.bias.gyroscope - bias_.gyroscope).norm(), 0.002);
  EXPECT_LT((known.bias.accelerometer - bias_.accelerometer).norm(), 0.05);
  EXPECT_LT(known.gyroscope_sigma, 0.005);
  EXPECT_LT(SecondsUntilReady(2), 1);
  EXPECT_EQ(world_from_level_.rotation.coeffs(), world.coeffs());
  GoOn(18);
  EXPECT_EQ(world_from_level_.rotation.coeffs(), world.coeffs());
}

TEST_F(InertialMotionTest, AWorldThatIsLevelIsNotTurned) {
  inertial_.LeaveWorld(WorldLevel{0.004, {{{0.02, -0.03, 0.02}, {0, 0, 0}}, 0.001, 0.02}});
  EXPECT_TRUE(inertial_.is_level());
  EXPECT_LT(SecondsUntilReady(2), 1);
  EXPECT_LT((inertial_.biases().bias.gyroscope - bias_.gyroscope).norm(), 0.005);
  GoOn(12);
  EXPECT_EQ(world_from_level_.rotation.coeffs(), Eigen::Quaterniond::Identity().coeffs());
  EXPECT_EQ(inertial_.level().gravity_sigma, 0.004);
  ExpectDown();
}

TEST_F(InertialMotionTest, AWorldThatOnlySaysThatItIsLevelIsTurned) {
  world_from_level_ = {RotationOf({0.1, 0.1, 0.5}), {1, 2, 3}};
  inertial_.LeaveWorld(WorldLevel{0.004, {}});
  GoOn(6);
  ASSERT_TRUE(inertial_.is_ready());
  EXPECT_LT(inertial_.level().gravity_sigma, 0.0175);
  EXPECT_GT(AngleOf(world_from_level_.rotation), 0.4);  // about the vertical, it stays turned
  ExpectDown();
}

// A new world while nothing is located: gravity is where the sensor's rotation has brought it.
TEST_F(InertialMotionTest, ANewWorldIsLevelFromItsBeginning) {
  GoOn(6);
  ASSERT_TRUE(inertial_.is_ready());
  inertial_.Reset();
  GoOn(8, /*has_readings=*/true, /*is_located=*/false);
  const Pose camera = CameraAt(model_, motion_, 0.05 * static_cast<double>(frame_ - 1));
  inertial_.BeginWorld();
  EXPECT_FALSE(inertial_.is_level());
  ASSERT_TRUE(inertial_.wants_level());
  const Pose level = inertial_.TakeLevel();
  EXPECT_TRUE(inertial_.is_level());
  const Eigen::Vector3d down = level.rotation * (camera.rotation * motion_.gravity.normalized());
  EXPECT_LT((down + Eigen::Vector3d::UnitZ()).norm(), 0.01);
  EXPECT_GT(inertial_.level().gravity_sigma, 0.3 * (down + Eigen::Vector3d::UnitZ()).norm());
  // Not where readings were missing, nor where the sensor contradicts.
  GoOn(8.5, /*has_readings=*/false, /*is_located=*/false);
  inertial_.BeginWorld();
  EXPECT_FALSE(inertial_.wants_level());
}

TEST_F(InertialMotionTest, ASensorThatContradictsTellsNothing) {
  GoOn(6);
  ASSERT_TRUE(inertial_.is_ready());
  inertial_.Distrust();
  EXPECT_EQ(inertial_.biases().bias.gyroscope, Eigen::Vector3d::Zero());
  EXPECT_EQ(inertial_.biases().gyroscope_sigma, BiasEstimate().gyroscope_sigma);
  inertial_.BeginWorld();
  EXPECT_FALSE(inertial_.wants_level());
}

TEST_F(InertialMotionTest, TheStateGoesOnInAnotherWorld) {
  GoOn(6);
  const Pose turn{RotationOf({0.5, -0.3, 1}), {3, -2, 1}};
  inertial_.Correct(turn);
  inertial_.EnterWorld();
  EXPECT_TRUE(inertial_.is_ready());
  EXPECT_FALSE(inertial_.is_level());
  ASSERT_TRUE(inertial_.wants_level());
  inertial_.Correct(inertial_.TakeLevel());
  EXPECT_LT((inertial_.filter().gravity() - Eigen::Vector3d(0, 0, -9.81)).norm(), 1e-9);
  // Which may be level already, or say so.
  inertial_.EnterWorld(WorldLevel{0.004, {}});
  EXPECT_TRUE(inertial_.is_level());
  EXPECT_FALSE(inertial_.wants_level());
  inertial_.Correct({RotationOf({0.1, 0, 0}), {}});
  inertial_.EnterWorld(WorldLevel{0.004, {}});
  EXPECT_TRUE(inertial_.is_level());
  ASSERT_TRUE(inertial_.wants_level());
  EXPECT_NEAR(AngleOf(inertial_.TakeLevel().rotation), 0.1, 1e-9);
}

// A filter that images correct in two seconds, and that then goes on for one alone: errors are what it says.
TEST(InertialFilter, CovarianceCoversTheTruth) {
  constexpr int kRuns = 60;
  ImuModel model;
  model.camera_from_imu = {RotationOf({1.2, -0.8, 2}), {0.1, -0.3, 0.2}};
  const SineMotion motion;
  const double pose_sigma[2] = {1e-3, 5e-3};
  Matrix6 covariance = Matrix6::Zero();
  // The filter takes twice the deviations that a fit tells, so it is told half of them.
  covariance.diagonal() << Eigen::Vector3d::Constant(pose_sigma[0] * pose_sigma[0] / 4),
      Eigen::Vector3d::Constant(pose_sigma[1] * pose_sigma[1] / 4);
  double rotation = 0, position = 0, velocity = 0;
  for (uint32_t seed = 1; seed <= kRuns; ++seed) {
    std::mt19937 random(seed);
    const auto noise = [&random](double sigma) {
      std::normal_distribution<double> of(0, sigma);
      const double x = of(random), y = of(random), z = of(random);
      return Eigen::Vector3d(x, y, z);
    };
    InertialFilter::Sigmas sigmas;
    NavState begin = motion.At(0);
    begin.world_from_imu.rotation = begin.world_from_imu.rotation * RotationOf(noise(sigmas.rotation));
    begin.world_from_imu.translation += noise(sigmas.position);
    begin.motion.velocity += noise(sigmas.velocity);
    const ImuBias bias{noise(sigmas.gyroscope), noise(sigmas.accelerometer)};
    InertialFilter filter(model);
    const Eigen::Vector3d tilt = noise(sigmas.gravity);
    filter.Begin(begin, sigmas, 9.81 * (motion.gravity + tilt).normalized());
    for (int frame = 1; frame <= 60; ++frame) {
      std::vector<ImuSample> samples = motion.Measure((frame - 1) * 0.05, frame * 0.05, kSteps, bias);
      const double root_rate = std::sqrt(kSteps / 0.05);
      for (ImuSample& s : samples) {
        s.angular_velocity += noise(model.gyroscope_noise() * root_rate);
        s.acceleration += noise(model.accelerometer_noise() * root_rate);
      }
      Preintegration measured(model, filter.state().motion.bias);
      measured.Add(samples);
      filter.Propagate(measured);
      if (frame > 40) continue;
      const Pose error{RotationOf(noise(pose_sigma[0])), noise(pose_sigma[1])};
      filter.Update(error * CameraAt(model, motion, frame * 0.05), covariance);
    }
    const Innovation at_end = filter.Compare(CameraAt(model, motion, 3), Matrix6::Zero());
    rotation += at_end.rotation / kRuns;
    position += at_end.position / kRuns;
    velocity += (filter.state().motion.velocity - motion.At(3).motion.velocity).squaredNorm() / 3 / kRuns /
                (filter.velocity_sigma() * filter.velocity_sigma());
  }
  // 1 each, but for the least deviations that are added to a fit's, samples at frames that two intervals share, and for
  // the velocity the largest axis; each never far above.
  EXPECT_GT(rotation, 0.3);
  EXPECT_LT(rotation, 1.3);
  EXPECT_GT(position, 0.3);
  EXPECT_LT(position, 1.3);
  EXPECT_GT(velocity, 0.2);
  EXPECT_LT(velocity, 1.3);
}

}  // namespace
}  // namespace glint::slam
