// The enhanced unified camera model of wide lenses.
#ifndef GLINT_FEATURES_CAMERA_EUCM_H_
#define GLINT_FEATURES_CAMERA_EUCM_H_

#include <Eigen/Core>
#include <cmath>

#include "features/camera/lens_math.h"

namespace glint {

// Source: B. Khomutenko, G. Garcia, P. Martinet, "An enhanced unified camera model", 2016:
//   d = sqrt(beta (x^2 + y^2) + z^2),  (a, b) = (x, y) / (alpha d + (1 - alpha) z)
// Domain: z > -w d, w as below.
class Eucm {
 public:
  explicit Eucm(const LensCoefficients& k)
      : alpha_(k[0]), beta_(k[1]), w_(alpha_ <= 0.5 ? alpha_ / (1 - alpha_) : (1 - alpha_) / alpha_) {}

  bool Project(const Eigen::Vector3d& point, Eigen::Vector2d* ab, PixelByPoint* by_point) const {
    const double x = point.x(), y = point.y(), z = point.z();
    const double root = std::sqrt(beta_ * (x * x + y * y) + z * z);
    const double d = alpha_ * root + (1 - alpha_) * z;
    if (!(z > -w_ * root && d > 0)) return false;
    *ab << x / d, y / d;
    if (by_point == nullptr) return true;
    const double by_root = alpha_ / root;
    *by_point = QuotientJacobian(x, y, d, by_root * beta_ * x, by_root * beta_ * y, by_root * z + 1 - alpha_);
    return true;
  }

  bool Unproject(const Eigen::Vector2d& ab, Eigen::Vector3d* ray) const {
    const double s = beta_ * ab.squaredNorm();
    const double root = 1 - (2 * alpha_ - 1) * s;
    if (!(root >= 0)) return false;
    *ray << ab, (1 - alpha_ * alpha_ * s) / (alpha_ * std::sqrt(root) + 1 - alpha_);
    return true;
  }

 private:
  double alpha_, beta_, w_;
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_EUCM_H_
