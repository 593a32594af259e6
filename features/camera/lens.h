// The one place that chooses a lens by its model.
#ifndef GLINT_FEATURES_CAMERA_LENS_H_
#define GLINT_FEATURES_CAMERA_LENS_H_

#include "features/camera/camera.h"
#include "features/camera/double_sphere.h"
#include "features/camera/eucm.h"
#include "features/camera/fov.h"
#include "features/camera/kannala_brandt.h"
#include "features/camera/omni.h"
#include "features/camera/radial_tangential.h"
#include "features/camera/thin_prism.h"

namespace glint {

// What `function` returns for the camera's lens, which takes points in camera coordinates to (a, b) and back:
//   bool Project(const Eigen::Vector3d& point, Eigen::Vector2d* ab, PixelByPoint* ab_by_point or null) const
//   bool Unproject(const Eigen::Vector2d& ab, Eigen::Vector3d* ray of any length) const
// The pixel is (fx a + cx, fy b + cy). Both are false outside the lens's domain; Unproject() may also give a ray there,
// which Project() then refuses. A lens is for one thread.
template <typename Function>
auto WithLens(const Camera& camera, const Function& function) {
  switch (camera.model) {
    case CameraModel::kKannalaBrandt:
      return function(KannalaBrandt(camera.lens));
    case CameraModel::kDoubleSphere:
      return function(DoubleSphere(camera.lens));
    case CameraModel::kEucm:
      return function(Eucm(camera.lens));
    case CameraModel::kFov:
      return function(Fov(camera.lens));
    case CameraModel::kOmni:
      return function(Omni(camera.lens));
    case CameraModel::kThinPrism:
      return function(ThinPrism(camera.lens));
    case CameraModel::kPinhole:
    case CameraModel::kRadialTangential:
    case CameraModel::kRational:
      break;
  }
  return function(RadialTangential(camera.lens));
}

// Unproject() of camera.h by the camera's lens.
template <typename Lens>
bool UnprojectBy(const Lens& lens, const Camera& camera, const Eigen::Vector2d& pixel, Eigen::Vector3d* ray) {
  const Eigen::Vector2d ab((pixel.x() - camera.cx) / camera.fx, (pixel.y() - camera.cy) / camera.fy);
  Eigen::Vector3d found;
  Eigen::Vector2d back;
  if (!lens.Unproject(ab, &found)) return false;
  found.normalize();
  if (!(lens.Project(found, &back, nullptr) && (back - ab).norm() <= 1e-9)) return false;
  *ray = found;
  return true;
}

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_LENS_H_
