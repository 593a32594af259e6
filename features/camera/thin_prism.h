// OpenCV's lens of twelve and fourteen coefficients: rational, with a thin prism, before a sensor that may be tilted.
#ifndef GLINT_FEATURES_CAMERA_THIN_PRISM_H_
#define GLINT_FEATURES_CAMERA_THIN_PRISM_H_

#include <Eigen/Core>
#include <Eigen/LU>
#include <cmath>

#include "features/camera/lens_math.h"
#include "features/camera/radial_tangential.h"
#include "features/trigonometry.h"

namespace glint {

// Source: OpenCV's documentation of calib3d; the tilt is that of T. Louhichi et al., "Self-calibration of Scheimpflug
// cameras", 2007. With (u, v) of radial_tangential.h and U = Ry(ty) Rx(tx), where Rx and Ry turn coordinates about x
// and y:
//   h = U (u, v, 1),  (a, b) = ((U22 h0 - U02 h2), (U22 h1 - U12 h2)) / h2
// Without prism and tilt it is the rational lens to the last bit.
// Domain: that of the lens, and h2 > 0.
class ThinPrism {
 public:
  // k1 k2 p1 p2 k3 k4 k5 k6 s1 s2 s3 s4 tx ty.
  explicit ThinPrism(const LensCoefficients& k) : lens_(k), tilt_(Tilt(k[12], k[13])), inverse_tilt_(tilt_.inverse()) {}

  bool Project(const Eigen::Vector3d& point, Eigen::Vector2d* ab, PixelByPoint* by_point) const {
    if (!lens_.Project(point, ab, by_point)) return false;
    const Eigen::Vector3d h = tilt_ * Eigen::Vector3d(ab->x(), ab->y(), 1);
    if (!(h.z() > 0)) return false;
    *ab = h.head<2>() / h.z();
    if (by_point == nullptr) return true;
    const Eigen::Matrix2d by_flat = (tilt_.topLeftCorner<2, 2>() - *ab * tilt_.bottomLeftCorner<1, 2>()) / h.z();
    *by_point = by_flat * *by_point;
    return true;
  }

  bool Unproject(const Eigen::Vector2d& ab, Eigen::Vector3d* ray) const {
    const Eigen::Vector3d flat = inverse_tilt_ * Eigen::Vector3d(ab.x(), ab.y(), 1);
    return flat.z() > 0 && lens_.Unproject(flat.head<2>() / flat.z(), ray);
  }

 private:
  // From the plane that faces the lens to the tilted one.
  static Eigen::Matrix3d Tilt(double x, double y) {
    Eigen::Matrix3d about_x, about_y, onto;
    const SineCosine of_x = SineCosineOf(x), of_y = SineCosineOf(y);
    about_x << 1, 0, 0, 0, of_x.cosine, of_x.sine, 0, -of_x.sine, of_x.cosine;
    about_y << of_y.cosine, 0, -of_y.sine, 0, 1, 0, of_y.sine, 0, of_y.cosine;
    const Eigen::Matrix3d turn = about_y * about_x;
    onto << turn(2, 2), 0, -turn(0, 2), 0, turn(2, 2), -turn(1, 2), 0, 0, 1;
    return onto * turn;
  }

  RadialTangential lens_;
  Eigen::Matrix3d tilt_, inverse_tilt_;
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_THIN_PRISM_H_
