// A camera's path made smooth, whose velocities and accelerations are known.
#ifndef GLINT_TESTS_SCENE_SMOOTH_PATH_H_
#define GLINT_TESTS_SCENE_SMOOTH_PATH_H_

#include <array>
#include <vector>

#include "tests/scene/geometry.h"
#include "tests/scene/path.h"

namespace glint::scene {

struct MovingPose {
  Pose pose;                                    // of the camera
  Vec3 velocity, acceleration;                  // of the camera in the world, m/s and m/s^2
  Vec3 angular_velocity, angular_acceleration;  // in the camera's axes, rad/s and rad/s^2
};

// A uniform quintic B-spline (de Boor 1972) of positions and of quaternions, which are normalised after. Its control
// points are poses of the path, a step apart, so it passes beside them by about step^2 / 4 times the acceleration; at
// both ends the velocity is constant. Derivatives are analytic. Thread-safe.
class SmoothPath {
 public:
  // `path` has one pose or more. `step` in seconds; 0: the path's median one, but at least 0.1 s, as the jitter of
  // recorded poses is no acceleration.
  explicit SmoothPath(const Path& path, double step = 0);

  // Times outside of the path are those of its ends.
  MovingPose At(double seconds) const;
  Pose PoseAt(double seconds) const { return At(seconds).pose; }
  double first_seconds() const { return first_; }
  double last_seconds() const { return last_; }

 private:
  static constexpr int kDegree = 5;
  using Control = std::array<double, 7>;  // x, y, z, qx, qy, qz, qw

  double first_, last_, step_;
  std::vector<Control> controls_;
};

// The path with the smooth path's poses at its times.
Path Smoothed(const Path& path, const SmoothPath& smooth);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_SMOOTH_PATH_H_
