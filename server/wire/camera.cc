#include "server/wire/camera.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "server/wire/convert.h"

namespace glint {
namespace {

constexpr int kRotationValues = 9;
constexpr double kMostMetres = 1000;

std::string Subfield(absl::string_view field, absl::string_view part) { return absl::StrCat(field, ".", part); }

// Sets model and coefficients; returns the name of the lens's field.
const char* SetLens(const v1::Camera& proto, Camera* camera) {
  const auto set = [camera](CameraModel model, std::initializer_list<double> coefficients) {
    camera->model = model;
    std::copy(coefficients.begin(), coefficients.end(), camera->lens.begin());
  };
  switch (proto.lens_case()) {
    case v1::Camera::kRadialTangential: {
      const auto& l = proto.radial_tangential();
      set(CameraModel::kRadialTangential, {l.k1(), l.k2(), l.p1(), l.p2(), l.k3()});
      return "radial_tangential";
    }
    case v1::Camera::kRational: {
      const auto& l = proto.rational();
      set(CameraModel::kRational, {l.k1(), l.k2(), l.p1(), l.p2(), l.k3(), l.k4(), l.k5(), l.k6()});
      return "rational";
    }
    case v1::Camera::kKannalaBrandt: {
      const auto& l = proto.kannala_brandt();
      set(CameraModel::kKannalaBrandt, {l.k1(), l.k2(), l.k3(), l.k4()});
      return "kannala_brandt";
    }
    case v1::Camera::kDoubleSphere:
      set(CameraModel::kDoubleSphere, {proto.double_sphere().xi(), proto.double_sphere().alpha()});
      return "double_sphere";
    case v1::Camera::kEucm:
      set(CameraModel::kEucm, {proto.eucm().alpha(), proto.eucm().beta()});
      return "eucm";
    case v1::Camera::kFov:
      set(CameraModel::kFov, {proto.fov().w()});
      return "fov";
    case v1::Camera::kOmni: {
      const auto& l = proto.omni();
      set(CameraModel::kOmni, {l.xi(), l.k1(), l.k2(), l.p1(), l.p2()});
      return "omni";
    }
    case v1::Camera::kThinPrism: {
      const auto& l = proto.thin_prism();
      set(CameraModel::kThinPrism, {l.k1(), l.k2(), l.p1(), l.p2(), l.k3(), l.k4(), l.k5(), l.k6(), l.s1(), l.s2(),
                                    l.s3(), l.s4(), l.tau_x(), l.tau_y()});
      return "thin_prism";
    }
    case v1::Camera::LENS_NOT_SET:
      break;
  }
  return "lens";
}

}  // namespace

absl::StatusOr<Camera> FromProto(absl::string_view field, const v1::Camera& proto) {
  Camera camera;
  camera.image = {SideOf(proto.width()), SideOf(proto.height())};
  camera.fx = proto.fx();
  camera.fy = proto.fy();
  camera.cx = proto.cx();
  camera.cy = proto.cy();
  const char* const lens = SetLens(proto, &camera);
  absl::Status status = ValidateCamera(camera);
  if (!status.ok()) return WithField(field, WithFieldRenamed("lens", lens, status));
  return camera;
}

absl::StatusOr<RigidTransform> FromProto(absl::string_view field, const v1::RigidTransform& proto) {
  RigidTransform transform;
  if (const auto& values = proto.rotation(); !values.empty()) {
    const std::string rotation = Subfield(field, "rotation");
    if (values.size() != kRotationValues) {
      return ContradictionError(rotation, absl::StrCat(values.size(), " elements are not the 9 of a 3x3 matrix"));
    }
    const auto nearest = NearestRotation(Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(values.data()));
    if (!nearest.ok()) return ContradictionError(rotation, absl::StrCat("is ", nearest.status().message()));
    transform.rotation = *nearest;
  }
  GLINT_RETURN_IF_ERROR(CheckRange(Subfield(field, "x"), proto.x(), -kMostMetres, kMostMetres));
  GLINT_RETURN_IF_ERROR(CheckRange(Subfield(field, "y"), proto.y(), -kMostMetres, kMostMetres));
  GLINT_RETURN_IF_ERROR(CheckRange(Subfield(field, "z"), proto.z(), -kMostMetres, kMostMetres));
  transform.translation = {proto.x(), proto.y(), proto.z()};
  return transform;
}

absl::StatusOr<RectifyOptions> FromProto(absl::string_view field, const v1::RectifyOptions& proto, int camera_width) {
  RectifyOptions rectify;
  rectify.image = {SideOf(proto.width()), SideOf(proto.height())};
  if (proto.width() != 0 || proto.height() != 0) {
    GLINT_RETURN_IF_ERROR(CheckRange(Subfield(field, "width"), rectify.image.width, 1, kMaxImageSide));
    GLINT_RETURN_IF_ERROR(CheckRange(Subfield(field, "height"), rectify.image.height, 1, kMaxImageSide));
  }
  rectify.focal_length = proto.focal_length();
  const double width = proto.width() == 0 ? camera_width : rectify.image.width;
  if (rectify.focal_length != 0) {
    GLINT_RETURN_IF_ERROR(CheckRange(Subfield(field, "focal_length"), rectify.focal_length, 0.1 * width, 10 * width));
  }
  if (proto.has_max_field()) rectify.max_field = proto.max_field();
  GLINT_RETURN_IF_ERROR(CheckRange(Subfield(field, "max_field"), rectify.max_field, 10.0, 150.0));
  return rectify;
}

}  // namespace glint
