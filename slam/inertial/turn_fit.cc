#include "slam/inertial/turn_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>

#include "slam/geometry/pose.h"
#include "slam/inertial/rotation_vector.h"

namespace glint::slam {
namespace {

constexpr double kSigma = 0.003;          // radians, of a piece's rotation from images
constexpr double kShare = 0.05;           // of that rotation, likewise
constexpr double kBiasPrior = 0.5;        // rad/s
constexpr double kOneAxis = 0.03;         // share of the first singular value, that a second one is above
constexpr double kFarthest = 0.1;         // seconds
constexpr double kBeyond = 0.11;          // seconds, that are looked at
constexpr double kGrid = 0.01;            // seconds between offsets that are tried
constexpr int kSteps = 4;                 // Gauss-Newton
constexpr double kAxesPrior = 0.1;        // radians
constexpr double kLeastScatter = 0.04;    // of normalised errors that a standard deviation is made of
constexpr double kMostWorst = 16;         // of a piece's error, beside that of most: beyond, not all are of one offset
constexpr Eigen::Index kFewestTurns = 6;  // that tell an offset

double Median(const Eigen::Array<double, 1, Eigen::Dynamic, Eigen::RowMajor, 1, kMostTurns>& values) {
  auto sorted = values;
  const Eigen::Index count = sorted.size();
  std::sort(sorted.data(), sorted.data() + count);
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

// The angle that `line` has turned at `time_ns`, which it covers.
Eigen::Vector3d AngleAt(const std::vector<TurnPoint>& line, int64_t time_ns) {
  auto b = std::upper_bound(line.begin(), line.end(), time_ns,
                            [](int64_t time, const TurnPoint& point) { return time < point.time_ns; });
  if (b == line.end()) --b;
  if (b == line.begin()) ++b;
  const TurnPoint& a = *(b - 1);
  const double part = static_cast<double>(time_ns - a.time_ns) / static_cast<double>(b->time_ns - a.time_ns);
  return a.angle + part * (b->angle - a.angle);
}

// In camera axes, if the sensor's times are ahead by `offset`.
Rotations Shifted(const Turns& turns, const Eigen::Matrix3d& camera_from_imu, const std::vector<TurnPoint>& line,
                  double offset) {
  const auto shift = static_cast<int64_t>(std::llround(offset * 1e9));
  Rotations result(3, turns.count);
  for (Eigen::Index k = 0; k < turns.count; ++k) {
    const auto i = static_cast<size_t>(k);
    const auto later = [&](int64_t time_ns) -> Eigen::Vector3d {
      return AngleAt(line, time_ns + shift) - AngleAt(line, time_ns);
    };
    const Eigen::Quaterniond turned =
        RotationOf(-later(turns.from_ns[i])) * turns.sensor[i] * RotationOf(later(turns.to_ns[i]));
    result.col(k) = camera_from_imu * RotationVectorOf(turned);
  }
  return result;
}

Turns Covered(const Turns& turns, const std::vector<TurnPoint>& line) {
  Turns result;
  const auto beyond = static_cast<int64_t>(kBeyond * 1e9);
  result.camera.resize(3, turns.count);
  result.in_degrees.resize(3, turns.count);
  for (Eigen::Index k = 0; k < turns.count; ++k) {
    const auto i = static_cast<size_t>(k), to = static_cast<size_t>(result.count);
    if (turns.from_ns[i] - line.front().time_ns < beyond || line.back().time_ns - turns.to_ns[i] < beyond) continue;
    result.in_degrees.col(result.count) = turns.in_degrees.col(k);
    result.camera.col(result.count++) = turns.camera.col(k);
    result.sensor[to] = turns.sensor[i];
    result.from_ns[to] = turns.from_ns[i];
    result.to_ns[to] = turns.to_ns[i];
    result.seconds[to] = turns.seconds[i];
  }
  result.camera.conservativeResize(3, result.count);
  result.in_degrees.conservativeResize(3, result.count);
  return result;
}

}  // namespace

Rotations Turns::Sensor() const {
  Rotations result(3, count);
  for (Eigen::Index k = 0; k < count; ++k) {
    result.col(k) = kDegreesInRadian * in_degrees.col(k);
    if (result.col(k).norm() < EIGEN_PI) result.col(k) = RotationVectorOf(sensor[static_cast<size_t>(k)]);
  }
  return result;
}

double Variation(const Turns& turns) {
  const Eigen::Vector3d mean = turns.camera.rowwise().mean();
  return std::sqrt((turns.camera.colwise() - mean).squaredNorm() / static_cast<double>(turns.count));
}

TurnFit CompareTurns(const Turns& turns, const Rotations& predicted, const BiasLimit& limit) {
  TurnFit fit;
  const Eigen::Map<const Eigen::Array<double, 1, Eigen::Dynamic>> seconds(turns.seconds.data(), turns.count);
  const Rotations difference = predicted - turns.camera;
  for (int c = 0; c < 3; ++c) fit.bias[c] = Median(difference.row(c).array() / seconds);
  if (const Eigen::Vector3d off = fit.bias - limit.centre; off.norm() > limit.radius) {
    fit.bias = limit.centre + off * (limit.radius / off.norm());
  }
  std::array<double, kMostTurns> squares, sorted;
  for (Eigen::Index k = 0; k < turns.count; ++k) {
    const auto i = static_cast<size_t>(k);
    fit.weight[i] = 1 / (kSigma * kSigma + kShare * kShare * turns.camera.col(k).squaredNorm());
    squares[i] = fit.weight[i] * (difference.col(k) - fit.bias * turns.seconds[i]).squaredNorm();
  }
  sorted = squares;
  const auto kept = static_cast<size_t>(turns.count - std::max<Eigen::Index>(1, turns.count / 5));
  std::sort(sorted.begin(), sorted.begin() + turns.count);
  for (size_t i = 0; i < kept; ++i) fit.error += sorted[i];
  fit.error /= 3 * static_cast<double>(kept - 1);
  fit.worst = sorted[static_cast<size_t>(turns.count - 1)] / 3;
  for (size_t i = 0; i < static_cast<size_t>(turns.count); ++i) {
    if (squares[i] > sorted[kept - 1]) fit.weight[i] = 0;
  }
  return fit;
}

AxesFit FitAxes(const Turns& turns, const Eigen::Matrix3d& given, bool may_mirror) {
  const Rotations sensor = turns.Sensor();
  AxesFit best;
  best.error = std::numeric_limits<double>::infinity();
  // With the means taken off, a bias does not matter; with them, a steady turn counts.
  for (const bool is_centred : {true, false}) {
    Eigen::Matrix3d products = turns.camera * sensor.transpose();
    if (is_centred) {
      products -=
          static_cast<double>(turns.count) * turns.camera.rowwise().mean() * sensor.rowwise().mean().transpose();
    }
    const Eigen::JacobiSVD<Eigen::Matrix3d> svd(products, Eigen::ComputeFullU | Eigen::ComputeFullV);
    if (svd.info() != Eigen::Success) continue;
    const Eigen::Vector3d& values = svd.singularValues();
    const Eigen::Matrix3d &u = svd.matrixU(), &v = svd.matrixV();
    Eigen::Matrix3d axes;
    const bool is_unique = values[1] > kOneAxis * values[0];
    if (!is_unique) {
      axes = Eigen::Quaterniond::FromTwoVectors(given * v.col(0), u.col(0)).toRotationMatrix() * given;
    } else {
      const double sign = may_mirror && values[2] > kOneAxis * values[0] ? 1 : u.determinant() * v.determinant();
      axes = u * Eigen::Vector3d(1, 1, sign).asDiagonal() * v.transpose();
    }
    const double error = CompareTurns(turns, axes * sensor).error;
    if (error < best.error) best = {error, axes, is_unique};
  }
  return best;
}

OffsetFit FitOffset(const Turns& all, const Eigen::Matrix3d& camera_from_imu, const std::vector<TurnPoint>& line) {
  OffsetFit fit;
  if (line.size() < 2) return fit;
  const Turns turns = Covered(all, line);
  if (turns.count < kFewestTurns) return fit;

  constexpr int kReach = 10;  // of the grid, to both sides
  std::array<double, 2 * kReach + 1> errors;
  for (size_t i = 0; i < errors.size(); ++i) {
    const double offset = kGrid * (static_cast<double>(i) - kReach);
    errors[i] = CompareTurns(turns, Shifted(turns, camera_from_imu, line, offset)).error;
  }
  fit.error_without = errors[kReach];
  fit.error_at_rest = CompareTurns(turns, Rotations::Zero(3, turns.count)).error;
  const auto best = static_cast<size_t>(std::min_element(errors.begin(), errors.end()) - errors.begin());
  if (best == 0 || best + 1 == errors.size()) return fit;
  for (size_t i = 1; i + 1 < errors.size(); ++i) {
    const bool is_low = errors[i] <= errors[i - 1] && errors[i] <= errors[i + 1];
    if (is_low && (i < best - 1 || i > best + 1) && errors[i] < 2 * errors[best] + 1) return fit;
  }

  // Bias, a small rotation of the axes, and the offset together.
  double offset = kGrid * (static_cast<double>(best) - kReach);
  Eigen::Matrix3d axes = camera_from_imu;
  for (int step = 0; step < kSteps; ++step) {
    constexpr double kDifference = 0.004;  // seconds, of numeric derivatives
    const Rotations now = Shifted(turns, axes, line, offset);
    const Rotations slope =
        (Shifted(turns, axes, line, offset + kDifference) - Shifted(turns, axes, line, offset - kDifference)) /
        (2 * kDifference);
    const TurnFit compared = CompareTurns(turns, now);
    Eigen::Matrix<double, 7, 7> squares = Eigen::Matrix<double, 7, 7>::Zero();
    Eigen::Matrix<double, 7, 1> products = Eigen::Matrix<double, 7, 1>::Zero();
    squares.diagonal() << Eigen::Vector3d::Constant(1 / (kBiasPrior * kBiasPrior)),
        Eigen::Vector3d::Constant(1 / (kAxesPrior * kAxesPrior)), 0;
    for (Eigen::Index k = 0; k < turns.count; ++k) {
      const auto i = static_cast<size_t>(k);
      Eigen::Matrix<double, 3, 7> by;  // of the camera's rotation
      by << Eigen::Matrix3d::Identity() * -turns.seconds[i], -CrossMatrix(now.col(k)), slope.col(k);
      squares += compared.weight[i] * by.transpose() * by;
      products += compared.weight[i] * by.transpose() * (turns.camera.col(k) - now.col(k));
    }
    const Eigen::LDLT<Eigen::Matrix<double, 7, 7>> solver(squares);
    const Eigen::Matrix<double, 7, 1> change = solver.solve(products);
    fit.error = compared.error;
    fit.is_known = compared.worst < kMostWorst * std::max(1.0, compared.error);
    fit.sigma =
        std::sqrt(solver.solve(Eigen::Matrix<double, 7, 1>::Unit(6))[6] * std::max(kLeastScatter, compared.error));
    if (!change.allFinite() || !(std::abs(offset + change[6]) < kFarthest)) return {};
    offset += change[6];
    axes = RotationOf(change.segment<3>(3)) * axes;
  }
  fit.seconds = offset;
  fit.angle = AngleOf(Eigen::Quaterniond(Eigen::Matrix3d(axes * camera_from_imu.transpose())));
  return fit;
}

}  // namespace glint::slam
