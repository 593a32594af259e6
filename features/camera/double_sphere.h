// The double sphere model of wide lenses.
#ifndef GLINT_FEATURES_CAMERA_DOUBLE_SPHERE_H_
#define GLINT_FEATURES_CAMERA_DOUBLE_SPHERE_H_

#include <Eigen/Core>
#include <cmath>

#include "features/camera/lens_math.h"

namespace glint {

// Source: V. Usenko, N. Demmel, D. Cremers, "The double sphere camera model", 2018. With R^2 = x^2 + y^2:
//   d1 = sqrt(R^2 + z^2),  e = xi d1 + z,  d2 = sqrt(R^2 + e^2),  (a, b) = (x, y) / (alpha d2 + (1 - alpha) e)
// Domain: z > -w2 d1, w2 as below.
class DoubleSphere {
 public:
  explicit DoubleSphere(const LensCoefficients& k) : xi_(k[0]), alpha_(k[1]) {
    const double w1 = alpha_ <= 0.5 ? alpha_ / (1 - alpha_) : (1 - alpha_) / alpha_;
    w2_ = (w1 + xi_) / std::sqrt(2 * w1 * xi_ + xi_ * xi_ + 1);
  }

  bool Project(const Eigen::Vector3d& point, Eigen::Vector2d* ab, PixelByPoint* by_point) const {
    const double x = point.x(), y = point.y(), z = point.z();
    const double square = x * x + y * y;
    const double d1 = std::sqrt(square + z * z);
    const double e = xi_ * d1 + z;
    const double d2 = std::sqrt(square + e * e);
    const double d = alpha_ * d2 + (1 - alpha_) * e;
    if (!(z > -w2_ * d1 && d > 0)) return false;
    *ab << x / d, y / d;
    if (by_point == nullptr) return true;
    const double by_e = alpha_ * e / d2 + 1 - alpha_;
    const double by_xy = alpha_ / d2 + by_e * xi_ / d1;  // over x, over y
    *by_point = QuotientJacobian(x, y, d, by_xy * x, by_xy * y, by_e * (xi_ * z / d1 + 1));
    return true;
  }

  bool Unproject(const Eigen::Vector2d& ab, Eigen::Vector3d* ray) const {
    const double s = ab.squaredNorm();
    const double root = 1 - (2 * alpha_ - 1) * s;
    if (!(root >= 0)) return false;
    const double mz = (1 - alpha_ * alpha_ * s) / (alpha_ * std::sqrt(root) + 1 - alpha_);
    const double second = mz * mz + (1 - xi_ * xi_) * s;
    if (!(second >= 0)) return false;
    const double k = (mz * xi_ + std::sqrt(second)) / (mz * mz + s);
    *ray << k * ab, k * mz - xi_;
    return true;
  }

 private:
  double xi_, alpha_, w2_;
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_DOUBLE_SPHERE_H_
