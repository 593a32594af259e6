#include "features/camera/rig.h"

#include <Eigen/Geometry>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"

namespace glint {
namespace {

constexpr double kOrthonormal = 0.01, kExact = 1e-12;

}  // namespace

absl::StatusOr<Eigen::Matrix3d> NearestRotation(const Eigen::Matrix3d& matrix) {
  const double off = (matrix * matrix.transpose() - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff();
  if (!matrix.allFinite() || off > kOrthonormal) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "no rotation: its product with its transpose is off the identity by %.2g, which is more than %g", off,
        kOrthonormal));
  }
  if (matrix.determinant() < 0) return absl::InvalidArgumentError("a mirror, not a rotation: its determinant is -1");
  if (off <= kExact) return matrix;
  return Eigen::Quaterniond(matrix).normalized().toRotationMatrix();
}

}  // namespace glint
