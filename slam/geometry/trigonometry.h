// Sine, cosine and arc tangent from additions, multiplications and divisions alone, which IEEE 754 rounds in one way:
// those of C libraries differ in the last bit from processor to processor, and with them the poses. Pure: thread-safe.
#ifndef GLINT_SLAM_GEOMETRY_TRIGONOMETRY_H_
#define GLINT_SLAM_GEOMETRY_TRIGONOMETRY_H_

namespace glint::slam {

struct SineCosine {
  double sine, cosine;
};

// Of an angle of up to 1e5 radians of either sign; beyond, the errors grow with the angle. Off by 2e-16 at most.
SineCosine SineCosineOf(double angle);

// The square root of the sum, of magnitudes that do not overflow when they are squared.
double RootOfSquares(double a, double b, double c = 0);

// The angle, 0..pi radians, of the point (x, y), y >= 0; 0 of (0, 0). Off by 5e-16 at most.
double AngleOfPoint(double y, double x);

}  // namespace glint::slam

#endif  // GLINT_SLAM_GEOMETRY_TRIGONOMETRY_H_
