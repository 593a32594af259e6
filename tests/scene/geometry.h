// Pinhole geometry with results that do not depend on the machine: IEEE additions, multiplications, divisions and
// square roots only (correctly rounded everywhere; the build forbids contraction), sine and cosine included.
//
// Axes, of world and camera alike: x to the right, y down, z forward. Lengths in metres, pixels where said so; the
// centre of the top-left pixel is (0, 0).
#ifndef GLINT_TESTS_SCENE_GEOMETRY_H_
#define GLINT_TESTS_SCENE_GEOMETRY_H_

#include <array>

namespace glint::scene {

// The sine and cosine of an angle in degrees, |degrees| <= 1e6; within 1e-14 of the truth.
double SinDegrees(double degrees);
double CosDegrees(double degrees);

struct Vec3 {
  double x = 0;
  double y = 0;
  double z = 0;

  friend Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend Vec3 operator*(double s, Vec3 a) { return {s * a.x, s * a.y, s * a.z}; }
};

inline double Dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec3 Cross(Vec3 a, Vec3 b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

// Row-major.
struct Mat3 {
  std::array<double, 9> m = {1, 0, 0, 0, 1, 0, 0, 0, 1};

  Vec3 row(int i) const { return {m[3 * i], m[3 * i + 1], m[3 * i + 2]}; }
  Vec3 column(int i) const { return {m[i], m[3 + i], m[6 + i]}; }
  friend Vec3 operator*(const Mat3& a, Vec3 v) { return {Dot(a.row(0), v), Dot(a.row(1), v), Dot(a.row(2), v)}; }
  friend Mat3 operator*(const Mat3& a, const Mat3& b);
};

Mat3 Transpose(const Mat3& a);

// Turns by `yaw` about y, then by `pitch` about the new x, then by `roll` about the new z; degrees.
Mat3 Rotation(double yaw, double pitch, double roll);

// Where a camera is: a point c of the camera's frame is rotation * c + position in the world.
struct Pose {
  Mat3 rotation;
  Vec3 position;

  Vec3 ToWorld(Vec3 in_camera) const { return rotation * in_camera + position; }
  Vec3 ToCamera(Vec3 in_world) const { return Transpose(rotation) * (in_world - position); }
};

struct Pixel {
  double x = 0;
  double y = 0;
};

// A pinhole camera without distortion and with square pixels.
struct Camera {
  int width = 0;   // pixels
  int height = 0;  // pixels
  double focal = 0;
  double cx = 0;
  double cy = 0;

  // The point of depth 1 that is seen at `p`.
  Vec3 Ray(Pixel p) const { return {(p.x - cx) / focal, (p.y - cy) / focal, 1}; }
  // Where a point with z > 0 is seen.
  Pixel Project(Vec3 in_camera) const {
    return {focal * in_camera.x / in_camera.z + cx, focal * in_camera.y / in_camera.z + cy};
  }
};

// The points X of the world with Dot(normal, X) == offset; |normal| == 1.
struct Plane {
  Vec3 normal;
  double offset = 0;
};

// The homography that takes pixels of `camera` at pose `a` that show `plane` to those at pose `b`; its last element
// is 1. Neither pose may lie on the plane.
Mat3 PlaneHomography(const Camera& camera, const Plane& plane, const Pose& a, const Pose& b);

// The image of `p` under a homography.
Pixel Apply(const Mat3& homography, Pixel p);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_GEOMETRY_H_
