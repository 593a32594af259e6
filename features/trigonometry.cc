#include "features/trigonometry.h"

#include <cmath>

namespace glint {
namespace {

constexpr double kHalfPi = 1.5707963267948966;

// Taylor's series within 0..pi/4 of 0; the first term that is left out is below 1e-16 of the sum.
double SmallSine(double x) {
  const double s = x * x;
  const double tail =
      s *
      (-1. / 6 +
       s * (1. / 120 +
            s * (-1. / 5040 + s * (1. / 362880 + s * (-1. / 39916800 + s * (1. / 6227020800. - s / 1307674368000.))))));
  return x + x * tail;
}

double SmallCosine(double x) {
  const double s = x * x;
  const double tail =
      s * s *
      (1. / 24 +
       s * (-1. / 720 + s * (1. / 40320 + s * (-1. / 3628800 + s * (1. / 479001600 +
                                                                    s * (-1. / 87178291200. + s / 20922789888000.))))));
  return 1 - 0.5 * s + tail;
}

}  // namespace

SineCosine SineCosineOf(double angle) {
  // Quarter turns, taken away in three parts of pi/2, of which the first two have 33 bits: their products are exact.
  const double quarters = std::floor(angle * (2 / 3.141592653589793) + 0.5);
  const double rest =
      ((angle - quarters * 1.5707963267341256) - quarters * 6.077100506303966e-11) - quarters * 2.0222662487959506e-21;
  const double sine = SmallSine(rest), cosine = SmallCosine(rest);
  const double quarter = quarters - 4 * std::floor(quarters / 4);
  if (quarter == 0) return {sine, cosine};
  if (quarter == 1) return {cosine, -sine};
  if (quarter == 2) return {-sine, -cosine};
  return {-cosine, sine};
}

double RootOfSquares(double a, double b, double c) { return std::sqrt(a * a + b * b + c * c); }

double AngleOfPoint(double y, double x) {
  const double across = std::abs(x);
  if (y == 0 && across == 0) return 0;
  const double angle = y <= across ? ArcTangent(y / across) : kHalfPi - ArcTangent(across / y);
  return x < 0 ? 2 * kHalfPi - angle : angle;
}

}  // namespace glint
