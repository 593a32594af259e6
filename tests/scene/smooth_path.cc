#include "tests/scene/smooth_path.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_format.h"

namespace glint::scene {
namespace {

constexpr double kLeastStep = 0.1;  // seconds

double UsualStep(const Path& path) {
  if (path.size() < 2) return 1;
  std::vector<double> steps;
  for (size_t i = 1; i < path.size(); ++i) steps.push_back(path[i].seconds - path[i - 1].seconds);
  std::nth_element(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2), steps.end());
  return std::max(kLeastStep, steps[steps.size() / 2]);
}

// A span of a uniform B-spline of this degree at `share` of it, by de Boor's recursion on the span's control points,
// degree + 1.
template <size_t kSize>
double Evaluate(std::array<double, kSize> points, double share) {
  constexpr int kDegree = static_cast<int>(kSize) - 1;
  for (int round = 1; round <= kDegree; ++round) {
    for (int i = kDegree; i >= round; --i) {
      const double weight = (share + kDegree - i) / (kDegree + 1 - round);
      const auto at = static_cast<size_t>(i);
      points[at] = (1 - weight) * points[at - 1] + weight * points[at];
    }
  }
  return points[kSize - 1];
}

// Control points of the derivative.
template <size_t kSize>
std::array<double, kSize - 1> Derivative(const std::array<double, kSize>& points, double step) {
  std::array<double, kSize - 1> differences;
  for (size_t i = 0; i + 1 < kSize; ++i) differences[i] = (points[i + 1] - points[i]) / step;
  return differences;
}

// The vector part of conj(a) * b.
Vec3 VectorOfRatio(const std::array<double, 4>& a, const std::array<double, 4>& b) {
  const Vec3 av = {a[0], a[1], a[2]}, bv = {b[0], b[1], b[2]};
  return a[3] * bv - b[3] * av - Cross(av, bv);
}

double Dot4(const std::array<double, 4>& a, const std::array<double, 4>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

}  // namespace

SmoothPath::SmoothPath(const Path& path, double step)
    : first_(path.front().seconds), last_(path.back().seconds), step_(step > 0 ? step : UsualStep(path)) {
  const int spans = std::max(1, static_cast<int>(std::ceil((last_ - first_) / step_)));
  // Control point i belongs to the time first_ + (i - kDegree / 2) * step_.
  constexpr int kBefore = kDegree / 2;
  const int count = spans + kDegree;
  controls_.resize(static_cast<size_t>(count));
  const int first_inside = kBefore, last_inside = kBefore + spans;
  for (int i = first_inside; i <= last_inside; ++i) {
    const Pose pose = PoseAtTime(path, first_ + (i - kBefore) * step_);
    Control& c = controls_[static_cast<size_t>(i)];
    const std::array<double, 4> q = QuaternionOf(pose.rotation);
    c = {pose.position.x, pose.position.y, pose.position.z, q[0], q[1], q[2], q[3]};
    if (i == first_inside) continue;
    const Control& last = controls_[static_cast<size_t>(i - 1)];
    if (c[3] * last[3] + c[4] * last[4] + c[5] * last[5] + c[6] * last[6] >= 0) continue;
    for (size_t k = 3; k < 7; ++k) c[k] = -c[k];
  }
  const auto extrapolate = [&](int i, int from, int beyond) {
    for (size_t k = 0; k < 7; ++k) {
      controls_[static_cast<size_t>(i)][k] =
          2 * controls_[static_cast<size_t>(from)][k] - controls_[static_cast<size_t>(beyond)][k];
    }
  };
  for (int i = first_inside - 1; i >= 0; --i) extrapolate(i, i + 1, i + 2);
  for (int i = last_inside + 1; i < count; ++i) extrapolate(i, i - 1, i - 2);
}

MovingPose SmoothPath::At(double seconds) const {
  const double place = (std::clamp(seconds, first_, last_) - first_) / step_;
  const int spans = static_cast<int>(controls_.size()) - kDegree;
  const int span = std::clamp(static_cast<int>(place), 0, spans - 1);
  const double share = place - span;
  std::array<double, 7> value, rate, curvature;
  for (size_t k = 0; k < 7; ++k) {
    std::array<double, kDegree + 1> points;
    for (size_t i = 0; i < points.size(); ++i) points[i] = controls_[static_cast<size_t>(span) + i][k];
    const auto first = Derivative(points, step_);
    value[k] = Evaluate(points, share);
    rate[k] = Evaluate(first, share);
    curvature[k] = Evaluate(Derivative(first, step_), share);
  }
  const std::array<double, 4> q = {value[3], value[4], value[5], value[6]};
  const std::array<double, 4> dq = {rate[3], rate[4], rate[5], rate[6]};
  const std::array<double, 4> ddq = {curvature[3], curvature[4], curvature[5], curvature[6]};
  // Of r = q / |q|: w = 2 vec(conj(r) r') = 2 vec(conj(q) q') / |q|^2, as the scaling adds no vector part.
  const double square = Dot4(q, q);
  MovingPose motion;
  motion.pose = {RotationOf(q), {value[0], value[1], value[2]}};
  motion.velocity = {rate[0], rate[1], rate[2]};
  motion.acceleration = {curvature[0], curvature[1], curvature[2]};
  motion.angular_velocity = 2 / square * VectorOfRatio(q, dq);
  motion.angular_acceleration = 2 / square * VectorOfRatio(q, ddq) - 2 * Dot4(q, dq) / square * motion.angular_velocity;
  return motion;
}

Path Smoothed(const Path& path, const SmoothPath& smooth) {
  Path result;
  for (const TimedPose& at : path) {
    const Pose pose = smooth.PoseAt(at.seconds);
    const auto [x, y, z, w] = QuaternionOf(pose.rotation);
    const Vec3 p = pose.position;
    result.push_back(
        {at.seconds, pose,
         absl::StrFormat("%.6f %.9f %.9f %.9f %.9f %.9f %.9f %.9f", at.seconds, p.x, p.y, p.z, x, y, z, w)});
  }
  return result;
}

}  // namespace glint::scene
