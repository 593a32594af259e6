#include "tests/slam/noisy_graph.h"

#include <Eigen/Core>
#include <cmath>
#include <random>

namespace glint::slam {
namespace {

constexpr size_t kSide = 30;  // keyframes
constexpr double kTurnError = 0.0005, kShiftError = 0.013;

class Noise {
 public:
  explicit Noise(uint32_t seed) : random_(seed) {}
  Eigen::Vector3d Vector(double deviation) {
    const double x = normal_(random_), y = normal_(random_);
    return deviation * Eigen::Vector3d(x, y, normal_(random_));
  }
  Pose Motion(double turn, double shift) {
    const Eigen::Vector3d axis = Vector(turn);
    return {RotationOf(axis), Vector(shift)};
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_{0, 1};
};

// Camera coordinates: x right, y down, z ahead.
std::vector<Pose> MakePath(size_t keyframes) {
  std::vector<Pose> path;
  Pose world_from_camera{RotationOf({0.1, 0.3, -0.2}), {5, -2, 1}};
  for (size_t k = 0; k < keyframes; ++k) {
    path.push_back(world_from_camera.Inverse());
    const double corner = k % kSide == kSide - 1 ? std::acos(0.0) : 0;
    const double climb = 0.02 * std::cos(2 * std::acos(-1.0) * static_cast<double>(k % (4 * kSide)) / (4 * kSide));
    world_from_camera = world_from_camera * Pose{RotationOf({climb, corner, 0}), {0, 0, 1}};
  }
  return path;
}

}  // namespace

NoisyGraph MakeNoisyGraph(size_t keyframes, size_t bad, uint32_t seed) {
  Noise noise(seed);
  NoisyGraph noisy;
  noisy.truth = MakePath(keyframes);
  std::vector<Pose>& poses = noisy.graph.camera_from_world;
  const auto join = [&](size_t from, size_t to, const Pose& error, bool is_loop) {
    const Pose to_from = error * noisy.truth[to] * noisy.truth[from].Inverse();
    noisy.graph.edges.push_back({from, to, to_from, kTurnError, kShiftError, is_loop});
    return to_from;
  };
  poses.push_back(noisy.truth[0]);
  for (size_t k = 1; k < keyframes; ++k) {
    poses.push_back(join(k - 1, k, noise.Motion(kTurnError, kShiftError), false) * poses.back());
  }
  size_t loops = 0;
  for (size_t k = 4 * kSide; k < keyframes; k += 3) {
    const bool is_bad = bad > 0 && ++loops % bad == 0;
    const Pose error = is_bad ? noise.Motion(0.1, 3) : noise.Motion(kTurnError, kShiftError);
    join(k - 4 * kSide, k, error, true);
  }
  return noisy;
}

double PositionError(const NoisyGraph& noisy) {
  double sum = 0;
  for (size_t k = 0; k < noisy.truth.size(); ++k) {
    const Eigen::Vector3d position = noisy.graph.camera_from_world[k].Inverse().translation;
    sum += (position - noisy.truth[k].Inverse().translation).squaredNorm();
  }
  return std::sqrt(sum / static_cast<double>(noisy.truth.size()));
}

}  // namespace glint::slam
