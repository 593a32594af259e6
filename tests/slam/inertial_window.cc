#include "tests/slam/inertial_window.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace glint::slam {
namespace {

constexpr int64_t kStepNs = 300'000'000;  // between keyframes
constexpr int64_t kSampleNs = 5'000'000;
constexpr int64_t kKnockNs = 50'000'000;
constexpr double kPixelNoise = 0.3;
const Eigen::Vector3d kGravity(0, 0, -9.81);

double TimeOf(size_t keyframe) { return 1e-9 * static_cast<double>(static_cast<int64_t>(keyframe) * kStepNs); }

// x ahead, y left, z up.
Pose WorldFromImu(double t) {
  const Eigen::Quaterniond rotation = RotationOf({0, 0, 0.3 * std::sin(0.7 * t)}) *
                                      RotationOf({0, 0.08 * std::sin(1.1 * t), 0}) *
                                      RotationOf({0.1 * std::sin(1.7 * t + 0.3), 0, 0});
  return {rotation, {t + 0.2 * std::sin(1.3 * t), 0.6 * std::sin(0.9 * t), 0.15 * std::sin(2.1 * t)}};
}

// By differences of the path, to 1e-6.
Eigen::Vector3d VelocityAt(double t) {
  return (WorldFromImu(t + 1e-4).translation - WorldFromImu(t - 1e-4).translation) / 2e-4;
}
Eigen::Vector3d AccelerationAt(double t) { return (VelocityAt(t + 1e-3) - VelocityAt(t - 1e-3)) / 2e-3; }
Eigen::Vector3d AngularVelocityAt(double t) {
  return (WorldFromImu(t - 1e-4).rotation.conjugate() * WorldFromImu(t + 1e-4).rotation).vec() / 1e-4;
}

double RootMeanSquare(double sum, size_t count) { return std::sqrt(sum / static_cast<double>(count)); }

}  // namespace

InertialWindow::InertialWindow(const InertialScene& scene) : scene_(scene), random_(scene.seed) {
  problem.camera = {{1200, 400}, 700, 600, 200, 0.12, {0, 0, 0}};
  LocalProblem::Inertial& inertial = problem.inertial.emplace();
  inertial.gravity = kGravity;
  inertial.model.noise_inflation = 1;
  Eigen::Matrix3d axes;
  axes << 0, -1, 0, 0, 0, -1, 1, 0, 0;
  inertial.model.camera_from_imu = {RotationOf({0.02, -0.01, 0.03}) * Eigen::Quaterniond(axes), {0.1, 0.02, -0.05}};
  inertial.prior_sigma << Eigen::Vector3d::Constant(0.05), Eigen::Vector3d::Constant(0.003 * scene.bias_error),
      Eigen::Vector3d::Constant(0.05 * scene.bias_error);
  AddKeyframes();
  AddPoints();
}

Eigen::Matrix<double, 9, 1> InertialWindow::MotionError(size_t keyframe) const {
  const ImuMotion &found = problem.keyframes[keyframe].inertial->motion, &truth = motions[keyframe];
  Eigen::Matrix<double, 9, 1> error;
  error << found.velocity - truth.velocity, found.bias.gyroscope - truth.bias.gyroscope,
      found.bias.accelerometer - truth.bias.accelerometer;
  return error;
}

double InertialWindow::PositionError() const {
  double sum = 0;
  for (size_t k = 0; k < poses.size(); ++k) {
    const Eigen::Vector3d centre = problem.keyframes[k].camera_from_world.Inverse().translation;
    sum += (centre - poses[k].Inverse().translation).squaredNorm();
  }
  return RootMeanSquare(sum, poses.size());
}

double InertialWindow::RotationError() const {
  double sum = 0;
  for (size_t k = 0; k < poses.size(); ++k) {
    const double angle = AngleOf(problem.keyframes[k].camera_from_world.rotation * poses[k].rotation.conjugate());
    sum += angle * angle;
  }
  return RootMeanSquare(sum, poses.size());
}

void InertialWindow::TakeTruth() {
  for (size_t k = 0; k < poses.size(); ++k) {
    problem.keyframes[k].camera_from_world = poses[k];
    problem.keyframes[k].inertial->motion = motions[k];
  }
  for (size_t n = 0; n < positions.size(); ++n) problem.points[n].position = positions[n];
}

Eigen::Vector3d InertialWindow::Vector(double sigma) {
  const double x = normal_(random_), y = normal_(random_);
  return sigma * Eigen::Vector3d(x, y, normal_(random_));
}

void InertialWindow::AddKeyframes() {
  LocalProblem::Inertial& inertial = *problem.inertial;
  const double root_step = std::sqrt(1e-9 * kStepNs);
  ImuMotion motion{{}, {{0.01, -0.02, 0.005}, {0.1, -0.05, 0.08}}};
  for (size_t k = 0; k < scene_.keyframes; ++k) {
    motion.velocity = VelocityAt(TimeOf(k));
    motion.bias.gyroscope += Noise(inertial.model.gyroscope_random_walk * root_step);
    motion.bias.accelerometer += Noise(inertial.model.accelerometer_random_walk * root_step);
    motions.push_back(motion);
    poses.push_back(inertial.model.camera_from_imu * WorldFromImu(TimeOf(k)).Inverse());
  }
  inertial.prior = motions[0];
  inertial.prior.velocity += Noise(inertial.prior_sigma[0]);
  inertial.prior.bias.gyroscope += Noise(inertial.prior_sigma[3]);
  inertial.prior.bias.accelerometer += Noise(inertial.prior_sigma[6]);
  for (size_t k = 0; k < scene_.keyframes; ++k) {
    const Eigen::Vector3d turn = Vector(k > 0 ? 0.002 : 0);
    const Pose off{RotationOf(turn), Vector(k > 0 ? 0.03 : 0)};
    problem.keyframes.push_back({static_cast<int64_t>(k), off * poses[k], Keyframe::Inertial()});
    Keyframe::Inertial& of_keyframe = *problem.keyframes[k].inertial;
    of_keyframe.motion = {motions[k].velocity + Vector(0.1), inertial.prior.bias};
    if (k > 0) of_keyframe.since_last = Measured(k);
  }
}

Preintegration InertialWindow::Measured(size_t to) {
  const ImuModel& model = problem.inertial->model;
  const ImuBias& bias = motions[to - 1].bias;
  const double root_rate = 1 / std::sqrt(1e-9 * kSampleNs);
  std::vector<ImuSample> samples;
  const int64_t begin = static_cast<int64_t>(to - 1) * kStepNs;
  for (int64_t at = begin; at <= begin + kStepNs; at += kSampleNs) {
    const double t = 1e-9 * static_cast<double>(at);
    const Eigen::Vector3d acceleration = WorldFromImu(t).rotation.conjugate() * (AccelerationAt(t) - kGravity);
    samples.push_back({at, AngularVelocityAt(t) + bias.gyroscope + Noise(model.gyroscope_noise() * root_rate),
                       acceleration + bias.accelerometer + Noise(model.accelerometer_noise() * root_rate)});
    if (to == scene_.keyframes / 2 && at - begin < kKnockNs) samples.back().acceleration.y() += scene_.knock;
  }
  Preintegration measured(model, problem.inertial->prior.bias);
  measured.Add(samples);
  return measured;
}

void InertialWindow::AddPoints() {
  std::uniform_real_distribution<double> share(-1, 1);
  for (size_t tries = 0; problem.points.size() < scene_.points && tries < 100 * scene_.points; ++tries) {
    const double x = (0.5 + 0.5 * share(random_)) * (TimeOf(poses.size()) + 8), y = 6 * share(random_);
    const Eigen::Vector3d at(x + 2, y, 2 * share(random_));
    LocalProblem::Point point{static_cast<int64_t>(positions.size()), at + Vector(0.05), problem.observations.size(),
                              0};
    const size_t first = tries % poses.size();
    for (size_t k = first; k < std::min(first + 6, poses.size()); ++k) {
      const Eigen::Vector3d p = poses[k] * at;
      if (p.z() < 1.5 || p.z() > 15 || (scene_.blind > 0 && k == scene_.blind)) continue;
      Observation observation;
      observation.pixel = Project(problem.camera, p);
      const Eigen::Vector2d& left = observation.pixel.left;
      if (left.x() < 0 || left.x() > 1200 || left.y() < 0 || left.y() > 400) continue;
      observation.is_stereo = true;
      observation.position_sigma = observation.disparity_sigma = observation.vertical_disparity_sigma = kPixelNoise;
      observation.pixel.left += Noise(kPixelNoise).head<2>();
      observation.pixel.disparity += Noise(kPixelNoise).x();
      observation.pixel.vertical_disparity += Noise(kPixelNoise).x();
      problem.observations.push_back({k, observation, false});
      ++point.count;
    }
    if (point.count < 2) {
      problem.observations.resize(point.first);
    } else {
      problem.points.push_back(point);
      positions.push_back(at);
    }
  }
}

}  // namespace glint::slam
