// A wall as cameras with lenses see it.
#ifndef GLINT_TESTS_SERVER_RAW_WALL_H_
#define GLINT_TESTS_SERVER_RAW_WALL_H_

#include <cstdint>

#include "features/camera/camera.h"
#include "features/camera/rig.h"
#include "features/types.h"
#include "glint/v1/calibration.pb.h"
#include "tests/support/images.h"

namespace glint::testing {

// A pinhole or a radial-tangential camera without k3.
inline void SetCamera(const Camera& camera, v1::Camera* proto) {
  proto->set_width(static_cast<uint32_t>(camera.image.width));
  proto->set_height(static_cast<uint32_t>(camera.image.height));
  proto->set_fx(camera.fx);
  proto->set_fy(camera.fy);
  proto->set_cx(camera.cx);
  proto->set_cy(camera.cy);
  if (camera.model == CameraModel::kPinhole) return;
  v1::RadialTangentialLens* const lens = proto->mutable_radial_tangential();
  lens->set_k1(camera.lens[0]);
  lens->set_k2(camera.lens[1]);
  lens->set_p1(camera.lens[2]);
  lens->set_p2(camera.lens[3]);
}

inline void SetTransform(const RigidTransform& transform, v1::RigidTransform* proto) {
  for (int i = 0; i < 9; ++i) proto->add_rotation(transform.rotation(i / 3, i % 3));
  proto->set_x(transform.translation.x());
  proto->set_y(transform.translation.y());
  proto->set_z(transform.translation.z());
}

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
