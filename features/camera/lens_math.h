// What the models of lenses share: folds of polynomials, the arc tangent, Jacobians of radially symmetric lenses.
#ifndef GLINT_FEATURES_CAMERA_LENS_MATH_H_
#define GLINT_FEATURES_CAMERA_LENS_MATH_H_

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>

#include "features/camera/camera.h"

namespace glint {

using LensCoefficients = std::array<double, kMaxLensCoefficients>;

namespace lens_internal {

// Whether the polynomial with these coefficients in the basis of Bernstein is positive in 0..1. It lies between the
// smallest and the largest of them; where that does not decide, each half is looked at (de Casteljau).
template <size_t N>
bool BernsteinIsPositive(std::array<double, N> upper, int halvings) {
  if (!(upper.front() > 0 && upper.back() > 0)) return false;
  bool positive = true;
  for (const double b : upper) positive = positive && b > 0;
  if (positive) return true;
  if (halvings == 0) return false;  // it touches zero
  std::array<double, N> lower;
  for (size_t i = 0; i < N; ++i) {
    lower[i] = upper[0];
    for (size_t j = 0; j + i + 1 < N; ++j) upper[j] = (upper[j] + upper[j + 1]) / 2;
  }
  return BernsteinIsPositive(lower, halvings - 1) && BernsteinIsPositive(upper, halvings - 1);
}

}  // namespace lens_internal

// Whether c[0] + c[1] t + c[2] t^2 + ... is positive for each t in 0..s. False for NaN.
template <size_t N>
bool PositiveUpTo(const std::array<double, N>& c, double s) {
  double least = 0;
  for (size_t i = N - 1; i > 0; --i) least = (least + std::abs(c[i])) * s;
  if (c[0] - least > 0) return true;  // nearly always
  std::array<double, N> scaled;       // coefficients of the same polynomial of t / s, over the binomials
  double power = 1, binomial = 1;
  for (size_t i = 0; i < N; ++i) {
    scaled[i] = c[i] * power / binomial;
    power *= s;
    binomial = binomial * static_cast<double>(N - 1 - i) / static_cast<double>(i + 1);
  }
  std::array<double, N> bernstein{};
  for (size_t j = 0; j < N; ++j) {
    double choose = 1;
    for (size_t i = 0; i <= j; ++i) {
      bernstein[j] += choose * scaled[i];
      choose = choose * static_cast<double>(j - i) / static_cast<double>(i + 1);
    }
  }
  return lens_internal::BernsteinIsPositive(bernstein, 40);
}

// PositiveUpTo() for many s: remembers how far it has been asked. Not thread-safe.
template <size_t N>
class PositiveRange {
 public:
  explicit PositiveRange(const std::array<double, N>& c) : c_(c) {}
  bool Holds(double s) {
    if (s <= positive_up_to_) return true;
    if (s >= not_from_) return false;
    const bool positive = PositiveUpTo(c_, s);
    (positive ? positive_up_to_ : not_from_) = s;
    return positive;
  }

 private:
  std::array<double, N> c_;
  double positive_up_to_ = -1, not_from_ = HUGE_VAL;
};

// The largest t in 0..limit up to which `holds`, which holds up to there and nowhere beyond.
template <typename Predicate>
double LastThatHolds(double limit, const Predicate& holds) {
  double low = 0, high = limit;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

// For lenses with (a, b) = (x, y) / R * g(R, z), R = |(x, y)|: their Jacobian by (x, y, z). `scale` is g / R.
inline PixelByPoint RadialJacobian(double x, double y, double radius, double scale, double g_by_radius, double g_by_z) {
  const double ux = radius > 0 ? x / radius : 0;
  const double uy = radius > 0 ? y / radius : 0;
  const double along = g_by_radius - scale;
  PixelByPoint by_point;
  by_point << scale + along * ux * ux, along * ux * uy, g_by_z * ux,  //
      along * ux * uy, scale + along * uy * uy, g_by_z * uy;
  return by_point;
}

// For lenses with (a, b) = (x, y) / D(x, y, z): the Jacobian, from the gradient of D.
inline PixelByPoint QuotientJacobian(double x, double y, double d, double d_by_x, double d_by_y, double d_by_z) {
  const double a = x / d;
  const double b = y / d;
  PixelByPoint by_point;
  by_point << (1 - a * d_by_x) / d, -a * d_by_y / d, -a * d_by_z / d,  //
      -b * d_by_x / d, (1 - b * d_by_y) / d, -b * d_by_z / d;
  return by_point;
}

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_LENS_MATH_H_
