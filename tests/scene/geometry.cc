#include "tests/scene/geometry.h"

namespace glint::scene {
namespace {

constexpr double kRadiansPerDegree = 0.017453292519943295;

// Taylor series about 0, good to the last bits of a double for |degrees| <= 45.
double SmallSin(double degrees) {
  const double x = degrees * kRadiansPerDegree;
  double term = x;
  double sum = x;
  for (int n = 2; n <= 16; n += 2) {
    term *= -x * x / (n * (n + 1));
    sum += term;
  }
  return sum;
}

double SmallCos(double degrees) {
  const double x = degrees * kRadiansPerDegree;
  double term = 1;
  double sum = 1;
  for (int n = 1; n <= 17; n += 2) {
    term *= -x * x / (n * (n + 1));
    sum += term;
  }
  return sum;
}

}  // namespace

double SinDegrees(double degrees) {
  // degrees = 90 * quarters + rest, |rest| <= 45.
  const auto quarters = static_cast<long>(degrees / 90 + (degrees < 0 ? -0.5 : 0.5));
  const double rest = degrees - 90.0 * static_cast<double>(quarters);
  switch (quarters & 3) {
    case 0:
      return SmallSin(rest);
    case 1:
      return SmallCos(rest);
    case 2:
      return -SmallSin(rest);
    default:
      return -SmallCos(rest);
  }
}

double CosDegrees(double degrees) { return SinDegrees(degrees + 90); }

Mat3 operator*(const Mat3& a, const Mat3& b) {
  Mat3 product;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) product.m[3 * i + j] = Dot(a.row(i), b.column(j));
  }
  return product;
}

Mat3 Transpose(const Mat3& a) {
  const auto& m = a.m;
  return {{m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]}};
}

Mat3 Rotation(double yaw, double pitch, double roll) {
  const double sy = SinDegrees(yaw), cy = CosDegrees(yaw);
  const double sp = SinDegrees(pitch), cp = CosDegrees(pitch);
  const double sr = SinDegrees(roll), cr = CosDegrees(roll);
  const Mat3 about_y = {{cy, 0, sy, 0, 1, 0, -sy, 0, cy}};
  const Mat3 about_x = {{1, 0, 0, 0, cp, -sp, 0, sp, cp}};
  const Mat3 about_z = {{cr, -sr, 0, sr, cr, 0, 0, 0, 1}};
  return about_y * about_x * about_z;
}

// A pixel p of `a` lies on the ray position_a + s * r with r = R_a K^-1 p, which meets the plane n.X = d at
// s = (d - n.position_a) / (n.r). Seen from `b`, up to the scale n.r, that is
// K R_b^T ((position_a - position_b) n^T + (d - n.position_a) I) R_a K^-1 p.
Mat3 PlaneHomography(const Camera& camera, const Plane& plane, const Pose& a, const Pose& b) {
  const double f = camera.focal;
  const Mat3 k = {{f, 0, camera.cx, 0, f, camera.cy, 0, 0, 1}};
  const Mat3 k_inverse = {{1 / f, 0, -camera.cx / f, 0, 1 / f, -camera.cy / f, 0, 0, 1}};
  const Vec3 t = a.position - b.position;
  const Vec3 n = plane.normal;
  const double s = plane.offset - Dot(n, a.position);
  const Mat3 middle = {{t.x * n.x + s, t.x * n.y, t.x * n.z,  //
                        t.y * n.x, t.y * n.y + s, t.y * n.z,  //
                        t.z * n.x, t.z * n.y, t.z * n.z + s}};
  Mat3 h = k * Transpose(b.rotation) * middle * a.rotation * k_inverse;
  const double scale = h.m[8];
  for (double& element : h.m) element /= scale;
  return h;
}

Pixel Apply(const Mat3& homography, Pixel p) {
  const Vec3 q = homography * Vec3{p.x, p.y, 1};
  return {q.x / q.z, q.y / q.z};
}

}  // namespace glint::scene
