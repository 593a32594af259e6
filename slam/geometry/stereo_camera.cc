#include "slam/geometry/stereo_camera.h"

#include <cstdint>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint::slam {
namespace {

// RotationOf(camera.rig_rotation). Points come many of one camera in a row, so a thread keeps the last one.
const Eigen::Quaterniond& RigOf(const StereoCamera& camera) {
  struct Rig {
    Eigen::Vector3d vector = Eigen::Vector3d::Zero();
    Eigen::Quaterniond rotation = RotationOf(vector);
  };
  thread_local Rig last;
  for (int i = 0; i < 3; ++i) {  // bit by bit: 0 is not -0
    if (absl::bit_cast<uint64_t>(last.vector[i]) == absl::bit_cast<uint64_t>(camera.rig_rotation[i])) continue;
    last = {camera.rig_rotation, RotationOf(camera.rig_rotation)};
    break;
  }
  return last.rotation;
}

}  // namespace

absl::Status ValidateStereoCamera(const StereoCamera& c) {
  // Written so that NaN fails, too.
  const auto check = [](const char* field, double value, double low, double high) {
    return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(field, value, low, high);
  };
  const double width = c.image.width;
  const double height = c.image.height;
  GLINT_RETURN_IF_ERROR(check("camera.width", width, 1, kMaxImageSide));
  GLINT_RETURN_IF_ERROR(check("camera.height", height, 1, kMaxImageSide));
  GLINT_RETURN_IF_ERROR(check("camera.focal_length", c.focal_length, 0.1 * width, 10 * width));
  GLINT_RETURN_IF_ERROR(check("camera.centre_x", c.centre_x, 0, width));
  GLINT_RETURN_IF_ERROR(check("camera.centre_y", c.centre_y, 0, height));
  GLINT_RETURN_IF_ERROR(check("camera.baseline", c.baseline, 0.001, 100));
  for (int axis = 0; axis < 3; ++axis) {
    GLINT_RETURN_IF_ERROR(check("camera.rig_rotation", c.rig_rotation[axis], -0.02, 0.02));
  }
  return absl::OkStatus();
}

absl::Status ValidatePair(const StereoCamera& camera, Shape left, Shape right) {
  for (const auto& [name, shape] : {std::pair("left", left), std::pair("right", right)}) {
    if (shape == camera.image) continue;
    return ContradictionError(name, absl::StrCat(shape.width, "x", shape.height, " is not the camera's ",
                                                 camera.image.width, "x", camera.image.height));
  }
  return absl::OkStatus();
}

Pose RightFromLeft(const StereoCamera& camera) {
  const Eigen::Quaterniond& rotation = RigOf(camera);
  return {rotation, rotation * Eigen::Vector3d(-camera.baseline, 0, 0)};
}

StereoPixel Project(const StereoCamera& c, const Eigen::Vector3d& p) {
  const Eigen::Vector3d q = RigOf(c) * (p - Eigen::Vector3d(c.baseline, 0, 0));
  const double x = p.x() / p.z();
  const double y = p.y() / p.z();
  return {{c.focal_length * x + c.centre_x, c.focal_length * y + c.centre_y},
          c.focal_length * (x - q.x() / q.z()),
          c.focal_length * (y - q.y() / q.z())};
}

bool Triangulate(const StereoCamera& c, double x, double y, double disparity, Eigen::Vector3d* point) {
  const Eigen::Vector3d right((x - disparity - c.centre_x) / c.focal_length, (y - c.centre_y) / c.focal_length, 1);
  const Eigen::Vector3d rotated = RigOf(c).conjugate() * right;
  const double left_x = (x - c.centre_x) / c.focal_length;
  const double parallax = left_x - rotated.x() / rotated.z();
  if (!(parallax > 0)) return false;
  const double depth = c.baseline / parallax;
  *point = {left_x * depth, (y - c.centre_y) / c.focal_length * depth, depth};
  return true;
}

}  // namespace glint::slam
