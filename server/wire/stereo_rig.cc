#include "server/wire/stereo_rig.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/server_error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

constexpr int kRotationValues = 9;
// What the elements of rotation * its transpose may be off by, and what a matrix of doubles is off by.
constexpr double kOrthonormal = 0.01, kExact = 1e-12;
constexpr double kMostMetres = 1000;
constexpr double kLeastBaseline = 0.001, kMostBaseline = 100;  // metres, as of a rectified camera

// Numbers of the wire that no int holds are out of every range.
int SideOf(uint32_t value) { return value > INT32_MAX ? -1 : static_cast<int>(value); }

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
    case v1::Camera::LENS_NOT_SET:
      break;
  }
  return "lens";
}

absl::StatusOr<Camera> CameraFromProto(absl::string_view field, const v1::Camera& proto) {
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

absl::Status SetRotation(const google::protobuf::RepeatedField<double>& proto, Eigen::Matrix3d* rotation) {
  if (proto.empty()) return absl::OkStatus();
  constexpr char kField[] = "right_from_left.rotation";
  if (proto.size() != kRotationValues) {
    return ContradictionError(kField, absl::StrCat(proto.size(), " elements are not the 9 of a 3x3 matrix"));
  }
  const Eigen::Matrix3d given = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(proto.data());
  const double off = (given * given.transpose() - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff();
  if (!given.allFinite() || off > kOrthonormal) {
    return ContradictionError(kField, absl::StrCat("is no rotation: its product with its transpose is off the identity "
                                                   "by ",
                                                   off, ", which is more than ", kOrthonormal));
  }
  if (given.determinant() < 0) return ContradictionError(kField, "is a reflection: its determinant is -1");
  *rotation = off <= kExact ? given : Eigen::Quaterniond(given).normalized().toRotationMatrix();
  return absl::OkStatus();
}

absl::StatusOr<RigidTransform> TransformFromProto(const v1::RigidTransform& proto) {
  RigidTransform transform;
  GLINT_RETURN_IF_ERROR(SetRotation(proto.rotation(), &transform.rotation));
  GLINT_RETURN_IF_ERROR(CheckRange("right_from_left.x", proto.x(), -kMostMetres, kMostMetres));
  GLINT_RETURN_IF_ERROR(CheckRange("right_from_left.y", proto.y(), -kMostMetres, kMostMetres));
  GLINT_RETURN_IF_ERROR(CheckRange("right_from_left.z", proto.z(), -kMostMetres, kMostMetres));
  transform.translation = {proto.x(), proto.y(), proto.z()};
  const double baseline = transform.translation.norm();
  if (baseline >= kLeastBaseline && baseline <= kMostBaseline) return transform;
  return ContradictionError("right_from_left", absl::StrCat("a baseline of ", baseline, " m is not in ", kLeastBaseline,
                                                            "..", kMostBaseline, ": are x, y and z metres?"));
}

absl::StatusOr<RectifyOptions> RectifyFromProto(const v1::RectifyOptions& proto, int camera_width) {
  RectifyOptions rectify;
  rectify.image = {SideOf(proto.width()), SideOf(proto.height())};
  if (proto.width() != 0 || proto.height() != 0) {
    GLINT_RETURN_IF_ERROR(CheckRange("rectify.width", rectify.image.width, 1, kMaxImageSide));
    GLINT_RETURN_IF_ERROR(CheckRange("rectify.height", rectify.image.height, 1, kMaxImageSide));
  }
  rectify.focal_length = proto.focal_length();
  const double width = proto.width() == 0 ? camera_width : rectify.image.width;
  if (rectify.focal_length != 0) {
    GLINT_RETURN_IF_ERROR(CheckRange("rectify.focal_length", rectify.focal_length, 0.1 * width, 10 * width));
  }
  if (proto.has_max_field()) rectify.max_field = proto.max_field();
  GLINT_RETURN_IF_ERROR(CheckRange("rectify.max_field", rectify.max_field, 10.0, 150.0));
  return rectify;
}

absl::StatusOr<StereoRig> RigFromProto(const v1::StereoRig& proto) {
  StereoRig rig;
  GLINT_ASSIGN_OR_RETURN(rig.left, CameraFromProto("left", proto.left()));
  GLINT_ASSIGN_OR_RETURN(rig.right, CameraFromProto("right", proto.right()));
  if (const Shape left = rig.left.image, right = rig.right.image; left != right) {
    return ContradictionError("right", absl::StrCat(right.width, "x", right.height, " pixels, but the left camera has ",
                                                    left.width, "x", left.height));
  }
  GLINT_ASSIGN_OR_RETURN(rig.right_from_left, TransformFromProto(proto.right_from_left()));
  GLINT_ASSIGN_OR_RETURN(rig.rectify, RectifyFromProto(proto.rectify(), rig.left.image.width));
  return rig;
}

// An error of RectifyPair() with the names that its fields have on the wire.
absl::Status OnTheWire(absl::Status status) {
  constexpr std::pair<const char*, const char*> kNames[] = {{"right_from_left.translation", "right_from_left"},
                                                            {"focal_length", "rectify.focal_length"},
                                                            {"rectified", "rectify: rectified"}};
  for (const auto& [from, to] : kNames) status = WithFieldRenamed(from, to, status);
  return status;
}

void AddMatrix(const Eigen::Matrix3d& matrix, google::protobuf::RepeatedField<double>* values) {
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) values->Add(matrix(row, column));
  }
}

}  // namespace

void ToProto(const RectifiedPair& rectified, v1::RectifiedCamera* proto) {
  const Camera& camera = rectified.camera;
  proto->set_width(static_cast<uint32_t>(camera.image.width));
  proto->set_height(static_cast<uint32_t>(camera.image.height));
  proto->set_focal_length(camera.fx);
  proto->set_centre_x(camera.cx);
  proto->set_centre_y(camera.cy);
  proto->set_baseline(rectified.baseline);
  AddMatrix(rectified.rectified_from_left, proto->mutable_rectified_from_left());
  AddMatrix(rectified.rectified_from_right, proto->mutable_rectified_from_right());
  proto->set_uncovered(rectified.uncovered);
}

absl::StatusOr<std::shared_ptr<const Rectification>> Rectifications::Get(const v1::StereoRig& proto,
                                                                         int64_t max_pixels) {
  const std::string key = proto.SerializeAsString();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (Shared found = Find(key); found != nullptr) return found;
  }
  auto valid = RigFromProto(proto);
  if (!valid.ok()) return WithField("rig", valid.status());
  const StereoRig& rig = *valid;
  const auto check = [max_pixels](absl::string_view field, Shape image) {
    const int64_t pixels = 2 * image.pixels();
    if (pixels <= max_pixels) return absl::OkStatus();
    return LimitError(field, pixels, "pixels of both images", max_pixels, "--max-image-pixels");
  };
  GLINT_RETURN_IF_ERROR(check("rig.left", rig.left.image));
  GLINT_RETURN_IF_ERROR(check("rig.rectify", rig.rectify.image));
  auto rectified = RectifyPair(rig.left, rig.right, rig.right_from_left, rig.rectify);
  if (!rectified.ok()) return WithField("rig", OnTheWire(rectified.status()));
  return Add(key, std::make_shared<const Rectification>(rig, *rectified));
}

Rectifications::Shared Rectifications::Find(const std::string& key) const {
  const auto at = of_rig_.find(key);
  return at == of_rig_.end() ? nullptr : at->second.lock();
}

absl::StatusOr<Rectifications::Shared> Rectifications::Add(const std::string& key, Shared made) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (Shared found = Find(key); found != nullptr) return found;  // another stream's, meanwhile
  int64_t bytes = RectificationBytes(made->rectified().camera.image);
  for (auto at = of_rig_.begin(); at != of_rig_.end();) {
    const Shared other = at->second.lock();
    if (other == nullptr) {
      at = of_rig_.erase(at);
      continue;
    }
    bytes += RectificationBytes(other->rectified().camera.image);
    ++at;
  }
  if (bytes > max_bytes_) {
    return LimitError("rig", bytes, "bytes of tables of all streams", max_bytes_, "--max-rectification-bytes");
  }
  of_rig_[key] = made;
  return made;
}

}  // namespace glint
