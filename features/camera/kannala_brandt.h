// Kannala and Brandt's fisheye lens.
#ifndef GLINT_FEATURES_CAMERA_KANNALA_BRANDT_H_
#define GLINT_FEATURES_CAMERA_KANNALA_BRANDT_H_

#include <Eigen/Core>
#include <array>
#include <cmath>

#include "features/camera/lens_math.h"
#include "features/trigonometry.h"

namespace glint {

// Source: J. Kannala, S. Brandt, "A generic camera model and calibration method for conventional, wide-angle, and
// fish-eye lenses", 2006, its radial part in the form of OpenCV's fisheye module. With R = |(x, y)|:
//   t = atan2(R, z),  g = t (1 + k1 t^2 + k2 t^4 + k3 t^6 + k4 t^8),  (a, b) = (x, y) / R * g
// Domain: angles t up to the first one at which g does not grow, below 180 degrees.
class KannalaBrandt {
 public:
  explicit KannalaBrandt(const LensCoefficients& k)
      : terms_{1, k[0], k[1], k[2], k[3]}, growth_{1, 3 * k[0], 5 * k[1], 7 * k[2], 9 * k[3]}, growing_(growth_) {}

  bool Project(const Eigen::Vector3d& point, Eigen::Vector2d* ab, PixelByPoint* by_point) const {
    const double x = point.x(), y = point.y(), z = point.z();
    const double radius = std::sqrt(x * x + y * y);
    if (!(radius > 0 || z > 0)) return false;
    const double t = z > 0 ? ArcTangent(radius / z) : kPi / 2 + ArcTangent(-z / radius);
    if (!growing_.Holds(t * t)) return false;
    const double scale = radius > 0 ? t * Value(terms_, t * t) / radius : 1 / z;
    *ab << x * scale, y * scale;
    if (by_point == nullptr) return true;
    const double by_t = Value(growth_, t * t) / (radius * radius + z * z);
    *by_point = RadialJacobian(x, y, radius, scale, by_t * z, -by_t * radius);
    return true;
  }

  bool Unproject(const Eigen::Vector2d& ab, Eigen::Vector3d* ray) const {
    const double target = ab.norm();
    double t = target;
    if (!Newton(target, &t)) {
      t = LastThatHolds(kPi,
                        [&](double at) { return growing_.Holds(at * at) && at * Value(terms_, at * at) < target; });
      if (!Newton(target, &t)) return false;
    }
    const SineCosine at = SineCosineOf(t);
    *ray << ab * (target > 0 ? at.sine / target : 1), at.cosine;
    return true;
  }

 private:
  static constexpr double kPi = 3.141592653589793;

  static double Value(const std::array<double, 5>& c, double s) {
    return c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * c[4])));
  }

  // Solves g(t) = target from t on. False if that ends elsewhere or outside the domain.
  bool Newton(double target, double* t) const {
    for (int i = 0; i < 30; ++i) {
      const double step = (target - *t * Value(terms_, *t * *t)) / Value(growth_, *t * *t);
      *t += step;
      if (!(std::abs(step) > 1e-15)) break;
    }
    return *t >= 0 && *t < kPi && growing_.Holds(*t * *t) && std::abs(*t * Value(terms_, *t * *t) - target) < 1e-10;
  }

  std::array<double, 5> terms_, growth_;  // of g / t and of dg / dt, by powers of t^2
  mutable PositiveRange<5> growing_;
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_KANNALA_BRANDT_H_
