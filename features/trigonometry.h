// Sine, cosine and arc tangent from operations that IEEE 754 defines to the last bit: the same on every machine. Those
// of C libraries differ in the last bit from processor to processor, and with them poses and lenses. Pure: thread-safe.
#ifndef GLINT_FEATURES_TRIGONOMETRY_H_
#define GLINT_FEATURES_TRIGONOMETRY_H_

#include <initializer_list>

namespace glint {

struct SineCosine {
  double sine, cosine;
  double tangent() const { return sine / cosine; }
};

// Of an angle of up to 1e5 radians of either sign; beyond, the errors grow with the angle. Off by 2e-16 at most.
SineCosine SineCosineOf(double angle);

// atan(t), t >= 0 or NaN, to 4e-16 of its value: atan(t) = atan(c) + atan((t - c) / (1 + t c)) for the nearest c of 0,
// 1/8, ... 1, the rest by its series.
inline double ArcTangent(double t) {
  constexpr double kEighths[] = {0,
                                 0.12435499454676144,
                                 0.24497866312686414,
                                 0.35877067027057225,
                                 0.4636476090008061,
                                 0.5585993153435624,
                                 0.6435011087932844,
                                 0.7188299996216245,
                                 0.7853981633974483};
  if (t > 1) return 1.5707963267948966 - ArcTangent(1 / t);
  if (!(t >= 0)) return t;                            // NaN
  const int nearest = static_cast<int>(t * 8 + 0.5);  // NOLINT(bugprone-incorrect-roundings): of a tie either serves
  const double c = nearest / 8.0;
  const double z = (t - c) / (1 + t * c);
  const double s = z * z;
  double series = 0;
  for (const double n : {13.0, 11.0, 9.0, 7.0, 5.0, 3.0}) series = (1 / n - series) * s;
  return kEighths[nearest] + z * (1 - series);
}

// The angle, 0..pi radians, of the point (x, y), y >= 0; 0 of (0, 0). Off by 5e-16 at most.
double AngleOfPoint(double y, double x);

// The square root of the sum, of magnitudes that do not overflow when they are squared.
double RootOfSquares(double a, double b, double c = 0);

}  // namespace glint

#endif  // GLINT_FEATURES_TRIGONOMETRY_H_
