#include "slam/watch/focal_length.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "slam/estimate/reprojection_model.h"

namespace glint::slam {
namespace {

constexpr size_t kFewestSeenTwice = 50, kMostSeenTwice = 300;
constexpr double kLeastTurn = 0.0175;  // radians
constexpr int kFocalRounds = 5;
constexpr double kCauchyBound = 4;  // standard deviations; larger residuals are rather those of wrong matches
constexpr double kLeastRatio = 0.5, kLargestRatio = 2;
constexpr double kRatioStep = 1e-3;  // of the numeric derivative
constexpr int kFewestTurns = 10;
constexpr double kClearDeviations = 10, kLeastOff = 0.03;

using Vector7 = Eigen::Matrix<double, 7, 1>;
using Matrix7 = Eigen::Matrix<double, 7, 7>;

StereoCamera WithFocalLength(StereoCamera camera, double ratio) {
  camera.focal_length *= ratio;
  return camera;
}

// The newer observation's residual by the older one; false: the point is not before the cameras.
bool ResidualOf(const StereoCamera& camera, const ReprojectionModel& model, const Pose& newer_from_older,
                const KeyframeStep::Point& seen, Eigen::Vector3d* point, Eigen::Vector4d* residual) {
  const StereoPixel& pixel = seen.older.pixel;
  Eigen::Vector3d in_older;
  if (!Triangulate(camera, pixel.left.x(), pixel.left.y(), pixel.disparity, &in_older)) return false;
  *point = newer_from_older * in_older;
  if (point->z() < kNearestPoint) return false;
  *residual = model.Residual(*point, seen.newer);
  return true;
}

}  // namespace

void FocalLengthWatch::Add(const StereoCamera& camera, const KeyframeStep& step) {
  const std::vector<KeyframeStep::Point>& points = step.points;
  Pose newer_from_older = step.newer_from_older;
  if (points.size() < kFewestSeenTwice || AngleOf(newer_from_older.rotation) < kLeastTurn) return;
  const size_t stride = (points.size() + kMostSeenTwice - 1) / kMostSeenTwice;
  double ratio = 1, variance = 0, left = 0;
  for (int round = 0; round < kFocalRounds; ++round) {
    const StereoCamera c = WithFocalLength(camera, ratio), less = WithFocalLength(camera, ratio - kRatioStep),
                       more = WithFocalLength(camera, ratio + kRatioStep);
    const ReprojectionModel model(c), of_less(less), of_more(more);
    Matrix7 hessian = Matrix7::Zero();
    Vector7 gradient = Vector7::Zero();
    double square = 0;
    int rows = 0;
    for (size_t i = 0; i < points.size(); i += stride) {
      Eigen::Vector3d p, unused;
      Eigen::Vector4d r, by_less, by_more;
      if (!ResidualOf(c, model, newer_from_older, points[i], &p, &r) ||
          !ResidualOf(less, of_less, newer_from_older, points[i], &unused, &by_less) ||
          !ResidualOf(more, of_more, newer_from_older, points[i], &unused, &by_more)) {
        continue;
      }
      const Rows43 by_point = model.JacobianByPoint(p, points[i].newer);
      Eigen::Matrix<double, 4, 7> j;
      j.leftCols<3>() = -by_point * CrossMatrix(p);
      j.middleCols<3>(3) = by_point;
      j.col(6) = (by_more - by_less) / (2 * kRatioStep);
      const double weight = 1 / (1 + r.squaredNorm() / (kCauchyBound * kCauchyBound));
      hessian += weight * j.transpose() * j;
      gradient += weight * j.transpose() * r;
      square += weight * r.squaredNorm();
      rows += 4;
    }
    if (rows < 4 * static_cast<int>(kFewestSeenTwice) / 2) return;
    const Eigen::LDLT<Matrix7> solver(hessian);
    const Vector7 change = -solver.solve(gradient);
    variance = std::max(1.0, square / (rows - 7));
    left = 1 / solver.solve(Vector7::Unit(6))[6];
    newer_from_older = Pose{RotationOf(change.head<3>()), change.segment<3>(3)} * newer_from_older;
    ratio += change[6];
    if (!(ratio > kLeastRatio && ratio < kLargestRatio && left > 0)) return;
  }
  ++pairs_;
  const double weight = left / variance;
  weight_ += weight;
  weighted_ += weight * ratio;
  square_ += weight * ratio * ratio;
}

std::vector<Warning> FocalLengthWatch::Warnings() const {
  if (pairs_ < kFewestTurns) return {};
  const double mean = weighted_ / weight_;
  const double scatter = std::max(1.0, (square_ - weighted_ * mean) / (pairs_ - 1));
  const double deviation = std::sqrt(scatter / weight_), off = std::abs(mean - 1);
  if (!(off > kLeastOff && off > kClearDeviations * deviation)) return {};
  return {{WarningKind::kFocalLength, mean, "1",
           absl::StrFormat("the focal length seems to be wrong: turns of the camera tell %.3f +- %.3f times the given "
                           "one; look whether the calibration is of images of this size",
                           mean, deviation)}};
}

}  // namespace glint::slam
