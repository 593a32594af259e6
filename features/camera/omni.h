// Mei's model of mirrors and wide lenses: a sphere, then a radial-tangential lens.
#ifndef GLINT_FEATURES_CAMERA_OMNI_H_
#define GLINT_FEATURES_CAMERA_OMNI_H_

#include <Eigen/Core>
#include <cmath>

#include "features/camera/lens_math.h"
#include "features/camera/radial_tangential.h"

namespace glint {

// Source: C. Mei, P. Rives, "Single view point omnidirectional camera calibration from planar grids", 2007. With
// d = |(x, y, z)|: (p, q) = (x, y) / (z + xi d), distorted by k1 k2 p1 p2 as in radial_tangential.h.
// Domain: z > -xi d for xi <= 1, z > -d / xi beyond; and that of the lens.
class Omni {
 public:
  explicit Omni(const LensCoefficients& k)
      : xi_(k[0]), least_(xi_ <= 1 ? -xi_ : -1 / xi_), lens_({k[1], k[2], k[3], k[4], 0, 0, 0, 0}) {}

  bool Project(const Eigen::Vector3d& point, Eigen::Vector2d* ab, PixelByPoint* by_point) const {
    const double x = point.x(), y = point.y(), z = point.z();
    const double d = std::sqrt(x * x + y * y + z * z);
    const double shifted = z + xi_ * d;
    if (!(z > least_ * d && shifted > 0)) return false;
    Eigen::Matrix2d by_plane;
    if (!lens_.Distort({x / shifted, y / shifted}, ab, by_point == nullptr ? nullptr : &by_plane)) return false;
    if (by_point == nullptr) return true;
    const double bend = xi_ / d;
    *by_point = by_plane * QuotientJacobian(x, y, shifted, bend * x, bend * y, 1 + bend * z);
    return true;
  }

  bool Unproject(const Eigen::Vector2d& ab, Eigen::Vector3d* ray) const {
    Eigen::Vector2d plane;
    if (!lens_.Undistort(ab, &plane)) return false;
    const double s = plane.squaredNorm();
    const double root = 1 + (1 - xi_ * xi_) * s;
    if (!(root >= 0)) return false;
    const double k = (xi_ + std::sqrt(root)) / (1 + s);
    *ray << k * plane, k - xi_;
    return true;
  }

 private:
  double xi_, least_;
  RadialTangential lens_;
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_OMNI_H_
