// A wall as cameras with lenses see it.
#ifndef GLINT_TESTS_SERVER_RAW_WALL_H_
#define GLINT_TESTS_SERVER_RAW_WALL_H_

#include <cstdint>

#include "features/camera/camera.h"
#include "features/camera/rig.h"
#include "features/types.h"
#include "tests/support/images.h"

namespace glint::testing {

// It stands at z = 4 m of the world.
inline constexpr double kWallMetres = 4, kTexelsPerMetre = 50;

// How far the wall is along `ray`, in its lengths; `ray` becomes the world's.
inline double ToWall(const RigidTransform& world_from_camera, Eigen::Vector3d* ray) {
  *ray = world_from_camera.rotation * *ray;
  return (kWallMetres - world_from_camera.translation.z()) / ray->z();
}

inline Image Seen(const Camera& camera, const RigidTransform& world_from_camera) {
  static const Image wall = Texture({1200, 800}, 5);
  Image image(camera.image.width, camera.image.height);
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      Eigen::Vector3d ray;
      image.row(y)[x] = 0;
      if (!Unproject(camera, Eigen::Vector2d(x, y), &ray)) continue;
      const double distance = ToWall(world_from_camera, &ray);
      const Eigen::Vector3d at = world_from_camera.translation + ray * distance;
      const double u = at.x() * kTexelsPerMetre + wall.width() / 2.0,
                   v = at.y() * kTexelsPerMetre + wall.height() / 2.0;
      const int left = static_cast<int>(u), top = static_cast<int>(v);
      if (!(left >= 0 && top >= 0 && left + 1 < wall.width() && top + 1 < wall.height())) continue;
      const double a = u - left, b = v - top;
      const uint8_t *const above = wall.row(top) + left, *const below = wall.row(top + 1) + left;
      image.row(y)[x] = static_cast<uint8_t>((1 - b) * ((1 - a) * above[0] + a * above[1]) +
                                             b * ((1 - a) * below[0] + a * below[1]) + 0.5);
    }
  }
  return image;
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_RAW_WALL_H_
