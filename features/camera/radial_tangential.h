// Brown and Conrady's lens, also with a denominator (OpenCV's "rational" model) and a thin prism, and no distortion at
// all.
#ifndef GLINT_FEATURES_CAMERA_RADIAL_TANGENTIAL_H_
#define GLINT_FEATURES_CAMERA_RADIAL_TANGENTIAL_H_

#include <Eigen/Core>
#include <Eigen/LU>
#include <array>
#include <cmath>

#include "features/camera/lens_math.h"

namespace glint {

// Source: D. C. Brown, "Close-range camera calibration", 1971, in the form of OpenCV's documentation of calib3d. With
// (p, q) = (x, y) / z and s = p^2 + q^2:
//   c = (1 + k1 s + k2 s^2 + k3 s^3) / (1 + k4 s + k5 s^2 + k6 s^3)
//   a = p c + 2 p1 p q + p2 (s + 2 p^2) + s1 s + s2 s^2
//   b = q c + p1 (s + 2 q^2) + 2 p2 p q + s3 s + s4 s^2
// Domain: z > 0, and radii up to the first one at which r c(r^2) does not grow, or where the denominator is 0. With a
// prism, which bends each side differently, also where the determinant of the Jacobian of (a, b) by (p, q) is above 0
// on the way from the axis.
class RadialTangential {
 public:
  // k1 k2 p1 p2 k3 k4 k5 k6 s1 s2 s3 s4; the rest is not used.
  explicit RadialTangential(const LensCoefficients& k)
      : numerator_{1, k[0], k[1], k[4]},
        denominator_{1, k[5], k[6], k[7]},
        p1_(k[2]),
        p2_(k[3]),
        prism_(k[8], k[10]),
        prism_of_square_(k[9], k[11]),
        has_prism_(prism_ != Eigen::Vector2d::Zero() || prism_of_square_ != Eigen::Vector2d::Zero()),
        finite_(denominator_),
        growing_(Growth(numerator_, denominator_)) {}

  bool Project(const Eigen::Vector3d& point, Eigen::Vector2d* ab, PixelByPoint* by_point) const {
    if (!(point.z() > 0)) return false;
    const double w = 1 / point.z();
    const Eigen::Vector2d plane(point.x() * w, point.y() * w);
    Eigen::Matrix2d by_plane;
    if (!Distort(plane, ab, by_point == nullptr ? nullptr : &by_plane)) return false;
    if (by_point == nullptr) return true;
    by_point->leftCols<2>() = by_plane * w;
    by_point->col(2) = -w * (by_plane * plane);
    return true;
  }

  bool Unproject(const Eigen::Vector2d& ab, Eigen::Vector3d* ray) const {
    Eigen::Vector2d plane;
    if (!Undistort(ab, &plane)) return false;
    *ray << plane, 1;
    return true;
  }

  // From the plane z = 1 to the distorted one; false outside the domain.
  bool Distort(const Eigen::Vector2d& plane, Eigen::Vector2d* ab, Eigen::Matrix2d* by_plane) const {
    const double s = plane.x() * plane.x() + plane.y() * plane.y();
    if (!Grows(s) || (has_prism_ && Folds(plane))) return false;
    Evaluate(plane, s, ab, by_plane);
    return true;
  }

  bool Undistort(const Eigen::Vector2d& ab, Eigen::Vector2d* plane) const {
    *plane = ab;
    if (Newton(ab, plane)) return true;
    // Far from the axis or from a polynomial: start where the lens without its tangential part has that radius.
    constexpr double kWidest = 1000;  // 89.94 degrees
    const double target = ab.norm();
    const double radius = LastThatHolds(kWidest, [&](double r) {
      return Grows(r * r) && r * Value(numerator_, r * r) < target * Value(denominator_, r * r);
    });
    *plane = ab * (radius / target);
    return Newton(ab, plane);
  }

 private:
  static double Value(const std::array<double, 4>& c, double s) { return c[0] + ((c[3] * s + c[2]) * s + c[1]) * s; }
  static double Slope(const std::array<double, 4>& c, double s) { return (3 * c[3] * s + 2 * c[2]) * s + c[1]; }

  // Of r c(r^2), by r, times the denominator's square: coefficients by powers of s.
  static std::array<double, 7> Growth(const std::array<double, 4>& numerator,
                                      const std::array<double, 4>& denominator) {
    std::array<double, 7> growth{};
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) growth[i + j] += numerator[i] * denominator[j] * (2 * i + 1 - 2 * j);
    }
    return growth;
  }

  // Whether the radius grows up to the square root of s.
  bool Grows(double s) const { return finite_.Holds(s) && growing_.Holds(s); }

  // Whether the determinant is 0 or less at `plane`, or on the way to it from the axis in steps of a third.
  bool Folds(Eigen::Vector2d plane) const {
    constexpr double kNear = 0.05 * 0.05;  // no prism folds nearer to the axis
    Eigen::Vector2d ab;
    Eigen::Matrix2d by_plane;
    for (double s = plane.squaredNorm(); s > kNear; s = plane.squaredNorm()) {
      Evaluate(plane, s, &ab, &by_plane);
      if (!(by_plane.determinant() > 0)) return true;
      plane *= 0.75;
    }
    return false;
  }

  void Evaluate(const Eigen::Vector2d& plane, double s, Eigen::Vector2d* ab, Eigen::Matrix2d* by_plane) const {
    const double p = plane.x();
    const double q = plane.y();
    const double denominator = Value(denominator_, s);
    const double c = Value(numerator_, s) / denominator;
    *ab << p * c + p1_ * (2 * p * q) + p2_ * (s + 2 * p * p), q * c + p1_ * (s + 2 * q * q) + p2_ * (2 * p * q);
    if (has_prism_) *ab += s * (prism_ + s * prism_of_square_);
    if (by_plane == nullptr) return;
    const double slope = 2 * (Slope(numerator_, s) - c * Slope(denominator_, s)) / denominator;  // of c, by p over p
    const double mixed = p * q * slope + 2 * p1_ * p + 2 * p2_ * q;
    *by_plane << c + p * p * slope + 2 * p1_ * q + 6 * p2_ * p, mixed, mixed,
        c + q * q * slope + 6 * p1_ * q + 2 * p2_ * p;
    if (has_prism_) *by_plane += 2 * (prism_ + 2 * s * prism_of_square_) * plane.transpose();
  }

  // Solves Distort(plane) = ab from `plane` on. False if that ends elsewhere or outside the domain.
  bool Newton(const Eigen::Vector2d& ab, Eigen::Vector2d* plane) const {
    for (int i = 0; i < 30; ++i) {
      Eigen::Vector2d at;
      Eigen::Matrix2d by_plane;
      Evaluate(*plane, plane->squaredNorm(), &at, &by_plane);
      const Eigen::Vector2d step = by_plane.inverse() * (ab - at);
      *plane += step;
      if (!(step.squaredNorm() > 1e-30 * (1 + plane->squaredNorm()))) break;
    }
    Eigen::Vector2d at;
    return Distort(*plane, &at, nullptr) && (at - ab).norm() < 1e-10;
  }

  std::array<double, 4> numerator_, denominator_;
  double p1_, p2_;
  Eigen::Vector2d prism_, prism_of_square_;
  bool has_prism_;
  mutable PositiveRange<4> finite_;
  mutable PositiveRange<7> growing_;
};

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_RADIAL_TANGENTIAL_H_
