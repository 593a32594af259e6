// Preintegrated measurements, rotation vectors and the model of a sensor, beside what is known.
#include "slam/inertial/preintegration.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "features/error.h"
#include "gtest/gtest.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/rotation_vector.h"
#include "tests/slam/sine_motion.h"

namespace glint::slam {
namespace {

using Vector9 = Eigen::Matrix<double, 9, 1>;
using Matrix9 = Eigen::Matrix<double, 9, 9>;

const ImuBias kNoBias;

// Rotation (right increment), velocity, position: `b` beyond `a`, corrected for their own biases.
Vector9 Difference(const Preintegration& a, const Preintegration& b) {
  Vector9 difference;
  difference << RotationVectorOf(a.DeltaRotation(a.bias()).conjugate() * b.DeltaRotation(b.bias())),
      b.DeltaVelocity(b.bias()) - a.DeltaVelocity(a.bias()), b.DeltaPosition(b.bias()) - a.DeltaPosition(a.bias());
  return difference;
}

// What `measured`, corrected for `bias`, is off by.
Vector9 ErrorOf(const SineMotion& motion, double from, double to, const Preintegration& measured, const ImuBias& bias) {
  const NavState a = motion.At(from), b = motion.At(to);
  const Eigen::Quaterniond back = a.world_from_imu.rotation.conjugate();
  const double t = to - from;
  Vector9 error;
  error << RotationVectorOf(b.world_from_imu.rotation.conjugate() * a.world_from_imu.rotation *
                            measured.DeltaRotation(bias)),
      measured.DeltaVelocity(bias) - back * (b.motion.velocity - a.motion.velocity - t * motion.gravity),
      measured.DeltaPosition(bias) - back * (b.world_from_imu.translation - a.world_from_imu.translation -
                                             t * a.motion.velocity - 0.5 * t * t * motion.gravity);
  return error;
}

TEST(RotationVector, IsTheLogarithm) {
  const Eigen::Vector3d axis = Eigen::Vector3d(1, -2, 0.5).normalized();
  for (const double angle : {0., 1e-12, 1e-5, 1.9e-4, 2.1e-4, 0.3, 3., 3.14159265}) {
    const Eigen::Quaterniond q(Eigen::AngleAxisd(angle, axis));
    EXPECT_LT((RotationVectorOf(q) - angle * axis).norm(), 1e-15 + 1e-14 * angle) << angle;
    EXPECT_LT((RotationVectorOf(Eigen::Quaterniond(-q.coeffs())) - angle * axis).norm(), 1e-15 + 1e-14 * angle);
  }
}

TEST(RotationVector, HasItsJacobians) {
  const Eigen::Vector3d axis = Eigen::Vector3d(1, -2, 0.5).normalized();
  constexpr double kStep = 1e-5;
  for (const double angle : {0., 1e-7, 0.9e-3, 1.1e-3, 0.5, 3.}) {
    const Eigen::Vector3d v = angle * axis;
    Eigen::Matrix3d numeric;
    for (int i = 0; i < 3; ++i) {
      const Eigen::Vector3d d = kStep * Eigen::Vector3d::Unit(i);
      numeric.col(i) = RotationVectorOf(RotationOf(v - d).conjugate() * RotationOf(v + d)) / (2 * kStep);
    }
    EXPECT_LT((RightJacobian(v) - numeric).norm(), 1e-9) << angle;
    EXPECT_LT((RightJacobian(v) * InverseRightJacobian(v) - Eigen::Matrix3d::Identity()).norm(), 1e-13) << angle;
  }
}

TEST(Preintegration, IsTheTruthOfSmoothMotions) {
  const SineMotion motion;
  const Preintegration measured = Measured({}, motion.Measure(0.5, 1.5, 200), kNoBias);
  EXPECT_NEAR(measured.seconds(), 1, 1e-12);
  const double error = ErrorOf(motion, 0.5, 1.5, measured, kNoBias).norm();
  EXPECT_LT(error, 1e-5);
  // Errors are of the second order in the step.
  const Preintegration finer = Measured({}, motion.Measure(0.5, 1.5, 400), kNoBias);
  EXPECT_NEAR(ErrorOf(motion, 0.5, 1.5, finer, kNoBias).norm() / error, 0.25, 0.01);

  NavState from = motion.At(0.5);
  from.motion.bias = SomeBias();
  const Preintegration biased = Measured({}, motion.Measure(0.5, 1.5, 200, SomeBias()), SomeBias());
  const NavState to = biased.Predict(from, motion.gravity);
  const NavState truth = motion.At(1.5);
  EXPECT_LT((to.world_from_imu.translation - truth.world_from_imu.translation).norm(), 1e-5);
  EXPECT_LT((to.motion.velocity - truth.motion.velocity).norm(), 1e-5);
  EXPECT_LT(to.world_from_imu.rotation.angularDistance(truth.world_from_imu.rotation), 1e-5);
  EXPECT_EQ(to.motion.bias.gyroscope, SomeBias().gyroscope);
  EXPECT_EQ(to.motion.bias.accelerometer, SomeBias().accelerometer);
}

TEST(Preintegration, GoesOnWhereItWas) {
  const std::vector<ImuSample> samples = SineMotion().Measure(0, 1, 200);
  Preintegration parts({}, SomeBias());
  parts.Add(absl::MakeSpan(samples).subspan(0, 71));
  parts.Add(absl::MakeSpan(samples).subspan(70, 1));
  parts.Add({});
  parts.Add(absl::MakeSpan(samples).subspan(70));
  const Preintegration whole = Measured({}, samples, SomeBias());
  EXPECT_EQ(Difference(whole, parts), Vector9::Zero());
  EXPECT_EQ(parts.covariance(), whole.covariance());
  EXPECT_EQ(parts.by_bias(), whole.by_bias());
}

TEST(Preintegration, CorrectsForBiasesToFirstOrder) {
  const std::vector<ImuSample> samples = SineMotion().Measure(0.5, 1.5, 200);
  const Preintegration measured = Measured({}, samples, SomeBias());
  constexpr double kStep = 1e-4;
  for (int i = 0; i < 6; ++i) {
    const auto moved = [&](double by) {
      ImuBias bias = SomeBias();
      (i < 3 ? bias.gyroscope : bias.accelerometer)[i % 3] += by;
      return bias;
    };
    const Preintegration more = Measured({}, samples, moved(kStep)), less = Measured({}, samples, moved(-kStep));
    const Vector9 numeric = (Difference(measured, more) - Difference(measured, less)) / (2 * kStep);
    EXPECT_LT((measured.by_bias().col(i) - numeric).norm(), 1e-6) << i;

    // Halving the change quarters what the correction leaves.
    const auto left = [&](double by) {
      const Preintegration again = Measured({}, samples, moved(by));
      Vector9 difference;
      difference << RotationVectorOf(again.DeltaRotation(moved(by)).conjugate() * measured.DeltaRotation(moved(by))),
          measured.DeltaVelocity(moved(by)) - again.DeltaVelocity(moved(by)),
          measured.DeltaPosition(moved(by)) - again.DeltaPosition(moved(by));
      return difference.norm();
    };
    if (i < 3) {
      EXPECT_LT(left(0.01), 1e-3) << i;
      EXPECT_NEAR(left(0.005) / left(0.01), 0.25, 0.01) << i;
    } else {
      EXPECT_LT(left(0.1), 1e-12) << i;  // linear
    }
  }
}

TEST(Preintegration, IntegratesAgainAboutAnotherBias) {
  const std::vector<ImuSample> samples = SineMotion().Measure(0, 1, 200);
  Preintegration measured({}, kNoBias);
  measured.Add(absl::MakeSpan(samples).subspan(0, 101));
  measured.Add(absl::MakeSpan(samples).subspan(100));
  const ImuBias near{{0.0099, 0, 0}, {0, 0.099, 0}};
  measured.Relinearize(near);
  EXPECT_EQ(measured.bias().gyroscope, Eigen::Vector3d::Zero());
  for (const ImuBias& far : {ImuBias{{0.0101, 0, 0}, {0, 0, 0}}, ImuBias{{0.0101, 0, 0}, {0, 0.101, 0}}}) {
    measured.Relinearize(far);
    EXPECT_EQ(measured.bias().accelerometer, far.accelerometer);
    const Preintegration fresh = Measured({}, samples, far);
    EXPECT_EQ(Difference(fresh, measured), Vector9::Zero());
    EXPECT_EQ(measured.covariance(), fresh.covariance());
    EXPECT_EQ(measured.by_bias(), fresh.by_bias());
    EXPECT_EQ(measured.seconds(), fresh.seconds());
  }
}

TEST(Preintegration, OfTooManySamplesStaysAboutItsBias) {
  constexpr int kMost = Preintegration::kMaxSamples;
  for (const int steps : {kMost - 1, kMost}) {
    Preintegration measured = Measured({}, SineMotion().Measure(0, 20, steps), kNoBias);
    const Preintegration before = measured;
    measured.Relinearize(SomeBias());
    EXPECT_EQ(measured.bias().gyroscope, steps < kMost ? SomeBias().gyroscope : Eigen::Vector3d::Zero());
    if (steps < kMost) continue;
    EXPECT_EQ(Difference(before, measured), Vector9::Zero());
  }
}

TEST(Preintegration, HasTheCovarianceOfNoise) {
  const SineMotion motion;
  ImuModel model;
  model.noise_inflation = 2;
  model.gyroscope_noise_density = 2e-3;
  constexpr int kSteps = 100, kRuns = 2000;
  const std::vector<ImuSample> samples = motion.Measure(0.5, 1, kSteps, SomeBias());
  const Preintegration truth = Measured(model, samples, SomeBias());
  std::mt19937 random(3);
  Matrix9 sum = Matrix9::Zero();
  for (int run = 0; run < kRuns; ++run) {
    std::vector<ImuSample> noisy = samples;
    AddNoise(model, 0.5 / kSteps, &random, &noisy);
    const Vector9 error = Difference(truth, Measured(model, noisy, SomeBias()));
    sum += error * error.transpose();
  }
  const Matrix9 covariance = sum / kRuns;
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(covariance(i, i) / truth.covariance()(i, i), 1, 0.1) << i;
  // Whitened, it is the identity, correlations included.
  const Matrix9 root = truth.covariance().llt().matrixL().solve(Matrix9::Identity());
  EXPECT_LT((root * covariance * root.transpose() - Matrix9::Identity()).cwiseAbs().maxCoeff(), 0.1);
}

TEST(ValidateImuModel, NamesTheFieldThatIsBad) {
  EXPECT_TRUE(ValidateImuModel({}).ok());
  const auto bad_field = [](const auto& change) {
    ImuModel model;
    change(&model);
    const absl::Status status = ValidateImuModel(model);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const auto info = ErrorInfoOf(status);
    return info.has_value() ? info->field : "none";
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  struct Number {
    const char* field;
    double ImuModel::*member;
    double low, high;
  };
  for (const Number& number : {Number{"imu.gyroscope_noise_density", &ImuModel::gyroscope_noise_density, 1e-6, 1},
                               {"imu.gyroscope_random_walk", &ImuModel::gyroscope_random_walk, 1e-8, 0.1},
                               {"imu.accelerometer_noise_density", &ImuModel::accelerometer_noise_density, 1e-5, 10},
                               {"imu.accelerometer_random_walk", &ImuModel::accelerometer_random_walk, 1e-7, 1},
                               {"imu.noise_inflation", &ImuModel::noise_inflation, 1, 1000},
                               {"imu.gravity", &ImuModel::gravity, 1, 30},
                               {"imu.gyroscope_range", &ImuModel::gyroscope_range, 0, 1000},
                               {"imu.accelerometer_range", &ImuModel::accelerometer_range, 0, 10000}}) {
    for (const double value : {number.low, number.high}) {
      ImuModel model;
      model.*number.member = value;
      EXPECT_TRUE(ValidateImuModel(model).ok()) << number.field;
    }
    for (const double value : {number.low - 1e-9, number.high + 1e-9, -1., kNan, HUGE_VAL})
      EXPECT_EQ(bad_field([&](ImuModel* model) { model->*number.member = value; }), number.field) << value;
  }
  EXPECT_EQ(bad_field([](ImuModel* model) { model->imu_time_minus_camera_time_ns = -1'000'000'001; }),
            "imu.imu_time_minus_camera_time_ns");
  EXPECT_EQ(bad_field([](ImuModel* model) { model->camera_from_imu.rotation.w() = 1.1; }),
            "imu.camera_from_imu.rotation");
  EXPECT_EQ(bad_field([](ImuModel* model) { model->camera_from_imu.translation.y() = kNan; }),
            "imu.camera_from_imu.translation");
}

}  // namespace
}  // namespace glint::slam
