#include "slam/watch/lens_distortion.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_format.h"

namespace glint::slam {
namespace {

constexpr double kMostPx = 4;  // vertical disparities beyond are those of wrong matches
constexpr int kFewestPairs = 6, kFewestKeypoints = 500;
constexpr double kSureDeviations = 10;  // standard deviations
constexpr double kCornerPx = 4;         // that a corner of the image is moved by
constexpr double kLeastK1 = 0.06;
// What tells k1 apart from a turned camera is that disparities differ: by five times their own error at least.
constexpr double kDisparityErrorPx = 0.5, kLeastSpread = 5;

}  // namespace

void LensWatch::Add(const StereoCamera& camera, const StereoFrame& frame) {
  ++pairs_;
  for (size_t i = 0; i < frame.left.count(); ++i) {
    const double vertical = frame.vertical_disparity[i];
    if (frame.is_stereo[i] == 0 || std::abs(vertical) > kMostPx) continue;
    const double f = camera.focal_length;
    const double x = (frame.left.x[i] - camera.centre_x) / f, y = (frame.left.y[i] - camera.centre_y) / f;
    const double disparity = frame.disparity[i] / f;
    // A shift, a turn about each axis, another focal length; then k1.
    Vector terms;
    terms << 1, x, y, y * y, x * y, f * y * disparity * (2 * x - disparity);
    squares_ += terms * terms.transpose();
    products_ += vertical * terms;
    square_ += vertical * vertical;
    error_square_ += 4 * x * x * y * y * kDisparityErrorPx * kDisparityErrorPx;
    ++keypoints_;
  }
}

std::vector<Warning> LensWatch::Warnings(const StereoCamera& camera) const {
  if (pairs_ < kFewestPairs || keypoints_ < kFewestKeypoints) return {};
  const Eigen::LDLT<Eigen::Matrix<double, kTerms, kTerms>> solver(squares_);
  const Vector solution = solver.solve(products_);
  const double variance = std::max(0.0, square_ - products_.dot(solution)) / (keypoints_ - kTerms);
  const double k1 = solution[kTerms - 1];
  // What the other terms leave of the last one's sum of squares.
  const double left = 1 / solver.solve(Vector::Unit(kTerms - 1))[kTerms - 1];
  const double deviation = std::sqrt(variance / left);
  const double corner = std::hypot(std::max(camera.centre_x, camera.image.width - camera.centre_x),
                                   std::max(camera.centre_y, camera.image.height - camera.centre_y)) /
                        camera.focal_length;
  // Written so that NaN is none.
  const bool is_bent = left > kLeastSpread * kLeastSpread * error_square_ && std::abs(k1) > kLeastK1 &&
                       std::abs(k1) > kSureDeviations * deviation &&
                       std::abs(k1) * corner * corner * corner * camera.focal_length > kCornerPx;
  if (!is_bent) return {};
  return {
      {WarningKind::kLensDistortion, k1, "1",
       absl::StrFormat("the lens' distortion seems to be left in the images: vertical disparities tell k1 = %.2f +- "
                       "%.2f; undistort and rectify them",
                       k1, deviation)}};
}

}  // namespace glint::slam
