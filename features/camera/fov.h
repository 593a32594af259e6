// The field-of-view model of wide lenses.
#ifndef GLINT_FEATURES_CAMERA_FOV_H_
#define GLINT_FEATURES_CAMERA_FOV_H_

#include <Eigen/Core>
#include <cmath>

#include "features/camera/lens_math.h"
#include "features/trigonometry.h"

namespace glint {

// Source: F. Devernay, O. Faugeras, "Straight lines have to be straight", 2001. With R = |(x, y)|:
//   g = atan(2 tan(w / 2) R / z) / w,  (a, b) = (x, y) / R * g;  g = R / z for w = 0
// Domain: z > 0.
class Fov {
 public:
  explicit Fov(const LensCoefficients& k) : w_(k[0]), steepness_(2 * SineCosineOf(k[0] / 2).tangent()) {}

  bool Project(const Eigen::Vector3d& point, Eigen::Vector2d* ab, PixelByPoint* by_point) const {
    const double x = point.x(), y = point.y(), z = point.z();
    if (!(z > 0)) return false;
    const double radius = std::sqrt(x * x + y * y);
    const bool flat = w_ < kFlat;
    const double g = flat ? radius / z : ArcTangent(steepness_ * radius / z) / w_;
    const double on_axis = flat ? 1 : steepness_ / w_;
    const double scale = radius > 0 ? g / radius : on_axis / z;
    *ab << x * scale, y * scale;
    if (by_point == nullptr) return true;
    const double bend = flat ? 0 : steepness_ * radius;
    const double by_tangent = on_axis / (bend * bend + z * z);
    *by_point = RadialJacobian(x, y, radius, scale, by_tangent * z, -by_tangent * radius);
    return true;
  }

  bool Unproject(const Eigen::Vector2d& ab, Eigen::Vector3d* ray) const {
    const double g = ab.norm();
    constexpr double kHalfPi = 1.5707963267948966;
    if (!(g * w_ < kHalfPi)) return false;
    double scale = 1;
    if (w_ >= kFlat) scale = g > 0 ? SineCosineOf(g * w_).tangent() / (steepness_ * g) : w_ / steepness_;
    *ray << ab * scale, 1;
    return true;
  }

 private:
  static constexpr double kFlat = 1e-9;  // no lens: both formulas agree to the last digits

  double w_, steepness_;
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_FOV_H_
