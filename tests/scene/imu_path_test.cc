// Smooth paths beside numeric differentiation, and readings beside what they are integrated to.
#include "tests/scene/imu_path.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/scene/path.h"
#include "tests/scene/smooth_path.h"

namespace glint::scene {
namespace {

double Length(Vec3 v) { return std::sqrt(Dot(v, v)); }

// Twelve seconds of turns about all axes, at up to 1.6 m/s.
Path Wavy(double step) {
  Path path;
  for (int i = 0; i * step <= 12; ++i) {
    const double t = i * step;
    const Vec3 at = {2 * SinDegrees(40 * t), 0.3 * SinDegrees(90 * t), 1.2 * (1 - CosDegrees(50 * t))};
    path.push_back({t, {Rotation(60 * SinDegrees(35 * t), 20 * SinDegrees(70 * t), 25 * t), at}, ""});
  }
  return path;
}

ImuOptions Perfect() {
  ImuOptions options;
  options.noise = 0;
  options.camera_from_imu = {Rotation(30, -70, 110), {0.08, -0.05, 0.12}};
  return options;
}

TEST(SmoothPath, PassesBesideThePosesByAQuarterOfTheAcceleration) {
  const Path path = Wavy(0.05);
  const SmoothPath smooth(path, 0.05);
  EXPECT_EQ(smooth.first_seconds(), 0);
  EXPECT_NEAR(smooth.last_seconds(), 12, 1e-9);
  for (size_t i = 5; i + 5 < path.size(); ++i) {
    const MovingPose m = smooth.At(path[i].seconds);
    const Vec3 beside = m.pose.position - path[i].pose.position;
    EXPECT_LT(Length(beside - 0.25 * 0.05 * 0.05 * m.acceleration), 1e-4) << i;
    EXPECT_LT(Length(beside), 2.5e-3) << i;
    EXPECT_GT(Dot(m.pose.rotation.column(2), path[i].pose.rotation.column(2)), 1 - 1e-5) << i;
  }
}

// The derivatives are those of the poses: central differences, whose own error is below 1e-6 here.
TEST(SmoothPath, DerivativesAreThoseOfThePoses) {
  const SmoothPath smooth(Wavy(0.05), 0.05);
  constexpr double kStep = 1e-4;
  for (double t = 0.0123; t < 11.9; t += 0.0377) {
    const MovingPose m = smooth.At(t), before = smooth.At(t - kStep), after = smooth.At(t + kStep);
    const double scale = 1 / (2 * kStep);
    EXPECT_LT(Length(m.velocity - scale * (after.pose.position - before.pose.position)), 1e-5) << t;
    EXPECT_LT(Length(m.acceleration - scale * (after.velocity - before.velocity)), 1e-4) << t;
    EXPECT_LT(Length(m.angular_acceleration - scale * (after.angular_velocity - before.angular_velocity)), 1e-3) << t;
    // R^T dR/dt is the cross product matrix of the angular velocity.
    Mat3 rate;
    for (size_t i = 0; i < 9; ++i) {
      rate.m[i] = scale * (after.pose.rotation.m[i] - before.pose.rotation.m[i]);
    }
    const Mat3 cross = Transpose(m.pose.rotation) * rate;
    EXPECT_LT(Length(m.angular_velocity - Vec3{cross.m[7], cross.m[2], cross.m[3]}), 1e-5) << t;
    EXPECT_LT(Length(m.angular_velocity - Vec3{-cross.m[5], -cross.m[6], -cross.m[1]}), 1e-5) << t;
  }
}

TEST(SmoothPath, AStraightPathStaysStraight) {
  Path path;
  for (int i = 0; i < 20; ++i) path.push_back({0.1 * i, {Rotation(30, 5, 0), {1.0 * i, -0.1 * i, 2.0 * i}}, ""});
  const SmoothPath smooth(path);
  for (double t = 0; t <= 1.9; t += 0.013) {
    const MovingPose m = smooth.At(t);
    EXPECT_LT(Length(m.pose.position - 10 * t * Vec3{1, -0.1, 2}), 1e-12) << t;
    EXPECT_LT(Length(m.velocity - Vec3{10, -1, 20}), 1e-9) << t;
    EXPECT_LT(Length(m.acceleration), 1e-7) << t;
    EXPECT_LT(Length(m.angular_velocity), 1e-12) << t;
  }
  const SmoothPath point({path[3]});
  EXPECT_EQ(point.At(7).pose.position.x, 3);
  EXPECT_EQ(Length(point.At(7).velocity), 0);
}

// The sensor's own path from its readings alone: the exponential map for rotations, and a cubic's integral of the
// acceleration in the world for positions.
TEST(ImuPath, PerfectReadingsIntegrateToThePath) {
  const SmoothPath smooth(Wavy(0.05), 0.05);
  ImuOptions options = Perfect();
  options.rate = 400;
  const std::vector<ImuRow> rows = MeasureImu(smooth, options);
  ASSERT_GT(rows.size(), 4001u);
  const auto sensor = [&](double t) {
    const Pose camera = smooth.PoseAt(t);
    return Pose{camera.rotation * options.camera_from_imu.rotation, camera.ToWorld(options.camera_from_imu.position)};
  };
  const double dt = 1 / options.rate;
  Pose pose = sensor(0);
  const MovingPose start = smooth.At(0);
  Vec3 velocity =
      start.velocity + start.pose.rotation * Cross(start.angular_velocity, options.camera_from_imu.position);
  for (size_t i = 0; i < 4000; ++i) {
    const Vec3 turn = 0.5 * dt * (rows[i].angular_velocity + rows[i + 1].angular_velocity);
    const double angle = Length(turn), half = std::sin(angle / 2) / (angle > 0 ? angle : 1);
    const Mat3 next = pose.rotation * RotationOf({half * turn.x, half * turn.y, half * turn.z, std::cos(angle / 2)});
    const Vec3 from = pose.rotation * rows[i].acceleration + options.gravity;
    const Vec3 to = next * rows[i + 1].acceleration + options.gravity;
    pose.position = pose.position + dt * velocity + dt * dt / 6 * (2 * from + to);
    velocity = velocity + dt / 2 * (from + to);
    pose.rotation = next;
  }
  const Pose truth = sensor(rows[4000].seconds);
  EXPECT_NEAR(rows[4000].seconds, 10, 1e-9);
  EXPECT_LT(Length(pose.position - truth.position), 0.005);
  for (int k = 0; k < 3; ++k) {
    EXPECT_LT(Length(pose.rotation.column(k) - truth.rotation.column(k)), 1e-4);
  }
}

TEST(ImuPath, AtRestItFeelsGravityUpwards) {
  ImuOptions options = Perfect();
  options.gyroscope_bias = {0.01, -0.02, 0.03};
  const Pose pose = {Rotation(20, 30, 40), {1, 2, 3}};
  const SmoothPath smooth({{0, pose, ""}, {1, pose, ""}});
  const std::vector<ImuRow> rows = MeasureImu(smooth, options);
  ASSERT_EQ(rows.size(), 201u);
  const Vec3 upwards = pose.rotation * (options.camera_from_imu.rotation * rows[77].acceleration);
  EXPECT_LT(Length(upwards - Vec3{0, -9.81, 0}), 1e-9);
  EXPECT_LT(Length(rows[77].angular_velocity - options.gyroscope_bias), 1e-9);
}

TEST(ImuPath, NoiseIsAsTheDensitiesSay) {
  ImuOptions options;
  options.gyroscope_noise_density = 1e-3;
  options.gyroscope_random_walk = 0;
  options.accelerometer_noise_density = 0;
  options.accelerometer_random_walk = 5e-3;
  options.noise = 2;
  const SmoothPath smooth({{0, {}, ""}, {200, {}, ""}});
  const std::vector<ImuRow> rows = MeasureImu(smooth, options);
  ASSERT_EQ(rows.size(), 40001u);
  double white = 0, mean = 0, steps = 0, neighbours = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    const Vec3 w = rows[i].angular_velocity, last = rows[i - 1].angular_velocity;
    white += Dot(w, w) / 3;
    neighbours += Dot(w, last) / 3;
    mean += (w.x + w.y + w.z) / 3;
    const Vec3 step = rows[i].acceleration - rows[i - 1].acceleration;
    steps += Dot(step, step) / 3;
  }
  const double count = static_cast<double>(rows.size()) - 1;
  // Deviations of the estimates: 1 / sqrt(2 * 3 * count) = 0.2 %.
  const double deviation = std::sqrt(white / count);
  EXPECT_NEAR(deviation / (2e-3 * std::sqrt(200.0)), 1, 0.01);
  EXPECT_LT(std::fabs(mean / count), 4 * deviation / std::sqrt(3 * count));
  EXPECT_LT(std::fabs(neighbours / white), 4 / std::sqrt(3 * count));
  EXPECT_NEAR(std::sqrt(steps / count) / (1e-2 / std::sqrt(200.0)), 1, 0.01);
  EXPECT_LT(Length(rows.back().accelerometer_bias), 1e-2 * std::sqrt(200.0) * 4);
  // At rest without other noise the reading is the bias, to the bit of rounding.
  EXPECT_LT(Length(rows.back().acceleration - Vec3{0, -9.81, 0} - rows.back().accelerometer_bias), 1e-9);
  options.seed = 2;
  EXPECT_NE(MeasureImu(smooth, options)[5].angular_velocity.x, rows[5].angular_velocity.x);
}

TEST(ImuPath, FaultsAreWhatTheySay) {
  const SmoothPath smooth(Wavy(0.05), 0.05);
  const std::vector<ImuRow> right = MeasureImu(smooth, Perfect());
  const auto broken = [&](ImuFault fault) {
    ImuOptions options = Perfect();
    options.fault = fault;
    options.fault_from = 2;
    options.fault_to = 3;
    return MeasureImu(smooth, options);
  };
  constexpr size_t kDuring = 500, kAfter = 700;  // 2.5 s, 3.5 s
  const Vec3 w = right[kDuring].angular_velocity, a = right[kDuring].acceleration;
  EXPECT_LT(Length(broken(ImuFault::kDegrees)[kDuring].angular_velocity - 180 / 3.14159265358979 * w), 1e-9);
  EXPECT_LT(Length(broken(ImuFault::kGravityUnits)[kDuring].acceleration - 1 / 9.81 * a), 1e-12);
  EXPECT_LT(Length(broken(ImuFault::kAxes)[kDuring].acceleration - Vec3{a.y, a.x, a.z}), 1e-12);
  EXPECT_EQ(Length(broken(ImuFault::kFrozen)[kDuring].angular_velocity - right[399].angular_velocity), 0);
  EXPECT_EQ(broken(ImuFault::kSilent).size(), right.size() - 200);
  for (const ImuFault fault : {ImuFault::kDegrees, ImuFault::kGravityUnits, ImuFault::kAxes, ImuFault::kFrozen}) {
    EXPECT_EQ(Length(broken(fault)[kAfter].acceleration - right[kAfter].acceleration), 0);
  }
}

TEST(ImuPath, RangesCutAndClocksDiffer) {
  const SmoothPath smooth(Wavy(0.05), 0.05);
  ImuOptions options = Perfect();
  options.gyroscope_range = 0.5;
  options.accelerometer_range = 8;
  options.offset = -0.1;
  const std::vector<ImuRow> rows = MeasureImu(smooth, options);
  EXPECT_EQ(rows.front().time_ns, 0);
  EXPECT_NEAR(rows.front().seconds, 0.1, 1e-9);
  double largest = 0;
  for (const ImuRow& row : rows) {
    EXPECT_NEAR(1e-9 * static_cast<double>(row.time_ns), row.seconds - 0.1, 1e-9);
    for (const double value : {row.angular_velocity.x, row.angular_velocity.y, row.angular_velocity.z}) {
      largest = std::max(largest, std::fabs(value));
    }
    EXPECT_LE(std::fabs(row.acceleration.y), 8);
  }
  EXPECT_EQ(largest, 0.5);
}

TEST(ImuPath, TheFileIsAsEurocHasIt) {
  ImuRow row;
  row.time_ns = 1403715273262142976;
  row.angular_velocity = {-0.5, 0.25, 0};
  row.acceleration = {9, 0.125, -3};
  const std::string text = ImuCsv({row});
  EXPECT_EQ(text.substr(text.find('\n') + 1), "1403715273262142976,-0.5,0.25,0,9,0.125,-3\n");
  EXPECT_EQ(text.find("#timestamp [ns],w_RS_S_x [rad s^-1],"), 0u);
}

}  // namespace
}  // namespace glint::scene
